"""A process that runs on another machine and is attached to: whatever becomes of the host, it is let go of, and is as it was."""
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from attach_test import Attached, Obeying
from heaptap_test import summary
from process_image import tracers
from waiting import wait_for


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class HostsThatGo(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.address = str(self.directory / "far.sock")
        self.target = Obeying(self)

    def attach(self, address):
        attached = Attached(self, "-H", address, "-o", self.trace, self.target.pid)
        self.assertTrue(self.has_breakpoints())
        self.assertTrue(tracers(self.target.pid))
        self.assertEqual(self.target.tell("pairs", 20), "pairs 0")
        return attached

    def has_breakpoints(self):
        return any("code" in difference for difference in self.target.image.differences(patience_s=0))

    def is_as_it_was(self):
        wait_for("it is let go of", lambda: not tracers(self.target.pid), state=self.target.pid)
        self.assertEqual(self.target.image.differences(), [])
        self.assertEqual(self.target.tell("pairs", 7), "pairs 0")
        self.assertEqual(self.target.finish(), 0)

    def test_one_that_is_killed(self):
        with far.serving(self.address, "-q", "--orphan-timeout", "1s"):
            attached = self.attach(self.address)
            attached.process.kill()
            self.is_as_it_was()

    def test_one_that_lets_go(self):
        with far.serving(self.address, "-q"):
            outcome = self.attach(self.address).stop(signal.SIGINT)
            self.assertEqual(outcome.status, 0, str(outcome))
            self.is_as_it_was()
        report = summary(self.trace)
        self.assertEqual(report["totals"]["allocations"], 20)
        self.assertFalse(report["capture"]["truncated"])


if __name__ == "__main__":
    unittest.main()
