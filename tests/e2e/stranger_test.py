"""Others than the program connect to the socket on which agents ask for a log, whose name everybody can read: they get
nothing, and cost the program and heaptap nothing."""
import os
import pathlib
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import summary
from robustness_test import FIRST, Steered

HELLO = 0x4f4c4548


def version(header, name):
    text = (pathlib.Path(__file__).resolve().parents[2] / "src/common/wire" / header).read_text()
    return int(re.search(rf"{name} = (\d+);", text)[1])


HANDSHAKE_VERSION, LOG_VERSION = version("handshake.h", "kHandshakeVersion"), version("log.h", "kLogVersion")
NOBODY = 65534


def address_of(collector):
    """The abstract socket that this process listens on for agents."""
    inodes = set()
    for entry in os.listdir(f"/proc/{collector}/fd"):
        try:
            inodes |= set(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{collector}/fd/{entry}")))
        except OSError:
            pass
    for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[6] in inodes and fields[-1].startswith("@heaptap-"):
            return "\0" + fields[-1][1:]
    raise AssertionError("heaptap listens on no socket for agents")


class Strangers:
    """Connections of another process, of another user where the test may become one. They stay until it ends."""

    def __init__(self, address, count, messages):
        told, tells = os.pipe()
        self.ends, ends = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for number in range(3, 256):  # the test's pipes are to end when it closes them
                    if number not in (tells, self.ends):
                        try:
                            os.close(number)
                        except OSError:
                            pass
                held = self.connect(address, count, messages, tells)
                select.select([self.ends], [], [])
                del held
            finally:
                os._exit(0)
        os.close(tells)
        self.hold = ends
        self.answers = b""
        while piece := os.read(told, 4096):
            self.answers += piece
            if self.answers.endswith(b"\n"):
                break
        os.close(told)

    @staticmethod
    def connect(address, count, messages, tells):
        if os.getuid() == 0:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        answers, held = [], []
        for number in range(count):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peer.settimeout(heaptap_test.TIMEOUT_S)
            held.append(peer)
            try:
                peer.connect(address)
                if number < len(messages):
                    peer.send(messages[number])
                    data, files, _, _ = socket.recv_fds(peer, 4096, 4)
                    answers.append(f"{len(data)}+{len(files)}")
            except OSError as error:
                answers.append(type(error).__name__)
        os.write(tells, (" ".join(answers) + "\n").encode())
        return held

    def leave(self):
        os.close(self.hold)
        os.waitpid(self.pid, 0)


def hello(secret=b"0" * 32, magic=HELLO, version=HANDSHAKE_VERSION):
    return struct.pack("<IIIIIIii32s", magic, version, LOG_VERSION, 8, 1, 0, os.getpid(), os.getppid(), secret)


class StrangersAtTheSocket(Steered):
    def setUp(self):
        super().setUp()
        self.held = []

    def bring(self, count, messages=()):
        strangers = Strangers(address_of(self.process.pid), count, messages)
        self.held.append(strangers)
        self.addCleanup(lambda: strangers in self.held and strangers.leave())
        return strangers

    def end_and_check(self, lines):
        self.expect(b"line\n", times=lines)
        self.process.stdin.close()
        self.expect(b"end\n")
        self.assertEqual(self.status(), 9)
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report), [])
        again = f"stack function=malloc caller=again allocations={100000 * lines} frees={100000 * lines}"
        self.assertEqual(expectations.check(again, report), [])
        self.assertEqual(report["capture"]["lost_events"], 0)
        return report

    def test_silent_ones_hold_nobody_up(self):
        """Several times as many events as the log holds, which nobody drains if somebody is waited for; and the end."""
        self.start("sleeper")
        self.bring(60)
        lines = 30
        self.send(b"x\n" * lines)
        self.end_and_check(lines)

    def test_more_than_are_kept_wait_for_nobody(self):
        self.start("sleeper")
        self.bring(200)
        self.bring(200)
        self.send(b"x\n")
        self.end_and_check(1)

    def test_who_says_no_secret_gets_no_log(self):
        self.start("sleeper")
        messages = [hello(), hello(secret=b"\0" * 32), hello(version=1)[:32], b"", b"x" * 4000, hello(magic=0)]
        strangers = self.bring(len(messages), messages)
        for answer in strangers.answers.decode().split():
            self.assertIn(answer, ("0+0", "ConnectionResetError"), strangers.answers)
        self.send(b"x\n")
        report = self.end_and_check(1)
        self.assertLessEqual(set(os.listdir(self.directory)), {"trace.htap", "heaptap.latest.htap"})
        self.assertTrue(any("secret" in note for note in heaptap_test.notes_of(report)), report["capture"])

    def test_followed_children_are_served_beside_them(self):
        """More silent connections than one look takes, and processes that are recorded meanwhile."""
        self.trace = self.directory / "%p.htap"
        script = "read line; for i in 1 2 3 4 5; do (eval 'x=1; y=$x$x'; exit 3); done; echo end"
        self.start_shell(script)
        self.bring(150)
        self.send(b"x\n")
        self.process.stdin.close()
        self.expect(b"end\n")
        self.assertEqual(self.status(), 0)
        self.assertEqual(len(list(self.directory.glob("[0-9]*.htap"))), 6)

    def start_shell(self, script):
        self.errors = tempfile.TemporaryFile()
        self.addCleanup(self.errors.close)
        self.marker = f"{os.getpid()}-stranger"
        self.process = subprocess.Popen([str(heaptap_test.HEAPTAP), "run", "-f", "-o", str(self.trace), "--", "/bin/sh", "-c", "echo ready; " + script],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=self.directory,
                                        env={**os.environ, "HEAPTAP_TEST_MARKER": self.marker})
        self.addCleanup(self.clean_up)
        self.received = b""
        self.expect(b"ready")


if __name__ == "__main__":
    unittest.main()
