"""A recording that heaptap-target began by itself goes from one host to the next: at once where the first one is gone, and not where it
lives."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, summary
from remote_test import TestCase
from waiting import ended, wait_for


class TakeOver(TestCase):
    def setUp(self):
        super().setUp()
        self.first, self.second = self.folder / "first.htap", self.folder / "second.htap"
        self.words, self.address = [], str(self.folder / "far.sock")

    def begin(self, *words):
        """heaptap-target that records, and its first host."""
        waiting = far.waiting(self.address, "run", "-q", "--listen", self.address, *self.words, "--orphan-timeout", "60s", *words, "--",
                              self.program, "100000000", "1000")
        self.target = waiting.__enter__()
        self.addCleanup(waiting.__exit__, None, None, None)
        host = self.take_over(self.first)
        self.wait_until_it_records(self.first, host, self.target)
        return host

    def take_over(self, trace, *words):
        return self.run_beside([HEAPTAP, "connect", self.address, "-q", "-o", trace, *words], stderr=subprocess.PIPE,
                               env=heaptap_test.sooner(write="20ms"))

    def is_taken_over(self, *words):
        host = self.take_over(self.second, *words)
        self.wait_until_it_records(self.second, host, self.target)
        [program] = [pid for pid in heaptap_test.descendants(self.target.pid) if heaptap_test.executable(pid) == str(self.program)]
        os.kill(program, signal.SIGTERM)
        self.assertEqual(ended(host, state=self.target), 128 + signal.SIGTERM)
        report = summary(self.second)
        self.assertGreater(report["totals"]["allocations"], 0)
        self.assertEqual((report["totals"]["bad_frees"], report["totals"]["double_frees"]), (0, 0))
        # Where the first one had said of nothing that it has it, it begins with the program.
        from_start = not any("another host" in note for note in heaptap_test.notes_of(report))
        self.assertEqual(report["totals"]["unknown_frees"] == 0, from_start, report["notes"])
        stacks = {frame["function"] for stack in report["stacks"] for frame in stack["frames"]}
        self.assertIn("get", stacks)

    def test_a_killed_host(self):
        host = self.begin()
        host.kill()
        host.wait()
        self.is_taken_over()

    def test_one_that_is_silent(self):
        """As where its machine lost its power: nobody says that it is gone."""
        host = self.begin()
        host.send_signal(signal.SIGSTOP)
        self.addCleanup(host.send_signal, signal.SIGCONT)
        self.is_taken_over()

    def test_one_that_lives(self):
        host = self.begin()
        refused = heaptap("connect", self.address, "-o", self.second, cwd=self.folder)
        self.assertEqual(refused.status, 125, str(refused))
        self.assertIn(b"--take-over", refused.stderr)
        self.assertIsNone(host.poll())
        self.is_taken_over("--take-over")
        self.assertIn(b"is over", host.communicate()[1])

    def test_again_and_again(self):
        host = self.begin()
        for number in range(3):
            host.kill()
            host.wait()
            trace = self.folder / f"again{number}.htap"
            host = self.take_over(trace)
            self.wait_until_it_records(trace, host, self.target)
        host.kill()
        host.wait()
        self.is_taken_over()

    def test_another_host_by_its_key(self):
        self.address = f"127.0.0.1:{far.free_port()}"
        far.pair(self.folder, "127.0.0.1")
        key = heaptap_test.run([far.HEAPTAP_TARGET, "pair", "--keys", self.folder / "board.keys"]).stdout.decode().split("SHA256:")[1].split()[0]
        self.words = ["--keys", self.folder / "board.keys"]
        os.environ["HEAPTAP_KEYS"] = str(self.folder / "other.keys")
        words = heaptap("pair").stdout.decode().split("heaptap-target ")[1].split()
        heaptap_test.run([far.HEAPTAP_TARGET, *words, *self.words])
        heaptap("pair", "127.0.0.1", f"SHA256:{key}")
        os.environ["HEAPTAP_KEYS"] = str(self.folder / "desk.keys")
        host = self.begin()
        host.kill()
        host.wait()
        os.environ["HEAPTAP_KEYS"] = str(self.folder / "other.keys")
        for words in ((), ("--take-over",)):
            refused = heaptap("connect", self.address, "-o", self.second, *words, cwd=self.folder)
            self.assertEqual(refused.status, 125, str(refused))
            self.assertIn(b"another host", refused.stderr)
        os.environ["HEAPTAP_KEYS"] = str(self.folder / "desk.keys")
        self.is_taken_over()


if __name__ == "__main__":
    unittest.main()
