"""pyrun.py MODULE: runs a module of CPython's tests; a line `MODULE:METHOD VERDICT` for each."""
import os
import shutil
import sys
import tempfile
import traceback
import unittest

from test import support

# Tests do what they like with number 1.
out = os.fdopen(os.dup(1), "w", buffering=1)
support.use_resources = ["largefile"]
support.verbose = 0


def say(test, verdict):
    name = test.id().removeprefix("test.").replace(" ", "_").replace(".", ":", 1)
    print(name, verdict, file=out)


class Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.subtest_failed = False

    def addSuccess(self, test):
        super().addSuccess(test)
        if not self.subtest_failed:
            say(test, "PASS")

    def failed(self, test, error):
        say(test, "FAIL")
        print(test.id(), file=sys.stderr)
        traceback.print_exception(*error, file=sys.stderr)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.failed(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        say(test, "SKIP")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        say(test, "PASS")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        say(test, "FAIL")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.subtest_failed = True
            self.failed(test, err)


module = sys.argv[1]
folder = tempfile.mkdtemp(prefix="pyrun")
os.chdir(folder)
try:
    tests = unittest.defaultTestLoader.loadTestsFromName("test." + module)
    tests.run(Result())
except unittest.SkipTest:
    print(module, "SKIP", file=out)
os.chdir("/")
shutil.rmtree(folder, ignore_errors=True)
