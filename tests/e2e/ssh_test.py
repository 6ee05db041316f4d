"""Over ssh: the target's side waits at a UNIX socket, ssh forwards another one to it. The server is one of this machine, with keys made
for the test."""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import heaptap, summary
from waiting import ended, wait_for

SERVER = """HostKey {directory}/host_key
AuthorizedKeysFile {directory}/user_key.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin prohibit-password
AllowStreamLocalForwarding yes
"""
PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/howto/two-machines.md"


class Ssh(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.sshd = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if not self.sshd or not shutil.which("ssh") or not shutil.which("ssh-keygen"):
            heaptap_test.skip_what_is_missing("an ssh server and its client")
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.directory / name], check=True)
        (self.directory / "sshd_config").write_text(SERVER.format(directory=self.directory))
        self.port = far.free_port()
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.server = self.start([self.sshd, "-D", "-e", "-f", self.directory / "sshd_config", "-p", str(self.port), "-o", "ListenAddress=127.0.0.1"])
        wait_for("sshd listens", lambda: self.server.poll() is not None or far.listens(self.server.pid, f"127.0.0.1:{self.port}"), state=self.server)
        self.assertIsNone(self.server.poll(), self.said(self.server))

    def start(self, command):
        log = (self.directory / f"{pathlib.Path(command[0]).name}.log").open("wb")
        self.addCleanup(log.close)
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def end():
            heaptap_test.end(process)
            process.wait()

        self.addCleanup(end)
        return process

    def said(self, process):
        return (self.directory / f"{pathlib.Path(process.args[0]).name}.log").read_text()

    def forward(self, here, there):
        ssh = self.start(["ssh", "-N", "-F", "none", "-i", self.directory / "user_key", "-p", str(self.port), "-o", "UserKnownHostsFile=/dev/null",
                          "-o", "StrictHostKeyChecking=no", "-o", "ExitOnForwardFailure=yes", "-L", f"{here}:{there}", "127.0.0.1"])
        wait_for("ssh forwards", lambda: ssh.poll() is not None or far.listens(ssh.pid, str(here)), state=ssh)
        self.assertIsNone(ssh.poll(), self.said(ssh) + self.said(self.server))
        return ssh

    def test_a_recording_through_a_forwarded_socket(self):
        there, here = self.directory / "there.sock", self.directory / "here.sock"
        with far.serving(str(there)):
            self.assertEqual(stat.S_IMODE(os.stat(there).st_mode), 0o600)
            self.forward(here, there)
            for _ in range(2):
                done = heaptap("run", "-H", here, "-q", "--force", "-o", self.trace, "--", "/bin/ls", "/", cwd=self.directory)
                self.assertEqual(done.status, 0, str(done))
                self.assertTrue(summary(self.trace)["capture"]["complete"])
                self.assertGreater(summary(self.trace)["totals"]["allocations"], 10)

    def test_ssh_that_ends_and_comes_back(self):
        there, here = self.directory / "there.sock", self.directory / "here.sock"
        with far.serving(str(there)):
            ssh = self.forward(here, there)
            host = self.start([heaptap_test.HEAPTAP, "run", "-H", here, "-o", self.trace, "--", "/bin/sh", "-c", "sleep 2; ls / > /dev/null; exit 3"])
            wait_for("it records", self.trace.exists, state=host)
            ssh.terminate()
            ssh.wait()
            os.unlink(here)
            self.forward(here, there)
            self.assertEqual(ended(host), 3, self.said(host))
            self.assertTrue(summary(self.trace)["capture"]["complete"], self.said(host))

    def test_nobody_at_the_other_end(self):
        here = self.directory / "here.sock"
        self.forward(here, self.directory / "none.sock")
        done = heaptap("run", "-H", here, "--", "/bin/true", cwd=self.directory)
        self.assertEqual(done.status, 125, str(done))
        self.assertIn(b"heaptap-target serve", done.stderr)

    def test_the_page_says_so(self):
        self.assertIn("ssh -N -L /tmp/board.sock:/tmp/heaptap.sock target", PAGE.read_text())


if __name__ == "__main__":
    unittest.main()
