"""A program that fills its memory itself (userfaultfd) and allocates to do so: whatever heaptap does with it, it goes on, and each page is
asked for once."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from attach_test import Attached
from heaptap_test import HEAPTAP, built, heaptap, summary
from waiting import ended


class Userfaults(heaptap_test.SteppedTestCase):
    rounds = 4

    def serve(self, *before):
        return self.start("ready", *before, built("userfault_server"), "asked", self.rounds)

    def run_to_end(self, program, rounds):
        self.step(program, *["ready"] * (rounds - 1), f"sum {self.rounds}")
        self.assertEqual(ended(program), 0)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_attached_to_it_goes_on_before_and_after(self):
        program = self.serve()
        attached = Attached(self, "-o", self.trace, program.pid)
        self.step(program, "ready", "ready")
        outcome = attached.stop()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.run_to_end(program, self.rounds - 2)
        self.assertEqual(summary(self.trace)["totals"]["allocations"], 2)

    def scanned_while_it_runs(self, *options):
        program = self.serve(HEAPTAP, "run", "-q", *options, "-o", self.trace, "--")
        self.step(program, "ready")
        for _ in range(2):
            outcome = heaptap("leaks", program_of(program.pid))
            self.assertEqual(outcome.status, 0, str(outcome))
        self.run_to_end(program, self.rounds - 1)

    def test_looked_at_for_leaks_it_goes_on(self):
        self.scanned_while_it_runs()

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_looked_at_for_leaks_by_ptrace_it_goes_on(self):
        self.scanned_while_it_runs("--via", "ptrace")


def program_of(heaptap_pid):
    """What this heaptap has started."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")[0]
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == heaptap_pid and command.endswith(b"userfault_server"):
            return int(process.name)
    raise AssertionError("it has started nothing")


if __name__ == "__main__":
    unittest.main()
