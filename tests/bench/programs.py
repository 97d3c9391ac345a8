"""Unmodified programs from start to end."""

import os
import random
import shutil
import subprocess
import zipfile

import files
import servers
from cases import Case
from pairs import Missing, program


class Programs:
    def __init__(self, bench):
        self.bench = bench
        self.n = lambda full: bench.by_mode(full // 20, full, full)

    def case(self, name, what, *argv, **more):
        how = {k: more.pop(k) for k in ("stdin", "quiet", "ok") if k in more}
        return Case(name, "programs", what, self.bench.command(*argv, **how), **more)

    # ---- inputs ----

    def records(self):
        return self.bench.made("records", lambda p: files.make_records(p, 1000000), 33)

    def includes(self):
        def make(path):
            os.mkdir(path)
            for i in range(200):
                with open(os.path.join(path, f"{i}.php"), "w") as f:
                    f.write("<?php\nreturn ["
                            + ",\n".join(f"'key{k}' => {k * i}" for k in range(40)) + "];\n")
        return self.bench.made("includes", make)

    def archive(self):
        def make(path):
            with zipfile.ZipFile(path, "w") as z:
                for i in range(self.n(20000)):
                    z.writestr(f"folder{i % 100}/member{i:05d}.txt", f"{i} ash oak elm\n" * 20)
        return self.bench.made("archive.zip", make, 16)

    def tarball(self):
        def make(path):
            tree = self.tree()
            subprocess.run(["tar", "cf", path, "-C", tree, "."], check=True)
        return self.bench.made("tree.tar", make, 80)

    def tree(self):
        return self.bench.tree(self.bench.by_mode(500, 5000, 5000), 6000)

    def repository(self):
        """A copy of this project's, so that nothing else changes it meanwhile."""
        def make(path):
            done = subprocess.run(["git", "clone", "-q", "--bare", self.bench.top, path],
                                  capture_output=True)
            if done.returncode:
                raise Missing("the project is not in a git repository")
        program("git")
        return self.bench.made("repository", make, 50)

    def sources(self):
        def make(path):
            shutil.copytree(os.path.join(self.bench.top, "cache"),
                            os.path.join(path, "cache"))
        return self.bench.made("sources", make)

    def database(self):
        def make(path):
            rows = "with recursive n(i) as (select 1 union all select i + 1 from n " \
                   f"where i < {self.n(400000)}) insert into t select i, " \
                   "printf('%064d', i * 7919), i % 1000 from n;"
            subprocess.run([program("sqlite3"), path, "create table t(id integer primary "
                            "key, text, n integer); " + rows], check=True)
        return self.bench.made("database.sqlite", make, 60)

    def script(self, one):
        """Selects by key at random, with a page cache of 1 MB; in one transaction or each
        in its own."""
        def make(path):
            rng, n = random.Random(7), self.n(400000)
            with open(path, "w") as f:
                f.write("pragma cache_size=-1000;\n" + "begin;\n" * one)
                for _ in range(self.n(30000)):
                    f.write(f"select n from t where id={rng.randint(1, n)};\n")
                f.write("commit;\n" * one)
        return self.bench.made(f"selects-{'one' if one else 'each'}", make)

    # ---- cases ----

    def dd(self):
        mib = self.bench.by_mode(16, 256, 256)
        for name, bs in (("512", "512"), ("4096", "4096"), ("64k", "64K"), ("1m", "1M")):
            yield self.case(f"dd-{name}", f"dd bs={bs} over {mib} MiB", "dd",
                            lambda: f"if={self.bench.data(mib)}", "of=/dev/null", f"bs={bs}",
                            "status=none")
        blocks = self.n(2000000)
        yield self.case("dd-1", f"dd bs=1, {blocks:,} blocks", "dd",
                        lambda: f"if={self.bench.data(64)}", "of=/dev/null", "bs=1",
                        f"count={blocks}", "status=none", few=3, warm=False)

    def shells(self):
        loop = ('n=0; while read -r line; do n=$((n+${#line})); last=$line; done <"$1"; '
                'echo "$n $last"')
        for shell in ("dash", "bash"):
            yield self.case(f"{shell}-loop", f"{shell}: while read over 100,000 lines",
                            shell, "-c", loop, shell, self.bench.lines)

    def php(self):
        seek, n = self.bench.script("seek.php"), self.n(200000)
        examples = os.path.join(self.bench.top, "examples/php")
        data = lambda: self.bench.data(64)                          # noqa: E731
        yield self.case("php-seek", f"php: {n:,} times fseek, fread(8) in 64 MiB", "php",
                        seek, data, n, "buffered")
        yield self.case("php-unbuffered", "the same with a read buffer of 0", "php", seek,
                        data, n, "unbuffered")
        yield self.case("php-search", f"php: {n // 20:,} binary searches in a million "
                        "records", "php", f"{examples}/search.php", self.records, n // 20)
        yield self.case("php-country", f"php: {n // 50:,} walks down a binary tree of 20 "
                        "levels, as in an address database", "php",
                        self.bench.script("country.php"), self.address_tree, 20, n // 50)
        yield self.case("php-includes", "php: 200 small files included 50 times", "php",
                        f"{examples}/includes.php", self.includes, 200, self.n(50))
        yield Case("php-fpm", "programs", "a page of php-fpm with 50 look-ups, behind nginx, "
                   "asked for by wrk: time for a page",
                   servers.pages(self.bench, self.bench.by_mode(1, 1, 4)), weight=4)

    def address_tree(self):
        return self.bench.made("addresses", lambda p: files.make_binary_tree(p, 20), 6)

    def sqlite(self):
        for how, one, words in (("one", True, "all in one transaction"),
                                ("each", False, "each on its own")):
            for handle, option in (("ro", ["-readonly"]), ("rw", [])):
                yield self.case(f"sqlite-{how}-{handle}", f"sqlite3: {self.n(30000):,} "
                                f"random selects, {words}, "
                                f"{'read-only' if option else 'read-write'} handle",
                                "sqlite3", *option, self.database,
                                stdin=lambda one=one: self.script(one))
        yield Case("pgbench", "programs", "pgbench -S at shared_buffers=1MB: time for a "
                   "select", servers.selects(self.bench, self.bench.by_mode(1, 5, 10),
                                             self.bench.by_mode(1, 2, 5)),
                   warm=False, few=3, weight=5)

    def readers(self):
        n = self.n(200000)
        yield self.case("unzip-list", f"unzip -l of {self.n(20000):,} members", "unzip", "-l",
                        self.archive)
        yield self.case("python-zip", f"python: {n // 20:,} members of a zip archive",
                        "python3", "-I", self.bench.script("members.py"), self.archive,
                        n // 20)
        for how in ("read", "sysread"):
            yield self.case(f"perl-{how}", f"perl: {n:,} records by {how}", "perl",
                            self.bench.script("records.pl"), self.records, n, how)
        for how in ("buffered", "raw", "pread"):
            yield self.case(f"python-{how}", f"python: {n:,} records, {how}", "python3",
                            "-I", self.bench.script("records.py"), self.records, n, how)

    def trees(self):
        yield self.case("tar-list", "tar t of 5,000 members", "tar", "tf", self.tarball)
        yield self.case("tar-create", "tar c of 5,000 files of 6 KB", "tar", "cf", "-", "-C",
                        self.tree, ".", quiet=True)
        yield self.case("grep-r", "grep -r over 5,000 files of 6 KB", "grep", "-rc",
                        "willow\\|0000042", self.tree, ok=len)
        yield self.case("git-log", "git log --stat of this project", "git", "-C",
                        self.repository, "log", "--stat", ok=len, few=3)
        yield self.case("git-grep", "git grep in this project's last commit", "git", "-C",
                        self.repository, "grep", "-c", "pw_", "HEAD")
        yield self.case("gcc", "gcc -c -O2 of five files of this project", "sh", "-c",
                        'cd "$1" && for f in base page window touch hit reclaim; do '
                        '[ ! -e cache/$f.c ] || gcc -std=gnu11 -D_GNU_SOURCE= -I. -fPIC -O2 '
                        '-c cache/$f.c -o /dev/null; done', "sh", self.sources, few=3,
                        weight=3)

    def cases(self):
        return [*self.dd(), *self.shells(), *self.php(), *self.sqlite(), *self.readers(),
                *self.trees()]


def cases(bench):
    return Programs(bench).cases()
