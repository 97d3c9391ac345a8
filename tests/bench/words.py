"""What the page words cost or save."""

from cases import Case
from files import remove_like
from memory import Reports
from reference import readers

CACHE_PAGE = 64 << 10


class WordsCase(Case):
    """Both sides have the library. The first can't have a segment; the second gets a new
    one for each run, for in an old one the words still say that pages are there which
    have been dropped since, and nothing would be filled."""

    needs_library = True
    few = 3
    names = ("no words", "words")

    def __init__(self, bench, n, bs, mib):
        super().__init__(f"words-{bs.lower()}-{n}", "words",
                         f"{n} × dd bs={bs} over {mib} MiB, cold", full_only=n in (4, 64))
        self.segment, self.reports = bench.segment + "-words", Reports(bench)
        self.pages, self.read = (mib << 20) // CACHE_PAGE, readers(bench, n, bs, mib, True)

    def sides(self, plain, loaded):
        return (loaded.but(PAGEWELL_SEGMENT="/proc/no/such/place"),
                loaded.but(PAGEWELL_SEGMENT=self.segment, **self.reports.knobs()))

    def run(self, side):
        try:
            took = self.read(side)
            counts = self.reports.take()
            took.counts = {**counts, "pages": self.pages} if counts else None
        finally:
            remove_like(self.segment)
        return took


def cases(bench):
    for bs, mib, many in (("512", bench.by_mode(4, 16, 16), (1, 4, 16)),
                          ("64K", bench.by_mode(16, 64, 64), (1, 4, 16, 64))):
        for n in many:
            yield WordsCase(bench, n, bs, mib)
