"""What a case is, and the groups that cases come in."""

import fnmatch

from targets import TARGETS

# In the order of the report. Title, what is measured, the column beside the figure.
GROUPS = {
    "calls": ("Single calls", "A loop of one call on a file in the page cache, in one "
              "process; the time of one call in nanoseconds (processor time). No program "
              "that reads files can gain more than this.", "over memcpy"),
    "sizes": ("Each call by size", "The same for every call that is served, from 1 byte "
              "to 1 MiB, in several patterns: seq (one after the other), hot (at random in "
              "1 MiB, which fits the processor's cache), rand (at random in 64 MiB), chain "
              "(the same, each place from the bytes read before, as who follows pointers), skip (a "
              "seek and a read, both counted together), zeros (records that end in zero "
              "bytes, which the library must look at twice). The floor is a plain memcpy of "
              "the same bytes from a mapping: nothing that copies can be faster.",
              "over memcpy"),
    "workers": ("Several at once", "1 to 8 threads and processes doing the same calls on "
                "one file; the time for a call of all together (time on the wall by the "
                "calls of all).", "over memcpy"),
    "seeks": ("Seeks by many processes", "1 to 64 processes that do nothing but lseek, on "
              "one file (shared by all) or on many (one each): the time for a seek of all "
              "together.", ""),
    "start": ("Start-up", "Starting /bin/true and waiting for it, many times. An empty "
              "library in the same place shows the loader's own share.", ""),
    "parallel": ("Many readers of one file", "n dd processes read the same file at once, "
                 "start-up included. Hot: the file is in the page cache; cold: it was dropped "
                 "from it just before.", "by cpu"),
    "ddwrite": ("Writing", "dd from /dev/zero into a file on tmpfs: a new one, or over one "
                "that is there (conv=notrunc). Nothing is to be gained here.", "by cpu"),
    "stores": ("Overwrites by consent", "The same with PAGEWELL_WRITE=map on the library's side: "
               "an overwrite of what is in a file already may be a store into a mapping. Where "
               "it isn't, it must cost what it did.", "by cpu"),
    "mail": ("Servers' mixes", "Benchmarks of file servers and mail servers as Debian ships "
             "them: reads, writes, creations and removals of many files.", "by cpu"),
    "programs": ("Whole programs", "The elapsed time of unmodified programs from start to "
                 "end, on files in the page cache. What they print is compared.", "by cpu"),
    "harm": ("Harm: where there is nothing to gain", "Programs that the library cannot help. "
             "None may take more than 3 % longer.", "by cpu"),
    "small": ("Small files", "A thousand files of one size, each opened, read to its end in "
              "blocks, once or ten times, and closed; by one process, or by a thousand that "
              "read one file each. Mapping a file that is hardly read would be dear: the "
              "library has to tell.", "by cpu"),
    "large": ("Large files and little memory", "Reads of a file far larger than what the "
              "library may map (PAGEWELL_SIZE), and what that does to others.", "by cpu"),
    "limits": ("Many of everything", "Here both sides have the library, and what is compared "
               "is a little of something with a lot of it: processes, open files, windows, "
               "length.", ""),
    "words": ("Page words", "n dd processes read one cold file with the library, without and "
              "with its shared segment: what the page words cost or save, and how often a "
              "page was filled.", "by cpu"),
}


class Case:
    """`run(side)` gives one Took. Any attribute can be given to the constructor."""

    floor = over = pairs_itself = plot = None
    warm = same_output = True
    few = 5             # pairs it gets even if they take longer than its time
    weight = 2          # its share of the time, beside the others
    full_only = needs_library = False
    unit = "ms"
    names = ("without", "with")

    def __init__(self, name, group, what, run=None, **more):
        self.name, self.group, self.what = name, group, what
        if run:
            self.run = run
        self.kind, self.target = target_of(name)
        self.__dict__.update(more)

    def sides(self, plain, loaded):
        return plain, loaded


def target_of(name):
    for pattern, target in TARGETS.items():
        if fnmatch.fnmatchcase(name, pattern):
            return target
    return "speed", None
