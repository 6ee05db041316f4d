"""A recording that heaptap-target began, by itself or for a host, goes from one host to the next: at once where the first one is gone, and not where it
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


class TakeOverCase(TestCase):
    def setUp(self):
        super().setUp()
        self.first, self.second = self.directory / "first.htap", self.directory / "second.htap"
        self.words, self.address = [], str(self.directory / "far.sock")

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

    def is_taken_over_by_force_alone(self, host):
        """The host is there."""
        refused = heaptap("connect", self.address, "-o", self.second, cwd=self.directory)
        self.assertEqual(refused.status, 125, str(refused))
        self.assertIn(b"it is already recording for another host, which is connected: --take-over takes the recording over", refused.stderr)
        self.assertIsNone(host.poll())
        self.is_taken_over("--take-over")
        self.assertIn(b"the recording there has ended", host.communicate()[1])

    @staticmethod
    def kill(host):
        host.kill()
        host.wait()

    def two_hosts(self):
        """Keys of two hosts that a target knows, of which this is "desk.keys", and the target's options for its own."""
        self.address = f"127.0.0.1:{far.free_port()}"
        far.pair(self.directory, "127.0.0.1")
        words = ["--keys", self.directory / "board.keys"]
        key = heaptap_test.run([far.HEAPTAP_TARGET, "pair", *words]).stdout.decode().split("SHA256:")[1].split()[0]
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "other.keys")
        told = heaptap("pair").stdout.decode().split("heaptap-target ")[1].split()
        heaptap_test.run([far.HEAPTAP_TARGET, *told, *words])
        heaptap("pair", "127.0.0.1", f"SHA256:{key}")
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "desk.keys")
        return words


class TakeOver(TakeOverCase):
    """What heaptap-target records by itself."""

    def begin(self, *words):
        """heaptap-target that records, and its first host."""
        waiting = far.waiting(self.address, "run", "-q", "--listen", self.address, *self.words, "--orphan-timeout", "60s", *words, "--",
                              self.program, "100000000", "1000")
        self.target = waiting.__enter__()
        self.addCleanup(waiting.__exit__, None, None, None)
        host = self.take_over(self.first)
        self.wait_until_it_records(self.first, host, self.target)
        return host

    def test_a_killed_host(self):
        host = self.begin()
        self.kill(host)
        self.is_taken_over()

    def test_one_that_is_silent(self):
        """As where its machine lost its power: nobody says that it is gone."""
        host = self.begin()
        host.send_signal(signal.SIGSTOP)
        self.addCleanup(host.send_signal, signal.SIGCONT)
        self.is_taken_over()

    def test_one_that_lives(self):
        self.is_taken_over_by_force_alone(self.begin())

    def test_again_and_again(self):
        host = self.begin()
        for number in range(3):
            self.kill(host)
            trace = self.directory / f"again{number}.htap"
            host = self.take_over(trace)
            self.wait_until_it_records(trace, host, self.target)
        self.kill(host)
        self.is_taken_over()

    def test_another_host_by_its_key(self):
        self.words = self.two_hosts()
        host = self.begin()
        self.kill(host)
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "other.keys")
        for words in ((), ("--take-over",)):
            refused = heaptap("connect", self.address, "-o", self.second, *words, cwd=self.directory)
            self.assertEqual(refused.status, 125, str(refused))
            self.assertIn(b"it keeps the recording for another host, which has a part of it", refused.stderr)
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "desk.keys")
        self.is_taken_over()


class OfServe(TakeOverCase):
    """What `heaptap-target serve` began for a host that is gone."""

    def serve(self, *words):
        waiting = far.waiting(self.address, "serve", self.address, "-q", "--orphan-timeout", "60s", *words)
        self.target = waiting.__enter__()
        self.addCleanup(waiting.__exit__, None, None, None)

    def begin(self, name="first", *words):
        host = self.run_beside([HEAPTAP, "run", "-H", self.address, "-q", "--force", "-o", self.directory / f"{name}.htap", *words, "--",
                                self.program, "100000000", "1000"], stderr=subprocess.PIPE, env=heaptap_test.sooner(write="20ms"))
        self.wait_until_it_records(self.directory / f"{name}.htap", host, self.target)
        return host

    def programs(self):
        return [pid for pid in heaptap_test.descendants(self.target.pid) if heaptap_test.executable(pid) == str(self.program)]

    def test_a_killed_host(self):
        self.serve()
        self.kill(self.begin())
        self.is_taken_over()

    def test_again_and_again(self):
        self.serve("--no-scan-data")
        self.kill(self.begin())
        for number in range(3):
            trace = self.directory / f"again{number}.htap"
            host = self.take_over(trace)
            self.wait_until_it_records(trace, host, self.target)
            self.kill(host)
        self.is_taken_over()

    def test_one_that_lives(self):
        self.serve()
        self.is_taken_over_by_force_alone(self.begin())

    def test_one_of_several(self):
        self.serve()
        hosts = [self.begin(name) for name in ("one", "two")]
        for host in hosts:
            self.kill(host)
        refused = heaptap("connect", self.address, "-o", self.second, cwd=self.directory)
        self.assertEqual(refused.status, 125, str(refused))
        self.assertIn(b"several recordings", refused.stderr)
        first, second = self.programs()
        os.kill(second, signal.SIGSTOP)
        self.addCleanup(os.kill, second, signal.SIGKILL)
        other = heaptap("connect", self.address, str(os.getpid()), "-o", self.second, cwd=self.directory)
        self.assertEqual(other.status, 125, str(other))
        self.assertIn(b"is not recorded there", other.stderr)
        host = self.run_beside([HEAPTAP, "connect", self.address, str(first), "-q", "-o", self.second], stderr=subprocess.PIPE,
                               env=heaptap_test.sooner(write="20ms"))
        self.wait_until_it_records(self.second, host, self.target)
        self.assertEqual(summary(self.second)["target"]["pid"], first)
        os.kill(first, signal.SIGTERM)
        self.assertEqual(ended(host, state=self.target), 128 + signal.SIGTERM)

    def test_where_nothing_is_recorded(self):
        self.serve()
        refused = heaptap("connect", self.address, "-o", self.second, cwd=self.directory)
        self.assertIn(b"no recording there yet", refused.stderr)

    def test_another_host_by_its_key(self):
        self.serve(*self.two_hosts())
        self.kill(self.begin())
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "other.keys")
        for words in ((), ("--take-over",), (str(self.programs()[0]),)):
            refused = heaptap("connect", self.address, *words, "-o", self.second, cwd=self.directory)
            self.assertEqual(refused.status, 125, str(refused))
            self.assertIn(b"all recordings there are for other hosts", refused.stderr)
        os.environ["HEAPTAP_KEYS"] = str(self.directory / "desk.keys")
        self.is_taken_over()


if __name__ == "__main__":
    unittest.main()
