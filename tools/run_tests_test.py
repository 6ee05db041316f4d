#!/usr/bin/env python3
"""What run_tests.py makes of ctest's output, with a script in ctest's place that fails once, always or never."""

import contextlib
import io
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

import run_tests

# Fails the tests named in DIRECTORY/always; those in DIRECTORY/once in the first call alone; with -R, runs those that it matches.
CTEST = r'''#!/usr/bin/env python3
import pathlib, re, sys
directory = pathlib.Path(__file__).parent
words = lambda name: (directory / name).read_text().split() if (directory / name).exists() else []
chosen = re.compile(sys.argv[sys.argv.index("-R") + 1] if "-R" in sys.argv else "")
first = not (directory / "called").exists()
(directory / "called").touch()
with open(directory / "arguments", "a") as file: print(*sys.argv[1:], file=file)
tests = [name.replace("+", " ") for name in words("tests") if chosen.search(name.replace("+", " "))]
bad = 0
for number, name in enumerate(tests, 1):
    fails = name.replace(" ", "+") in words("always") or (first and name.replace(" ", "+") in words("once"))
    bad += fails
    print(f"      Start {number:3}: {name}")
    print(f"{number:3}/{len(tests)} Test {'#' + str(number):>4}: {name} ........{'***Failed' if fails else '   Passed'}    0.12 sec")
    if fails: print(f"TimeoutError: waited for the trace of process {number}00 in /tmp/x{number}/y for 60 s\nmore of it\n")
print("  9/9 Test   #9: off .....***Not Run (Disabled)   0.00 sec")
print(f"{100 - bad}% tests passed, {bad} tests failed out of {len(tests)}")
sys.exit(8 if bad else 0)
'''


class RunTests(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        ctest = self.directory / "ctest"
        ctest.write_text(CTEST)
        ctest.chmod(ctest.stat().st_mode | stat.S_IXUSR)

    def run_with(self, *arguments, flaky="", **lists):
        for name, words in lists.items():
            (self.directory / name).write_text(words)
        (self.directory / "flaky.txt").write_text(flaky)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = run_tests.main([*arguments, f"--flaky={self.directory}/flaky.txt", f"--report={self.directory}/report",
                                     "--", str(self.directory / "ctest"), "-j3"])
        self.report = json.loads((self.directory / "report").read_text())
        return status, printed.getvalue().splitlines()

    def test_all_pass(self):
        status, lines = self.run_with("--retry", tests="a b/0 c.d")
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed"))

    def test_a_failure_is_a_failure_also_at_its_second_run(self):
        status, lines = self.run_with("--retry", tests="a b c", always="b")
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed"))
        self.assertIn("failed: b", lines)
        self.assertEqual(self.report["failed"], ["b"])

    def test_without_retry_nothing_runs_twice(self):
        status, lines = self.run_with(tests="a b", once="b")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))
        self.assertEqual(len((self.directory / "arguments").read_text().splitlines()), 1)

    def test_what_passes_at_its_second_run_is_told_as_flaky_with_its_cause(self):
        status, lines = self.run_with("--retry", tests="a b/1 c", once="b/1")
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed"))
        self.assertIn("flaky: b/1: TimeoutError: waited for the trace of process N in y for N s", lines)

    def test_the_second_run_is_of_what_failed_alone_and_one_by_one(self):
        self.run_with("--retry", tests="a b ab bb.a", once="b")
        self.assertEqual((self.directory / "arguments").read_text().splitlines(), ["-j3", "-j1 -R ^(b)$"])

    def test_names_with_words_behind_them_are_names(self):
        name = 'A/B.c/0 # GetParam() = "x y"'
        status, lines = self.run_with("--retry", tests=f"a {name.replace(' ', '+')} d", once=name.replace(" ", "+"))
        self.assertEqual((status, lines[-1]), (0, "3 passed, 0 failed"))
        self.assertTrue(any(line.startswith(f"flaky: {name}: ") for line in lines))

    def test_what_ctest_counts_and_this_does_not_is_a_failure(self):
        (self.directory / "ctest").write_text("#!/bin/sh\necho '99% tests passed, 1 tests failed out of 1'\n")
        with self.assertRaises(SystemExit):
            self.run_with("--retry", tests="a")

    def test_flaky_again_for_a_known_cause_is_a_failure(self):
        cause = "TimeoutError: waited for the trace of process N in y for N s"
        status, lines = self.run_with("--retry", tests="a b", once="b", flaky=f"b | 2026-11-26 | {cause} | fixed\n")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))

    def test_flaky_for_another_cause_than_the_known_one_is_none(self):
        status, _ = self.run_with("--retry", tests="a b", once="b", flaky="b | 2026-11-26 | it was another | fixed\n")
        self.assertEqual(status, 0)

    def test_three_flaky_ones_pass_and_four_fail(self):
        self.assertEqual(self.run_with("--retry", tests="a b c d", once="a b c")[0], 0)
        (self.directory / "called").unlink()
        self.assertEqual(self.run_with("--retry", tests="a b c d", once="a b c d")[0], 1)

    def test_a_ctest_that_breaks_down_is_no_pass(self):
        (self.directory / "ctest").write_text("#!/bin/sh\necho no such directory >&2\nexit 1\n")
        with self.assertRaises(SystemExit) as broken:
            self.run_with("--retry", tests="a")
        self.assertNotEqual(broken.exception.code, 0)

    def test_cut_off_it_counts_what_has_ended_and_leaves_nothing_behind(self):
        alive = self.directory / "alive"
        os.mkfifo(alive)
        reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        (self.directory / "ctest").write_text(f"#!/bin/sh\nexec 9>{alive}\nsetsid sleep 1000 >&- 2>&- &\n"
                                           "echo '1/3 Test #1: a ....   Passed  0.1 sec'\n"
                                           "echo '2/3 Test #2: b ....***Failed  0.1 sec'\n"
                                           "sleep 1000\n")
        command = [sys.executable, run_tests.__file__, "--retry", "--report", self.directory / "report", "--", self.directory / "ctest"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            lines = [process.stdout.readline(), process.stdout.readline()]
            process.terminate()
            lines += process.stdout.read().splitlines()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(lines[2:], ["failed: b", "1 passed, 1 failed"])
        self.assertEqual(os.read(reader, 1), b"")  # nobody writes there any more


if __name__ == "__main__":
    unittest.main()
