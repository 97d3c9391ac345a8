"""Servers that a case starts, one set for each side; they end with the benchmark."""

import contextlib
import glob
import os
import pwd
import re
import signal
import socket
import subprocess
import time

from pairs import PATH, Failed, Missing, Took, program

START_S = 20


def free_ports(n):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [s.getsockname()[1] for s in taken]
    for s in taken:
        s.close()
    return ports


class Server:
    """A command in a group of its own, up when its port answers."""

    def __init__(self, argv, env, port, log):
        with open(log, "ab") as out:
            self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=out, start_new_session=True)
        until = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                ended = self.process.poll() is not None
                if ended or time.monotonic() > until:
                    self.end()
                    with open(log, errors="replace") as f:
                        said = f.read()[-300:].strip()
                    raise Failed(f"{argv[0]} does not start: {said}") from None
                time.sleep(0.02)

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


# ---- php-fpm behind nginx ----

NGINX = """\
daemon off;
pid {dir}/nginx.pid;
error_log {dir}/nginx.log warn;
{user}
master_process off;
events {{ worker_connections 256; }}
http {{
	access_log off;
	client_body_temp_path {dir}/body;
	proxy_temp_path {dir}/proxy;
	fastcgi_temp_path {dir}/fastcgi;
	uwsgi_temp_path {dir}/uwsgi;
	scgi_temp_path {dir}/scgi;
	server {{
		listen 127.0.0.1:{port};
		location / {{
			fastcgi_pass 127.0.0.1:{fpm_port};
			fastcgi_param SCRIPT_FILENAME {page};
			fastcgi_param REQUEST_METHOD GET;
			fastcgi_param FILE {file};
			fastcgi_param SIZE {size};
		}}
	}}
}}
"""
FPM = """\
[global]
error_log = {dir}/fpm.log
daemonize = no
[www]
listen = 127.0.0.1:{fpm_port}
pm = static
pm.max_children = 2
{user}
"""


def fpm_program():
    where = "/usr/sbin/php-fpm"
    found = sorted(p for p in glob.glob(where + "*") if re.fullmatch(r"[\d.]*", p[len(where):]))
    if not found:
        raise Missing("php-fpm is not installed")
    return found[-1]


class Site:
    """nginx and php-fpm, with the side's environment."""

    def __init__(self, bench, side, name):
        where = os.path.join(bench.work, name)
        os.mkdir(where)
        port, fpm_port = free_ports(2)
        root = os.getuid() == 0
        file = bench.data(64)
        with open(os.path.join(where, "nginx.conf"), "w") as f:
            f.write(NGINX.format(dir=where, port=port, fpm_port=fpm_port, file=file,
                                 size=os.path.getsize(file), page=bench.script("page.php"),
                                 user="user root;" if root else ""))
        with open(os.path.join(where, "fpm.conf"), "w") as f:
            f.write(FPM.format(dir=where, fpm_port=fpm_port,
                               user="user = root\ngroup = root" if root else ""))
        log = os.path.join(where, "log")
        fpm = [fpm_program(), "-n", *["-R"] * root, "-F", "-y", f"{where}/fpm.conf"]
        nginx = [program("nginx"), "-c", f"{where}/nginx.conf", "-e", f"{where}/nginx.log"]
        for argv, at in ((fpm, fpm_port), (nginx, port)):
            bench.at_end.append(Server(argv, side.env, at, log).end)
        self.url = f"http://127.0.0.1:{port}/"


def pages(bench, seconds):
    """wrk asks for as many pages as it can; the figure is the time for one."""
    sites = {}

    def run(side):
        wrk = [program("wrk"), "-t1", "-c4", f"-d{seconds}s"]
        if side.lib not in sites:
            sites[side.lib] = Site(bench, side, f"site-{'with' if side.lib else 'without'}")
        _, _, out = bench.spawn([[*wrk, sites[side.lib].url]], side.without())
        said = re.search(rb"Requests/sec: *([\d.]+)", out)
        if not said or not float(said[1]) or b"Non-2xx" in out or b"Socket errors" in out:
            raise Failed(f"wrk: {out.decode(errors='replace')[-200:]}")
        return Took(1000 / float(said[1]))
    return run


# ---- PostgreSQL ----

class Database:
    """A cluster with pgbench's tables, owned by a user who is not root."""

    def __init__(self, bench, scale):
        homes = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        if not homes:
            raise Missing("postgresql is not installed")
        program("pgbench")
        self.bin, self.bench = os.path.dirname(homes[-1]), bench
        self.dir = os.path.join(bench.work, "postgres")
        self.port, = free_ports(1)
        self.user, self.prefix = pwd.getpwuid(os.getuid()).pw_name, []
        os.mkdir(self.dir)
        if os.getuid() == 0:
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                raise Missing("there is no user postgres") from None
            self.user = "postgres"
            self.prefix = [program("setpriv"), "--reuid=postgres", "--regid=postgres",
                           "--clear-groups"]
            os.chmod(bench.work, 0o755)
            os.chown(self.dir, user.pw_uid, user.pw_gid)
        self.env = {"PATH": PATH, "LC_ALL": "C", "HOME": self.dir}
        self.log = os.path.join(self.dir, "log")
        self.quiet(os.path.join(self.bin, "initdb"), "-D", f"{self.dir}/data", "-A", "trust",
                   "--no-sync", "-U", self.user)
        server = self.start({})
        try:
            self.quiet(program("pgbench"), *self.where(), "-i", "-q", "-s", str(scale))
        finally:
            server.end(signal.SIGINT)

    def quiet(self, *argv):
        done = subprocess.run([*self.prefix, *argv], env=self.env, capture_output=True,
                              cwd=self.dir, timeout=120)
        if done.returncode:
            raise Failed(f"{argv[0]}: {done.stderr.decode(errors='replace')[-300:]}")
        return done.stdout

    def where(self):
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", self.user, "postgres"]

    def start(self, more):
        # The preload comes after the change of user, to the server alone.
        argv = [*self.prefix, program("env"), *(f"{k}={v}" for k, v in more.items()),
                os.path.join(self.bin, "postgres"), "-D", f"{self.dir}/data", "-p",
                str(self.port), "-k", "", "-c", "shared_buffers=1MB", "-c", "fsync=off",
                "-c", "autovacuum=off", "-c", "listen_addresses=127.0.0.1"]
        log = os.path.join(self.bench.work, "postgres.log")
        return Server(argv, self.env, self.port, log)

    def selects(self, side, seconds):
        more = {k: v for k, v in side.env.items() if k.startswith("PAGEWELL_")}
        if side.lib:
            more["LD_PRELOAD"] = side.lib
            more["PAGEWELL_SEGMENT"] = f"{self.bench.segment}-postgres"
        server = self.start(more)
        try:
            out = self.quiet(program("pgbench"), *self.where()[:-1], "-n", "-S", "-c", "2",
                             "-T", str(seconds), "postgres")
        finally:
            server.end(signal.SIGINT)
        said = re.search(rb"tps = ([\d.]+)", out)
        if not said:
            raise Failed("pgbench gave no rate")
        return Took(1000 / float(said[1]))


def selects(bench, scale, seconds):
    made = []

    def run(side):
        if not made:
            made.append(Database(bench, scale))
        return made[0].selects(side, seconds)
    return run
