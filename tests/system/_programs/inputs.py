# inputs.py - the input files that programs.sh's cases read, the same ones each time:
# `inputs.py DIR` makes them in DIR, an empty folder.
import os
import random
import sys

rng = random.Random(20)
os.chdir(sys.argv[1])


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


WORDS = "apple bell cedar dune ember fern grove heath iris juniper kelp lark".split()
text = "".join(
    f"{i:05d} {rng.choice(WORDS)} {rng.choice(WORDS)} {rng.randrange(10**6)}\n"
    for i in range(3000)
)
write("text", text.encode())
write("csv", text.replace(" ", ",").encode())
write("mixed", "".join(sorted(text.splitlines(True), key=lambda x: x[::-1])).encode())
write("unended", text[:20000].rstrip("\n").encode())
write("odd", "".join(x + "\n" for x in text.splitlines()[::2]).encode())
write("third", "".join(x + " more\n" for x in text.splitlines()[::3]).encode())
# every byte value, and none but zero
write("bytes", rng.randbytes(300000))
write("nonzero", rng.randbytes(300000).replace(b"\0", b"\1"))
write("records", b"".join(b"%09d %06d\n" % (i, rng.randrange(10**6)) for i in range(4096)))
write("empty", b"")
with open("holes", "wb") as f:
    f.write(b"start")
    f.seek(100000)
    f.write(b"middle")
    f.seek(200000)
    f.write(bytes(5000) + b"end")
    f.truncate(250000)
