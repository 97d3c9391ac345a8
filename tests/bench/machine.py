"""The head of a report: which machine, which library, which file system."""

import os
import platform
import subprocess
import time

# What DESIGN.md §3 says is served without being asked for.
SERVED = {"ext2", "ext3", "ext4", "btrfs", "squashfs", "erofs", "tmpfs"}


def _first(path, key):
    try:
        with open(path) as f:
            for line in f:
                if line.startswith(key):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def _said(*argv, **more):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True,
                              **more).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def load():
    return " ".join(f"{x:.2f}" for x in os.getloadavg())


def _commit(top):
    commit = _said("git", "-C", top, "rev-parse", "--short=12", "HEAD")
    changed = _said("git", "-C", top, "status", "--porcelain", "-uno")
    return f"{commit}{', changed since' if changed else ''}" if commit else "unknown"


def _built(lib):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(os.path.getmtime(lib)))


def describe(costs, data, work, lib, top):
    fs = _said("findmnt", "-no", "FSTYPE", "-T", work) or "unknown"
    about = {
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "library": f"{lib}, built {_built(lib)}" if lib else "none: plain against plain",
        "commit": _commit(top),
        "processor": _first("/proc/cpuinfo", "model name"),
        "processors": os.cpu_count(),
        "memory": _first("/proc/meminfo", "MemTotal"),
        "kernel": platform.release(),
        "file system": fs + ("" if fs in SERVED else " (not served unless asked for)"),
        "load before": load(),
    }
    for line in (_said(costs, data) or "").splitlines():
        name, value, unit = line.split()
        about[name] = f"{value} {unit}"
    return about
