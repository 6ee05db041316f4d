"""A program's own SIGTRAP, blocked, ignored or handled, over an attach and behind it: as if nobody had been there."""
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from attach_test import Attached
from heaptap_test import built, summary

MODES = {
    "blocked": (3, 3),
    "ignored": (3, 0),
    "handled": (3, 6),
    "thread": (3, 0),
    "waiting": (2, 20),
    "asking-ignored": (3, 0),
    "asking-handled": (3, 0),
    "forks": (3, 0),
}


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Traps(heaptap_test.TestCase):
    def start(self, mode):
        program = subprocess.Popen([built("kept_traps"), mode, "asked"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(heaptap_test.end, program)
        self.assertEqual(program.stdout.readline(), "ready\n")
        return program

    def step(self, program):
        program.stdin.write("go\n")
        program.stdin.flush()
        return program.stdout.readline()

    def check(self, mode, traced_steps):
        steps, handled = MODES[mode]
        program = self.start(mode)
        trace = self.directory / f"{mode}{traced_steps}.htap"
        attached = Attached(self, "--force", "--no-leak-scan", "-o", trace, program.pid)
        for left in range(steps, 0, -1):
            if steps - left == traced_steps:
                outcome = attached.stop()
                self.assertEqual(outcome.status, 0, str(outcome))
            self.assertEqual(self.step(program), "ready\n" if left > 1 else f"handled {handled}\n")
        self.assertEqual(program.wait(timeout=heaptap_test.TIMEOUT_S), 0)
        if traced_steps == steps:
            attached.wait()
        report = summary(trace)
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assertGreaterEqual(report["totals"]["allocations"], 100 * traced_steps)

    def test_attached_to(self):
        for mode, (steps, _) in MODES.items():
            for traced_steps in range(1, steps + 1):
                with self.subTest(mode=mode, traced_steps=traced_steps):
                    self.check(mode, traced_steps)

    # At whatever place a signal is when it is left.
    def test_values_come_over_every_attach(self):
        program = self.start("values")
        for left in range(20, 0, -1):
            attached = Attached(self, "--force", "--no-leak-scan", "-o", self.directory / f"values{left}.htap", program.pid)
            self.assertEqual(self.step(program), "ready\n" if left > 1 else "handled 0\n")
            if left > 1:
                outcome = attached.stop()
                self.assertEqual(outcome.status, 0, str(outcome))
        attached.wait()
        self.assertEqual(program.wait(timeout=heaptap_test.TIMEOUT_S), 0)

    # Its first thread gets such signals; the kernel reports that one's exit after all others.
    def test_killed_while_it_gets_one(self):
        for delay in range(0, 40, 2):
            trace = self.directory / f"killed{delay}.htap"
            outcome = heaptap_test.heaptap("run", "--via", "ptrace", "-o", trace, "--", built("kept_traps"), f"asking-killed{delay}",
                                           timeout_s=60)
            self.assertEqual(outcome.status, 128 + signal.SIGKILL, str(outcome))


if __name__ == "__main__":
    unittest.main()
