"""`heaptap-target connect`: what is between it and the host is said, and tried again until it goes."""
import contextlib
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from heaptap_test import heaptap, summary
from remote_test import TestCase
from waiting import ended, read_until, wait_for

SOON = heaptap_test.sooner(retry="50ms")
NAMESPACE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]


class NameServer:
    """Knows one name, on port 53 of an address of this machine."""

    def __init__(self, address, name, number):
        self.name, self.number = name.encode().split(b"."), socket.inet_aton(number)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((address, 53))
        self.asked = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                question, peer = self._socket.recvfrom(512)
                labels, at = [], 12
                while question[at]:
                    labels.append(question[at + 1:at + 1 + question[at]])
                    at += 1 + question[at]
                self.asked.append(b".".join(labels).decode())
                kind = struct.unpack(">H", question[at + 1:at + 3])[0]
                is_it = labels == self.name
                answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + self.number if is_it and kind == 1 else b""
                flags = 0x8180 | (0 if is_it else 3)
                self._socket.sendto(question[:2] + struct.pack(">HHHHH", flags, 1, bool(answer), 0, 0) + question[12:at + 5] + answer, peer)

    def close(self):
        self._socket.close()


class Connect(TestCase):
    def go(self, address, *words, wrapper=()):
        return self.run_beside([*wrapper, far.HEAPTAP_TARGET, "connect", address, "--once", *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, env=SOON)

    def said(self, target, word):
        return read_until(target.stderr.fileno(), repr(word), lambda text: word in text, state=target).decode()

    def is_served(self, target, address, *words):
        host = self.start(f"listen:{address}", "-q", *words, "-o", self.trace, "--", self.program, "3000")
        self.assertEqual(ended(host, state=target), 7)
        self.assertEqual(summary(self.trace)["capture"]["lost_events"], 0)
        self.assertEqual(ended(target), 0)

    def test_nobody_there_yet(self):
        target = self.go(self.address)
        said = self.said(target, b"trying again")
        self.assertIn(f"can't connect to {self.address}: No such file", said)
        self.is_served(target, self.address)

    def test_another_token(self):
        address, token = f"127.0.0.1:{far.free_port()}", far.make_token(self.directory)
        target = self.go(address, "--token-file", far.make_token(self.directory, "another"))
        host = self.start(f"listen:{address}", "-q", "--token-file", token, "-o", self.trace, "--", self.program, "3000")
        wait_for("the host listens", lambda: far.listens(host.pid, address), state=host)
        said = self.said(target, b"token")
        self.assertIn(address, said)
        self.assertIn("trying again", said)

    def test_the_next_host_is_told_that_the_first_one_is_lost(self):
        target = self.go(self.address, "--orphan-timeout", "60s")
        host = self.start(f"listen:{self.address}", "-q", "-o", self.trace, "--", self.program, "100000000", "1000")
        self.wait_until_it_records(self.trace, host, target)
        host.kill()
        host.wait()
        pathlib.Path(self.address).unlink()
        done = heaptap("run", "-q", "-H", f"listen:{self.address}", "-o", self.directory / "next.htap", "--", "/bin/true", cwd=self.directory)
        self.assertEqual(done.status, 125, str(done))
        self.assertIn(b"it keeps the recording of a host that lost its connection, until --orphan-timeout", done.stderr)
        self.said(target, b"was refused: it keeps the recording of a host that lost its connection")

    def etc(self, hosts="", servers=""):
        """What runs a command with these files in /etc."""
        (self.directory / "hosts").write_text(hosts)
        (self.directory / "resolv.conf").write_text(servers)
        binds = [f"mount --bind {self.directory / name} $(readlink -f /etc/{name})" for name in ("hosts", "resolv.conf")]
        return [*NAMESPACE, "/bin/sh", "-c", " && ".join([*binds, 'exec "$@"']), "sh"]

    def by_name(self, wrapper):
        if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
            self.skipTest("files in /etc can't have others in their place here")
        port, token = far.free_port(), far.make_token(self.directory)
        target = self.go(f"desk:{port}", "--token-file", token, wrapper=wrapper)
        self.is_served(target, f"127.0.0.1:{port}", "--token-file", token)

    def test_a_name_of_etc_hosts(self):
        self.by_name(self.etc("::1 other\n127.0.0.1 far.example Desk # here\n"))

    def test_a_name_that_a_server_knows(self):
        try:
            server = NameServer("127.7.7.7", "desk.lab.example", "127.0.0.1")
        except PermissionError:
            self.skipTest("name servers are root's")
        self.addCleanup(server.close)
        self.by_name(self.etc(servers="# ours\nnameserver 127.7.7.7\nsearch wrong.example lab.example\n"))
        self.assertEqual(server.asked, ["desk.wrong.example"] * 2 + ["desk.lab.example"] * 2)

    def test_a_name_that_nobody_knows(self):
        wrapper = self.etc(servers="nameserver 127.7.7.8\n")
        if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
            self.skipTest("files in /etc can't have others in their place here")
        target = self.go("desk:7421", "--token-file", far.make_token(self.directory), wrapper=wrapper)
        self.assertIn("can't find the host 'desk'", self.said(target, b"trying again"))


if __name__ == "__main__":
    unittest.main()
