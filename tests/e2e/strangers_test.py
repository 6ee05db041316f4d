# CTEST COST 25
"""Strangers connect to heaptap-target: with another token, with what somebody else said before, with the beginning of it,
with lengths that are none. All are refused, it stays small, and its host is served as ever."""
import os
import pathlib
import random
import re
import select
import socket
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, summary
from waiting import wait_for

MOST_MEMORY_KIB = 64 << 10


class Recorder:
    """Relays one connection, and keeps what the one that connects says."""

    def __init__(self, at, to):
        self.said = b""
        self._to = str(to)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(at))
        self._listener.listen(1)
        self._thread = threading.Thread(target=self._relay, daemon=True)
        self._thread.start()

    def _relay(self):
        near, _ = self._listener.accept()
        far_end = socket.socket(socket.AF_UNIX)
        far_end.connect(self._to)
        with near, far_end:
            while True:
                for end in select.select([near, far_end], [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    if end is near:
                        self.said += data
                    (far_end if end is near else near).sendall(data)

    def end(self):
        self._thread.join(30)
        self._listener.close()
        return self.said


def varint(number):
    coded = b""
    while number >= 0x80:
        coded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return coded + bytes([number])


def message(kind, number, fields):
    payload = varint(kind) + varint(number) + b"".join(varint(which) + varint(len(value)) + value for which, value in fields)
    return len(payload).to_bytes(4, "little") + payload


HELLO = message(1, 0, [(1, varint(1)), (2, varint(2))])  # of these versions


class Strangers(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.address = str(self.directory / "far.sock")
        self.token = far.make_token(self.directory)

    def record(self, address, *words):
        done = heaptap("run", "-H", address, *words, "-q", "--force", "-o", self.trace, "--", "/bin/ls", "/", cwd=self.directory)
        self.assertEqual(done.status, 0, str(done))
        self.assertTrue(summary(self.trace)["capture"]["complete"])

    def knock(self, said, patience_s=0.0):
        """Says something and hangs up; patience_s: waits so long for the other end to do that."""
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(self.address)
            stranger.settimeout(heaptap_test.TIMEOUT_S)
            heard = b""
            try:
                stranger.sendall(said)
                if patience_s == 0:
                    return heard
                stranger.settimeout(patience_s)
                while data := stranger.recv(65536):
                    heard += data
            except TimeoutError:
                self.fail(f"it neither answers nor hangs up: {heard[:100]}")
            except OSError:
                pass  # it hung up before it had heard all
            return heard

    def assert_small_and_well(self, server, *words):
        self.assertIsNone(server.poll())
        status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
        self.assertLess(int(re.search(r"VmHWM:\s+(\d+)", status).group(1)), MOST_MEMORY_KIB, status)
        wait_for("it has let go of strangers", lambda: len(os.listdir(f"/proc/{server.pid}/fd")) < 40, state=[server, lambda: os.listdir(f"/proc/{server.pid}/fd")])
        self.record(self.address, *words)

    def said_by_a_host(self, *words):
        recorder = Recorder(self.directory / "recorder.sock", self.address)
        self.record(self.directory / "recorder.sock", *words)
        return recorder.end()

    def test_failed_attempts_are_logged_also_by_one_that_is_quiet(self):
        log = self.directory / "serve.err"
        with log.open("wb") as errors, far.serving(self.address, "-q", "--token-file", self.token, stderr=errors) as server:
            for _ in range(20):
                self.knock(b"GET / HTTP/1.1\r\n\r\n", patience_s=heaptap_test.TIMEOUT_S)
            wait_for("they are logged", lambda: b"was refused" in log.read_bytes(), state=[server, log])
            self.assertIsNone(server.poll())
        lines = log.read_text().splitlines()
        for line in lines:
            self.assertRegex(line, r"^heaptap-target: user \d+ was refused: ")
        self.assertIn("invalid data from the other side: not heaptap's protocol", lines[0])
        self.assertLess(len(lines), 20)

    def test_one_that_records_by_itself_logs_them_while_it_records(self):
        log = self.directory / "target.err"
        greeting = b"heaptap channel 1\n"
        with log.open("wb") as errors, \
                far.waiting(self.address, "run", "-q", "--listen", self.address, "--", "sleep", "300", stderr=errors) as target:
            self.knock(b"GET / HTTP/1.1\r\n\r\n", patience_s=heaptap_test.TIMEOUT_S)
            self.knock(greeting + b"\xff\xff\xff\xff", patience_s=heaptap_test.TIMEOUT_S)
            done = heaptap("run", "-H", self.address, "--", "/bin/true", cwd=self.directory)
            self.assertEqual(done.status, 125, str(done))
            self.assertIn(b"it is already recording without a host: `heaptap connect ADDRESS` takes that over", done.stderr)
            self.knock(greeting + HELLO + message(64, 0, [(80, b"x" * 16), (64, varint(0))]), patience_s=heaptap_test.TIMEOUT_S)
            wait_for("each is logged", lambda: log.read_bytes().count(b" was refused: ") == 4, state=[target, log])
            self.assertIsNone(target.poll())
        why = [line.partition(" was refused: ")[2] for line in log.read_text().splitlines() if " was refused: " in line]
        self.assertEqual(why, ["invalid data from the other side: not heaptap's protocol, or another version of it",
                               "invalid data from the other side: not heaptap's protocol",
                               "it is already recording without a host: `heaptap connect ADDRESS` takes that over",
                               "the recording there has ended"])

    def test_nobody_waits_for_a_client_that_does_not_read_the_log(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with open(reader, "rb"), open(writer, "wb", buffering=0) as errors:
            while errors.write(bytes(4096)):
                pass
            os.set_blocking(writer, True)
            with far.serving(self.address, "-q", stderr=errors) as server:
                for _ in range(3):
                    self.knock(b"GET / HTTP/1.1\r\n\r\n", patience_s=heaptap_test.TIMEOUT_S)
                self.assert_small_and_well(server)

    def test_a_handshake_that_is_played_again(self):
        with far.serving(self.address, "-q", "--token-file", self.token) as server:
            said = self.said_by_a_host("--token-file", self.token)
            self.assertGreater(len(said), 500)
            for _ in range(5):
                heard = self.knock(said, patience_s=heaptap_test.TIMEOUT_S)
                self.assertNotIn(b"HTAPRAW", heard)
            wait_for("nothing was started for it", lambda: not heaptap_test.descendants(server.pid), state=server)
            self.assert_small_and_well(server, "--token-file", self.token)

    def test_a_handshake_that_ends_early(self):
        with far.serving(self.address, "-q", "--token-file", self.token) as server:
            said = self.said_by_a_host("--token-file", self.token)
            for length in [*range(64), *range(64, min(len(said), 2000), 29)]:
                self.knock(said[:length])
            self.assert_small_and_well(server, "--token-file", self.token)

    def test_another_token(self):
        with far.serving(self.address, "-q", "--token-file", self.token) as server:
            wrong = {**os.environ, "HEAPTAP_TOKEN": far.new_token()}
            for _ in range(3):
                done = heaptap("run", "-H", self.address, "--", "/bin/true", cwd=self.directory, env=wrong)
                self.assertEqual(done.status, 125, str(done))
                self.assertIn(b"token", done.stderr)
            done = heaptap("run", "-H", self.address, "--", "/bin/true", cwd=self.directory)
            self.assertEqual(done.status, 125, str(done))
            self.assert_small_and_well(server, "--token-file", self.token)

    def test_what_is_said_without_a_token_and_makes_no_sense(self):
        log = self.directory / "serve.err"
        with log.open("wb") as errors, far.serving(self.address, "-q", "--orphan-timeout", "1s", stderr=errors) as server:
            said = self.said_by_a_host()
            greeting = said[:said.index(HELLO)]  # that of the channel itself
            resume = message(64, 0, [(80, b""), (64, varint(0))])
            nonsense = [b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(5000),
                        greeting + b"\xff\xff\xff\xff" + b"x" * 100_000,                      # a message of 4 GiB
                        greeting + (1 << 20).to_bytes(4, "little") + b"x" * (1 << 20),
                        greeting + HELLO + HELLO,
                        greeting + resume,
                        greeting + HELLO + message(64, 0, [(80, b"x" * 16), (64, varint((1 << 64) - 1))]),
                        greeting + HELLO + message(64, 0, [(80, b"short")]),
                        greeting + HELLO + resume + message(65, 0, [(64, varint((1 << 64) - 1))]),
                        greeting + HELLO + resume + message(70, 1, [(87, varint((1 << 64) - 1)), (49, varint(1 << 40))]),
                        greeting + HELLO + resume + message(70, 1, [(6, b"-1"), (6, b"99999999999")])]
            for each in nonsense:
                self.knock(each)
            generator = random.Random(3)
            for _ in range(300):
                changed = bytearray(said[:generator.randrange(len(greeting), len(said))])
                for _ in range(generator.randrange(1, 4)):
                    # Not the program that is asked for, which is as good as another.
                    changed[generator.randrange(len(greeting), min(len(changed), len(greeting) + 30) + 1) - 1] ^= 1 << generator.randrange(8)
                self.knock(bytes(changed))
            # One of them may have begun a session, which ends without its host.
            wait_for("another host is served", lambda: heaptap("run", "-H", self.address, "--", "/bin/true", cwd=self.directory).status == 0,
                     state=[server, log])
            self.assert_small_and_well(server)
        self.assertIn(b" was refused: invalid data from the other side: not heaptap's protocol", log.read_bytes())

    def test_a_target_that_is_none(self):
        """The other way round: what listens there is no heaptap-target."""
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.address)
        listener.listen(8)

        def answer(said):
            while True:
                try:
                    end, _ = listener.accept()
                except OSError:
                    return
                with end:
                    try:
                        end.sendall(said)
                        while end.recv(65536):
                            pass
                    except OSError:
                        continue

        said = b"heaptap" + b"\xff" * 100_000
        threading.Thread(target=answer, args=(said,), daemon=True).start()
        host = subprocess.run([HEAPTAP, "run", "-H", self.address, "--", "/bin/true"], cwd=self.directory, env=heaptap_test.sooner(reach="1000ms"),
                              capture_output=True, timeout=60, check=False)
        self.assertEqual(host.returncode, 125, host.stderr)
        self.assertIn(b"can't connect", host.stderr)


if __name__ == "__main__":
    unittest.main()
