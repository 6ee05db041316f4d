"""The end of a run, and the command that it names, answer first what the program is about."""
import pathlib
import shlex
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import TARGETS, heaptap


class FirstAnswers(heaptap_test.TestCase):
    def end_of(self, *command, options=()):
        """The lines at the end of a run, without those about heaptap and the title."""
        return self.lines_of(heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / command[0], *command[1:]))

    def lines_of(self, outcome):
        self.assertEqual(outcome.status, 0, outcome)
        lines = [line.removeprefix("heaptap: ") for line in outcome.stderr.decode().splitlines() if line.startswith("heaptap: ")]
        return lines[next(number for number, line in enumerate(lines) if " exited with 0 after " in line) + 1:]

    def shown(self, *words):
        outcome = heaptap(*words)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def next_of(self, lines):
        """What the command of the last line prints."""
        self.assertTrue(lines[-1].startswith("next:  heaptap "), lines)
        return self.shown(*shlex.split(lines[-1].removeprefix("next:  heaptap ")))

    def test_a_freed_peak_is_told_by_who_made_it(self):
        lines = self.end_of("answers_peak")
        self.assertEqual(lines[0], "no leaks")
        self.assertRegex(lines[1], r"^  8\.0 MiB of the peak: #\d+  load_image answers_peak\.c:\d+ < load_all answers_peak\.c:\d+")
        top = self.next_of(lines)
        self.assertRegex(top, r"\nStacks by bytes at the peak\n\n.*\n.*\n +0 B +0 +8\.0 MiB .*\n +#\d+  load_image ")
        self.assertIn("\nStacks by bytes at the peak\n", self.shown("show", "summary", self.trace))
        self.assertIn("\nCall tree by bytes at the peak, ", self.shown("show", "tree", self.trace))
        self.assertIn("\nStacks by bytes not freed\n", self.shown("show", "top", "--sort", "usage", self.trace))

    def test_temporary_allocations_are_told_by_who_made_them(self):
        lines = self.end_of("answers_temporary")
        self.assertEqual(lines[0], "no leaks")
        self.assertRegex(lines[1], r"^  10,000 temporary allocations: #\d+  format answers_temporary\.c:\d+ < main ")
        self.assertIn("\nStacks by temporary allocations\n", self.next_of(lines))
        self.assertRegex(self.shown("show", "tree", self.trace), r"\nCall tree by temporary allocations, .*\n\n +100\.0% +10,000  ")

    def test_a_leak_comes_before_the_peak(self):
        lines = self.end_of("answers_peak", "leak")
        self.assertRegex(lines[0], r"^LEAKED 100,000 bytes in 100 blocks")
        self.assertRegex(lines[1], r"^  100,000 bytes in 100 blocks  #\d+  lose answers_peak\.c:\d+")
        self.assertRegex(lines[2], r"^  8\.0 MiB of the peak: #\d+  load_image ")
        self.assertIn("lose", self.next_of(lines))
        self.assertIn("show leaks", lines[-1])

    def check_trifle(self, options=()):
        lines = self.end_of("answers_trifle", options=options)
        self.assertRegex(lines[0], r"^no definite leaks; 1\.0 MiB still reachable, 1\.0 MiB of them by global table "
                                   r"\(answers_trifle\.c:\d+\); possibly leaked 400 bytes in 4 blocks")
        self.assertRegex(lines[1], r"^  1\.0 MiB in 256 blocks  #\d+  fill_table answers_trifle\.c:\d+")
        self.assertIn("show leaks --globals", lines[-1])
        self.assertRegex(self.next_of(lines), r"\n +1\.0 MiB +256 ")

    def test_a_possible_leak_that_is_small_comes_behind_what_is_reachable(self):
        self.check_trifle()
        report = self.directory / "report.html"
        self.shown("report", "-o", report, self.trace)
        verdict = heaptap_test.document_of(report.read_text())["verdict"]
        leaks = [finding for finding in verdict if finding["kind"] == "leaks"]
        self.assertEqual([finding["severity"] for finding in leaks], ["info"], verdict)
        self.assertEqual([finding["severity"] for finding in verdict if finding["kind"] == "leak"], ["info"], verdict)

    def test_the_same_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.check_trifle(("--via", "ptrace"))

    def test_the_same_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            self.check_trifle(("-H", self.directory / "far.sock"))

    def test_a_leak_for_certain_comes_first_however_small(self):
        lines = self.end_of("answers_trifle", "lost")
        self.assertRegex(lines[0], r"^LEAKED 7 bytes in 1 block; possibly 400 bytes in 4 blocks")
        self.assertRegex(lines[1], r"^  7 bytes in 1 block  #\d+  lose answers_trifle\.c:\d+")
        self.assertRegex(lines[2], r"^  400 bytes in 4 blocks \(possibly\)  #\d+  make_words ")
        self.assertIn("show leaks ", lines[-1])

    def test_a_small_possible_leak_passes_the_same_gates_as_before(self):
        for options, status in (((), 0), (("--possible",), 1)):
            self.end_of("answers_trifle")
            outcome = heaptap("check", "--max-leaked", "0", *options, self.trace)
            self.assertEqual(outcome.status, status, outcome)

    def test_of_several_processes_the_largest_is_told(self):
        lines = self.end_of("answers_child", options=("-f",))
        self.assertRegex(lines[0], r"^largest: answers_child \(pid \d+\), peak 8\.0 MiB .*; no leaks")
        self.assertRegex(lines[1], r"^  8\.0 MiB of the peak: #\d+  load_image answers_child\.c:\d+")
        self.assertRegex(lines[2], r"^all 2 processes: ")
        self.assertIn("  load_image ", self.next_of(lines))


if __name__ == "__main__":
    unittest.main()
