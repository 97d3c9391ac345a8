"""records.py FILE TIMES buffered|raw|pread: 32-byte records at random."""
import os
import random
import sys

path, times, how = sys.argv[1:]
rng, total = random.Random(7), 0
with open(path, "rb", buffering=-1 if how == "buffered" else 0) as f:
    records = os.path.getsize(path) // 32
    for _ in range(int(times)):
        at = 32 * int(rng.random() * records)
        if how == "pread":
            record = os.pread(f.fileno(), 32, at)
        else:
            f.seek(at)
            record = f.read(32)
        total = (total * 31 + int.from_bytes(record[6:10], "big")) & 0xffffffff
print(total)
