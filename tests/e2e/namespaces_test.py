"""Processes in other namespaces are recorded, or the trace says that they aren't."""
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import built, heaptap, summary

IN_CHILD = "stack function=malloc caller=in_child allocations=1000 frees=1000"


class Namespaces(heaptap_test.TestCase):
    def need(self, *command):
        if shutil.which(command[0]) is None or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
            heaptap_test.skip_what_is_missing(f"`{' '.join(command)}` doesn't work on this machine")

    def record(self, *words):
        """Runs the words of `heaptap run`. The reports of all processes, by their program's file name."""
        outcome = heaptap("run", "-o", self.directory / "%p.htap", *words, cwd=self.directory)
        reports = [summary(trace) for trace in sorted(self.directory.glob("[0-9]*.htap"))]
        return outcome, reports

    def of_child(self, reports):
        return [report for report in reports if expectations.check(IN_CHILD, report) == []]

    def notes(self, report):
        return " ".join(heaptap_test.notes_of(report))

    def test_children_in_another_network(self):
        self.need("unshare", "-n")
        for way in ("by-function", "by-number", "and-executes"):
            for trace in self.directory.glob("*.htap"):
                trace.unlink()
            with self.subTest(way=way):
                outcome, reports = self.record("-f", "--", built("network_namespace"), way)
                self.assertEqual((outcome.status, outcome.stdout), (6, b""), str(outcome))
                self.assertEqual(len(self.of_child(reports)), 1, f"{len(reports)} traces")
                self.assertEqual(self.notes(reports[0]) + self.notes(reports[1]), "")

    def test_children_that_cannot_be_reached_are_told_of(self):
        self.need("unshare", "-n")
        for way in ("closes", "replaces"):
            for trace in self.directory.glob("*.htap"):
                trace.unlink()
            with self.subTest(way=way):
                outcome, reports = self.record("-f", "--", built("network_namespace"), way)
                self.assertEqual((outcome.status, outcome.stdout), (6, b""), str(outcome))
                self.assertEqual(len(reports), 1)
                self.assertIn("1 forked child was not recorded", self.notes(reports[0]))

    def test_programs_that_cannot_be_reached_are_told_of(self):
        self.need("unshare", "-n")
        for way in ("closes-executes", "replaces-executes"):
            for trace in self.directory.glob("*.htap"):
                trace.unlink()
            with self.subTest(way=way):
                outcome, reports = self.record("-f", "--", built("network_namespace"), way)
                self.assertEqual((outcome.status, outcome.stdout), (6, b""), str(outcome))
                self.assertIn("a child executed a program from where the agent's library or heaptap can't be reached", self.notes(reports[0]))
                self.assertEqual(len(reports), 1)

    def test_a_wrapper_that_closes_the_line_is_the_last_that_is_recorded(self):
        self.need("unshare", "-n")
        close = "import os, sys; os.closerange(3, 256); os.execv(sys.argv[1], sys.argv[1:])"
        outcome, reports = self.record("--", "unshare", "-n", "/usr/bin/python3", "-c", close, built("sleeper"))
        self.assertEqual(outcome.status, 9, str(outcome))
        self.assertEqual(len(reports), 2, str(outcome))
        self.assertIn("heaptap can't be reached", self.notes(reports[-1]))

    def test_no_line_is_left_where_it_is_not_needed(self):
        """Of a namespace that couldn't be left, or that another process went to."""
        listing = "import os; print([name for name in sorted(os.listdir('/proc/self/fd')) if int(name) > 2])"
        tries = "import ctypes, os, sys; ctypes.CDLL(None).unshare(0x40000000 | 1); os.execv(sys.argv[1], sys.argv[1:])"
        command = ["/usr/bin/python3", "-c", tries, "/usr/bin/python3", "-c", listing]
        bare = heaptap_test.run(command)
        outcome, reports = self.record("-f", "--", *command)
        self.assertEqual((outcome.status, outcome.stdout), (bare.status, bare.stdout), str(outcome))
        self.assertEqual(len(reports), 2)

    def test_programs_in_another_network(self):
        self.need("unshare", "-n")
        outcome, reports = self.record("-f", "-e", "--", "unshare", "-n", built("sleeper"))
        self.assertEqual(outcome.status, 9, str(outcome))
        first = "stack function=malloc caller=first allocations=1000 frees=500"
        self.assertEqual(len([report for report in reports if expectations.check(first, report) == []]), 1, f"{len(reports)} traces")

    def test_programs_in_a_sandbox(self):
        sandbox = ("bwrap", "--dev-bind", "/", "/", "--unshare-net", "--unshare-pid")
        self.need(*sandbox)
        outcome, reports = self.record("-f", "-e", "--", *sandbox, built("sleeper"))
        self.assertEqual(outcome.status, 9, str(outcome))
        first = "stack function=malloc caller=first allocations=1000 frees=500"
        self.assertEqual(len([report for report in reports if expectations.check(first, report) == []]), 1, f"{len(reports)} traces")

    def test_threads_of_another_pid_namespace(self):
        """The thread that ends the process has another number there: what its dead frames held is lost all the same."""
        self.need("unshare", "-p", "-f")
        bare, direct = self.record("--", built("leak_dead_stack"))
        expected = direct[0]["leaks"]["definite"]
        self.assertGreater(expected["blocks"], 0)
        for trace in self.directory.glob("*.htap"):
            trace.unlink()
        outcome, reports = self.record("-f", "-e", "--", "unshare", "-p", "-f", built("leak_dead_stack"))
        self.assertEqual(outcome.status, bare.status, str(outcome))
        own = [report for report in reports if "leak_dead_stack" in report["target"]["command"][0]]
        self.assertEqual([report["leaks"]["definite"] for report in own], [expected], str(outcome))


if __name__ == "__main__":
    unittest.main()
