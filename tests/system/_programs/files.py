# files.py IN: the ways in which Python reads and writes files.
import array
import hashlib
import mmap
import os
import socket
import subprocess
import sys
import tempfile
import threading

IN = sys.argv[1]


def md5(data):
    return hashlib.md5(data).hexdigest()


def say(*what):
    print(*what, flush=True)


def records():
    fd = os.open(IN + "/records", os.O_RDONLY)
    at, seen = 1, hashlib.md5()
    for i in range(20000):
        at = (at * 75 + 74) % 65537
        spot = at % 4096 * 17
        if i % 2:
            os.lseek(fd, spot, os.SEEK_SET)
            got = os.read(fd, 17)
        else:
            got = os.pread(fd, 17, spot)
        seen.update(got)
    say("records", seen.hexdigest(), os.lseek(fd, 0, os.SEEK_CUR))
    say(os.lseek(fd, -7, os.SEEK_END), os.read(fd, 100), os.read(fd, 1), os.pread(fd, 9, 1 << 40))
    for bad in ((-1, os.SEEK_SET), (-1 << 40, os.SEEK_CUR), (0, 99)):
        try:
            say(os.lseek(fd, *bad))
        except OSError as e:
            say(e)
    os.close(fd)


def vectors():
    fd = os.open(IN + "/text", os.O_RDONLY)
    for _ in range(200):
        os.read(fd, 13)
    parts = [bytearray(5), bytearray(7)]
    say(os.readv(fd, parts), parts, os.preadv(fd, parts, 26), parts, os.lseek(fd, 0, 1))
    with open("sent", "wb") as out:
        say(os.sendfile(out.fileno(), fd, None, 100), os.lseek(fd, 0, 1))
        say(os.sendfile(out.fileno(), fd, 0, 100), os.lseek(fd, 0, 1))
        say(os.copy_file_range(fd, out.fileno(), 50), os.read(fd, 9), os.lseek(fd, 0, 1))
    r, w = os.pipe()
    say(os.splice(fd, w, 60), os.read(r, 60), os.read(fd, 9))
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    holes = os.open(IN + "/holes", os.O_RDONLY)
    os.read(holes, 10)
    say(os.lseek(holes, 0, os.SEEK_END), md5(os.pread(holes, 300000, 0)), os.lseek(holes, 9, 0))


def sharing():
    f = os.open(IN + "/text", os.O_RDONLY)
    for _ in range(200):
        os.read(f, 13)
    two = os.dup(f)
    say(os.read(two, 13), os.read(f, 13), os.lseek(two, 0, 1))
    say(subprocess.run(["head", "-c", "40"], stdin=f, stdout=-1).stdout, os.read(f, 13))
    say(subprocess.check_output(["sh", "-c", f"head -n 1 <&{two}"], pass_fds=[two]))
    say(os.lseek(f, 0, 1), os.read(two, 13))
    pid = os.fork()
    if pid == 0:
        os.read(f, 1000)
        os._exit(0)
    os.waitpid(pid, 0)
    say(os.lseek(f, 0, 1), os.read(f, 13))
    action = [(os.POSIX_SPAWN_DUP2, two, 0)]
    pid = os.posix_spawn("/usr/bin/head", ["head", "-n", "2"], os.environ, file_actions=action)
    os.waitpid(pid, 0)
    say(os.lseek(f, 0, 1))
    os.system(f"head -c 20 <&0 >from_system; dd bs=13 count=2 status=none <{IN}/odd")
    a, b = socket.socketpair()
    socket.send_fds(a, [b"x"], [f])
    three = socket.recv_fds(b, 1, 1)[1][0]
    say(os.read(three, 13), os.read(f, 13), os.lseek(two, 0, 1))
    with os.fdopen(three, "rb") as stream:
        say(stream.readline(), stream.tell(), os.lseek(f, 0, 1))
    os.dup2(os.open(IN + "/odd", os.O_RDONLY), f)
    say(os.read(f, 13), os.read(two, 13))


def threads():
    fd = os.open(IN + "/records", os.O_RDONLY)
    got = [[] for _ in range(4)]

    def take(mine):
        while piece := os.read(fd, 17):
            mine.append(piece)

    def look(mine):
        for i in range(2000):
            mine.append(os.pread(fd, 17, i * 17))

    for job in (take, look):
        workers = [threading.Thread(target=job, args=(mine,)) for mine in got]
        for t in workers:
            t.start()
        for t in workers:
            t.join()
        pieces = sorted(p for mine in got for p in mine)
        say(job.__name__, len(pieces), md5(b"".join(pieces)), os.lseek(fd, 0, 1))
        got = [[] for _ in range(4)]


def changing():
    fd = os.open("changing", os.O_RDWR | os.O_CREAT)
    os.write(fd, bytes(range(1, 256)) * 300)
    reader = os.open("changing", os.O_RDONLY)
    seen = hashlib.md5()
    with mmap.mmap(fd, 70000) as m:
        for i in range(3000):
            m[i * 7 % 70000] = i % 255 + 1
            seen.update(os.pread(reader, 20, i * 7 % 70000))
            if i % 10 == 0:
                os.pwrite(fd, b"written %d" % i, i * 11 % 60000)
                seen.update(os.pread(fd, 20, i * 11 % 60000))
                os.lseek(reader, i * 11 % 60000, 0)
                seen.update(os.read(reader, 5))
        m.flush()
    say(seen.hexdigest())
    for size in (50000, 8192, 5000, 4097, 4096, 1, 0, 9000):
        os.ftruncate(fd, size)
        os.lseek(reader, max(size - 10, 0), 0)
        say(size, os.read(reader, 20), os.pread(reader, 30, 4090), os.lseek(reader, 0, os.SEEK_END))
    say(os.read(fd, 5), os.write(fd, b"hello"), os.lseek(fd, 0, 1))
    os.rename("changing", "renamed")
    os.symlink("renamed", "changing")
    say(os.pread(reader, 5, 0))


def streams():
    with open(IN + "/text") as f:
        lines = f.readlines()
        f.seek(26)
        say(len(lines), f.readline(), f.tell(), f.read(5), f.seek(0, 2))
    with open("both", "w+b", buffering=64) as f:
        f.writelines(b"%d\n" % (i * i) for i in range(2000))
        for i in range(400):
            f.seek(i * 29 % 9000)
            piece = f.read(6)
            f.seek(i * 53 % 9000)
            f.write(piece[::-1])
        f.seek(0)
        say(md5(f.read()), f.truncate(7000), f.tell())
        f.write(b"behind the end")
    with open("raw", "w+b", buffering=0) as f:
        say(f.write(b"x" * 100), f.seek(50), f.write(b"y"), f.seek(49), f.read(3), f.tell())
    with tempfile.TemporaryFile(dir=".") as f:
        f.write(b"z" * 5000)
        f.seek(4990)
        say(f.read())
    a = array.array("I")
    with open(IN + "/nonzero", "rb") as f:
        a.fromfile(f, 10000)
        say(sum(a), f.tell())
    say(open(IN + "/bytes", "rb").read() == b"".join(iter(open(IN + "/bytes", "rb", 0).readline, b"")))


for case in (records, vectors, sharing, threads, changing, streams):
    say("--", case.__name__)
    case()
