"""The input files, and dropping one from the page cache."""

import ctypes
import glob
import os
import random
import time

from pairs import Missing

MIB = 1 << 20


def make_data(path, mib, written_back=True):
    """Pseudo-random bytes, none of them zero, and written back: so that neither witness
    nor writeback has a part in the figures. Each MiB is the same bytes, turned by some."""
    no_zero = bytes([90]) + bytes(range(1, 256))
    some = random.Random(mib).randbytes(MIB).translate(no_zero)
    with open(path, "wb") as f:
        for i in range(mib):
            at = i * 4099 % MIB
            f.write(some[at:] + some[:at])
        if written_back:
            os.fsync(f.fileno())


def make_lines(path, n):
    rng = random.Random(n)
    with open(path, "w") as f:
        for i in range(n):
            f.write(f"{i} {rng.choice(('ash', 'oak', 'elm', 'yew'))} {rng.random():.9f}\n")
        os.fsync(f.fileno())


def resident(path):
    """The part of the file's pages that is in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        pages = (size + 4095) // 4096
        at = libc.mmap(None, size, 1, 1, fd, 0)
        vec = ctypes.create_string_buffer(pages)
        bad = libc.mincore(at, size, vec)
        libc.munmap(at, size)
    finally:
        os.close(fd)
    if bad:
        raise Missing("mincore does not say what is in the page cache")
    return sum(b & 1 for b in vec.raw[:pages]) / pages


def evict(path, drop_caches):
    """Drop one file from the page cache and see that it is gone. Dropping everything
    instead (--drop-caches) also makes the programs themselves cold, and everybody else's
    on the machine."""
    for attempt in range(20):
        if drop_caches:
            os.sync()
            with open("/proc/sys/vm/drop_caches", "w") as f:
                f.write("1\n")
        else:
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
        if resident(path) < 0.01:
            return
        time.sleep(0.05)
    raise Missing("the file can't be dropped from the page cache")


def make_tree(path, count, size):
    """Files of one size, a hundred in a folder."""
    content = b"".join(b"%07d ash oak elm yew\n" % i for i in range(size // 24 + 1))[:size]
    for i in range(count):
        folder = os.path.join(path, f"{i // 100:04d}")
        if i % 100 == 0:
            os.makedirs(folder)
        with open(os.path.join(folder, f"{i:06d}"), "wb") as f:
            f.write(content)


def make_records(path, n):
    """Lines of 32 bytes in the order of their keys, of which every third exists."""
    with open(path, "w") as f:
        for i in range(n):
            f.write(f"{3 * i:010d} {i * 7919 % 1000003:020d}\n")


def make_binary_tree(path, depth):
    """As in an address database: nodes of two 3-byte numbers, each the number of another
    node, or from 2^depth on that of a record. The shape is a full tree whose nodes are
    shuffled, so that each step is somewhere else in the file."""
    nodes = (1 << depth) - 1
    place = list(range(1, nodes))
    random.Random(depth).shuffle(place)
    place = [0, *place]
    out = bytearray(nodes * 6)
    for i in range(nodes):
        for side in (0, 1):
            child = 2 * i + 1 + side
            value = place[child] if child < nodes else nodes + child - nodes
            at = place[i] * 6 + side * 3
            out[at:at + 3] = value.to_bytes(3, "big")
    with open(path, "wb") as f:
        f.write(out)


def remove_like(prefix):
    """Files whose names begin like this: a segment, and those that programs renamed."""
    for path in glob.glob(glob.escape(prefix) + "*"):
        if not os.path.isdir(path):
            os.unlink(path)
