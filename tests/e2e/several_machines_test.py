"""Two machines on which something is recorded at the same time, and commands about one of them."""
import contextlib
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from heaptap_test import heaptap, summary
from remote_test import TestCase
from waiting import wait_for


class Machines(TestCase):
    def setUp(self):
        super().setUp()
        self.addresses = [str(self.directory / f"{name}.sock") for name in ("one", "two")]
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.servers = [stack.enter_context(far.serving(address, "-q")) for address in self.addresses]

    def begin(self):
        """A recording at each; the numbers of their processes."""
        for address, server in zip(self.addresses, self.servers):
            self.start(address, "-q", "-o", f"{address}.htap", "--", self.program, "100000000", "1000")
        return [self.pid_of(address, server) for address, server in zip(self.addresses, self.servers)]

    def pid_of(self, address, server):
        def there():
            return [pid for pid in heaptap_test.descendants(server.pid) if heaptap_test.executable(pid) == str(self.program)
                    and far.is_recorded(pid)]
        wait_for(f"it runs at {address}", there, state=server)
        return there()[0]

    def ask(self, *words, status=0):
        done = heaptap(*words, cwd=self.directory)
        self.assertEqual(done.status, status, str(done))
        return done.stdout + done.stderr

    def assert_of(self, pid, said):
        self.assertEqual(set(re.findall(rb"\bpid (\d+)\)", said)), {str(pid).encode()}, said)

    def test_each_by_its_address(self):
        pids = self.begin()
        for address, pid, other in zip(self.addresses, pids, reversed(pids)):
            report = json.loads(self.ask("leaks", "-H", address, pid, "--json"))
            self.assertEqual(report["target"]["pid"], pid)
            self.assertTrue(report["leaks"]["scanned"], report["notes"])
            for words in (["console", "-H", address, "-x", "status"], ["console", "-H", address, pid, "-x", "status"],
                          ["top", "-H", address, "--once"]):
                said = self.ask(*words)
                self.assert_of(pid, said)
            # What runs on the other one isn't there.
            self.assertIn(b"not being recorded", self.ask("mark", "-H", address, other, "name", status=125))

    def test_which_one_is_asked_back(self):
        pids = self.begin()
        said = self.ask("console", "-x", "status", status=2).decode()
        for address, pid in zip(self.addresses, pids):
            self.assertIn(f"-H {address} {pid}", said)

    def test_connect_is_the_option_for_all_commands(self):
        address = self.addresses[0]
        pids = self.begin()
        program = self.run_beside([self.program, "100000000", "1000"], stdout=subprocess.DEVNULL)
        self.ask("connect", address, "attach", "-q", "-o", self.trace, "--duration", "200ms", program.pid)
        self.assertEqual(summary(self.trace)["target"]["pid"], program.pid)
        self.assertIsNone(program.poll())
        for words in (["console", pids[0], "-x", "status"], ["console", "-x", "status"], ["top", pids[0], "--once"], ["top", "--once"]):
            said = self.ask("connect", address, *words)
            self.assert_of(pids[0], said)
        self.ask("connect", address, "mark", pids[0], "here")
        self.assertIn(b"1 mark", self.ask("connect", address, "console", "-x", "status"))


if __name__ == "__main__":
    unittest.main()
