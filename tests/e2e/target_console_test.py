# CTEST RUN_SERIAL TRUE
"""What is typed on the target about recordings that run there: heaptap-target status, monitor, report, mark, clear. They are about
all of this user's, also those of other tests."""
import json
import os
import pathlib
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from heaptap_test import heaptap, summary
from remote_test import TestCase
from waiting import ended, read_until, wait_for

NOBODY = 65534


class Console(TestCase):
    def setUp(self):
        super().setUp()
        # Of this test alone.
        self.sockets = self.directory / "run"
        self.sockets.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(self.sockets)
        self.addCleanup(os.environ.pop, "XDG_RUNTIME_DIR")

    def say(self, *words, status=0):
        done = heaptap_test.run([far.HEAPTAP_TARGET, *words])
        self.assertEqual(done.status, status, str(done))
        return (done.stdout if status == 0 else done.stderr).decode()

    def recorded(self):
        """The lines of the processes that are recorded, in words."""
        done = heaptap_test.run([far.HEAPTAP_TARGET, "status"])
        return [line.split() for line in done.stdout.decode().splitlines() if line.split()[0].isdigit()]

    def begin(self):
        server = far.serving(self.address, "-q")
        process = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)
        host = self.start(self.address, "-o", self.trace, "--", self.program, "100000000", "1000")
        wait_for("it is recorded", lambda: len(self.recorded()) == 1, state=[process, host])
        return host

    def test_nothing_is_recorded(self):
        for words in (["status"], ["monitor"], ["report"], ["mark", "here"], ["clear"]):
            self.assertIn("has no recording of this user here", self.say(*words, status=125))
        for words in (["mark"], ["report", "me"], ["status", "7"], ["clear", "1", "2"]):
            self.say(*words, status=2)

    def test_what_goes_on(self):
        self.begin()
        [words] = self.recorded()
        self.assertEqual(heaptap_test.executable(int(words[0])), str(self.program))
        self.assertEqual(words[-2:], ["agent", self.program.name])
        self.assertRegex(" ".join(words), r"^\d+ \d+\.\d+ m?s [\d,]+ [\d,]+ 0 \d+% \d+\.\d [KM]iB ")
        self.assertRegex(self.say("status").splitlines()[0], r"^host .*, .* waiting for it$")
        [socket] = self.sockets.glob("heaptap/target.*.sock")
        self.assertEqual(stat.S_IMODE(socket.stat().st_mode), 0o600)

    def test_it_is_watched_until_it_ends(self):
        host = self.begin()
        watch = self.run_beside([far.HEAPTAP_TARGET, "monitor", "--interval", "50ms"], stdout=subprocess.PIPE)
        self.addCleanup(watch.stdout.close)
        read_until(watch.stdout.fileno(), "three looks", lambda text: text.count(b"host ") >= 3, state=watch)
        os.kill(int(self.recorded()[0][0]), 9)
        self.assertEqual(ended(host), 128 + 9)
        self.assertEqual(ended(watch), 0)

    def test_the_host_writes_a_report(self):
        host = self.begin()
        pid = self.recorded()[0][0]
        self.assertIn("the host is writing a report", self.say("report"))
        wait_for("there is a report", lambda: list(self.directory.glob("*.memlog")), state=host)
        self.assertIn(f"no process {int(pid) + 1} is recorded here", self.say("report", str(int(pid) + 1), status=125))

    def test_marks_and_a_new_beginning(self):
        host = self.begin()
        self.assertIn("'warm'", self.say("mark", "warm"))
        self.assertIn("counts from here on", self.say("clear"))
        wait_for("the host knows both", lambda: b"2 marks" in heaptap("console", "-H", self.address, "-x", "status", cwd=self.directory).stdout, state=host)
        shown = heaptap("console", "-H", self.address, "-x", "marks", cwd=self.directory)
        self.assertIn(b"warm", shown.stdout, str(shown))
        self.assertIn(b"counts from here on", shown.stdout, str(shown))

    def test_into_a_file(self):
        target = self.run_beside([far.HEAPTAP_TARGET, "record", "-q", "-o", self.directory / "it.rec", "--", self.program, "100000000", "1000"],
                                 stdout=subprocess.DEVNULL)
        wait_for("it is recorded", lambda: len(self.recorded()) == 1, state=target)
        self.assertIn("no host", self.say("status"))
        self.assertIn("this is recorded into a file", self.say("report", status=125))
        self.say("mark", "warm")
        os.kill(int(self.recorded()[0][0]), 9)
        ended(target)
        done = heaptap("connect", self.directory / "it.rec", "-q", "-o", self.trace, cwd=self.directory)
        self.assertIn(b"warm", heaptap("show", "summary", "--json", "--to", "warm", self.trace).stdout + done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, about whose recordings others ask")
    def test_another_user(self):
        self.begin()
        os.chmod(self.directory, 0o755)
        words = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
        other = heaptap_test.run([*words, far.HEAPTAP_TARGET, "status"])
        self.assertIn(b"has no recording of this user here", other.stderr)
        # Not even where the directory and the socket are open.
        [socket] = self.sockets.glob("heaptap/target.*.sock")
        for path in (self.sockets, socket.parent, socket):
            os.chmod(path, 0o777)
        ask = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect({str(socket)!r}); s.send(b'figures\\n'); print(s.recv(100))"
        refused = heaptap_test.run([*words, "python3", "-c", ask])
        self.assertNotIn(b"host", refused.stdout, str(refused))


if __name__ == "__main__":
    unittest.main()
