"""What each case has to reach: the targets of the benchmark issue, and of the first issue
where that one has none. The first pattern that matches a case's name counts.

speed: at least so many times as fast; cost: at most so many times the time; ms: at most
so many milliseconds later; kept: at least this part is kept; within: at most this part is
used. A case that no pattern matches has a speed and no target."""

OVER_FLOOR_NS = 25      # over memcpy no more than this, up to 512 bytes

TARGETS = {
    # single calls
    "lseek-set":            ("speed", 50.0),
    "lseek-end":            ("cost", 1.03),
    "read-1":               ("speed", 12.0),
    "pread-512-hot":        ("speed", 12.0),
    "pread-4096-hot":       ("speed", 4.5),
    "pread-512-rand":       ("speed", 9.0),
    "pread-4096-rand":      ("speed", 3.3),
    "pread-16k-seq":        ("speed", 1.8),
    "pread-64k-seq":        ("speed", 1.4),
    "pread-1m-seq":         ("speed", 1.15),
    "nowitness-64":         ("cost", 1.03),
    "write-512-null":       ("cost", 1.015),
    "write-512-file":       ("cost", 1.015),
    "pwrite-512-file":      ("cost", 1.015),
    "open-read-close":      ("cost", 1.05),
    "open-10reads-close":   ("cost", None),
    # start-up
    "startup-empty*":       ("ms", None),
    "startup*":             ("ms", 0.10),
    # programs
    "dd-1":                 ("speed", 2.0),
    "dd-512":               ("speed", 2.1),
    "dd-4096":              ("speed", 1.25),
    "dd-64k":               ("speed", 1.4),
    "dd-1m":                ("cost", 1.03),
    "dash-loop":            ("speed", 3.0),
    "bash-loop":            ("speed", 1.2),
    "php-seek":             ("speed", 2.5),
    "php-unbuffered":       ("speed", 2.8),
    "sqlite-one-*":         ("speed", 1.3),
    "sqlite-each-*":        ("speed", 1.05),
    # the reference tables
    "par-512-hot-*":        ("speed", 1.0),
    "par-4k-hot-*":         ("speed", 1.0),
    "par-*-cold-*":         ("cost", 1.03),
    "dd-write-*":           ("cost", 1.015),
    "store-pwrite-4k-hot":  ("speed", 5.0),
    "store-*write-*":       ("speed", 15.0),
    "store-dd-512-tmpfs":   ("speed", 1.8),
    "store-dd-512-disk":    ("speed", 1.5),
    "store-dd-*":           ("cost", 1.0),
    "dbench-*":             ("cost", 1.0),
    "postmark":             ("cost", 1.0),
    "mail-mix":             ("cost", 1.0),
    "seeks-*-end-*":        ("cost", 1.03),
    # nothing to gain
    "harm-*":               ("cost", 1.03),
    # what is mapped, when and for how long
    "small-*":              ("cost", 1.03),
    "large-zipf-*":         ("speed", 1.0),
    "large-rand-*":         ("cost", 1.03),
    "large-pass-memory":    ("within", 1.0),
    "large-pass-*":         ("cost", 1.03),
    "large-bounded-pass":   ("cost", 1.05),
    "large-hot-set":        ("kept", 0.95),
    "neighbour":            ("kept", 0.97),
    "deciding":             ("cost", 1.3),
    "flat-*":               ("cost", 1.10),
    "words-*":              ("cost", 1.0),
}
