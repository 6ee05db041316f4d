"""Strangers take the names under which recordings are asked for, before or after a recording begins: its own user asks as ever, and tells
strangers nothing. In a namespace of networks of its own, which abstract names belong to."""
import contextlib
import os
import pathlib
import resource
import select
import shutil
import socket
import subprocess
import sys
import time
import traceback
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, built, summary
from waiting import ended, finished, read_until

SQUATTER, USER = 65534, 65533
A_FRACTION_S = 4  # of the 6.5 s that a silent one cost once; it costs 0.3 s by design, on a machine that is at rest
TRIES = 10        # of which the fastest counts: the machine may be busy
MANY = 3000       # of the next pids


def become(user):
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def squat(pids, silent, tells, ends):
    """Listens at their names until told to end. Not silent: greets as a recorder does, and tells of whatever is said to it."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (MANY + 500, MANY + 500))
    become(SQUATTER)
    listeners, held = [], []
    for pid in pids:
        one = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            one.bind(f"\0heaptap.recording.{pid}")
            one.listen(0 if silent else 64)
            listeners.append(one)
    for one in listeners[:100] if silent else []:  # as many wait as may
        with contextlib.suppress(BlockingIOError):
            for _ in range(3):
                peer = socket.socket(socket.AF_UNIX)
                peer.setblocking(False)
                held.append(peer)
                peer.connect(one.getsockname())
    os.write(tells, b"ready\n")
    poll = select.poll()
    for one in [ends, *([] if silent else listeners)]:
        poll.register(one, select.POLLIN)
    by_number = {one.fileno(): one for one in listeners}
    while True:
        for number, _ in poll.poll():
            if number == ends:
                os._exit(0)  # and all that it holds is closed
            if by_number.get(number):
                peer, _ = by_number[number].accept()
                held.append(peer)
                poll.register(peer, select.POLLIN)
                with contextlib.suppress(OSError):
                    peer.sendall(bytes([8, 0, 0, 0, 1, 0, 1, 1, 1, 2, 1, 1]))
            else:
                said = b""
                with contextlib.suppress(OSError):
                    said = os.read(number, 4096)
                poll.unregister(number)
                if said:
                    os.write(tells, b"heard " + said.hex().encode() + b"\n")


class Squatters:
    def __init__(self, test, pids, silent):
        self.told, tells = os.pipe()
        ends, self.hold = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.hold)
                squat(pids, silent, tells, ends)
            finally:
                traceback.print_exc()
                os._exit(1)
        os.close(tells)
        os.close(ends)
        self.said = b""
        test.addCleanup(self.leave)
        self.said = read_until(self.told, "that it is ready", lambda text: b"ready\n" in text)

    def leave(self):
        """What was said to it."""
        if self.pid != 0:
            os.close(self.hold)
            os.waitpid(self.pid, 0)
            self.pid = 0
            self.said = read_until(self.told, "", so_far=self.said, ends=True)
            os.close(self.told)
        return self.said.partition(b"ready\n")[2]


class SquattersAtTheNames(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        if os.getuid() != 0:
            heaptap_test.skip_what_is_missing("only root can be several users")
        self.directory.chmod(0o777)
        self.taken = pathlib.Path(f"/tmp/heaptap-{USER}")
        shutil.rmtree(self.taken, ignore_errors=True)
        self.addCleanup(shutil.rmtree, self.taken, ignore_errors=True)

    def start(self, *words, user=0):
        environment = {**os.environ, "HOME": str(self.directory)}
        environment.pop("XDG_RUNTIME_DIR", None)
        process = subprocess.Popen([HEAPTAP, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.directory,
                                   env=environment, preexec_fn=(lambda: become(user)) if user else None)
        self.addCleanup(process.communicate)
        return process

    def sleeper(self, user=0):
        """Recorded; its pid, and heaptap."""
        process = self.start("run", "-q", "-o", self.trace, "--", built("sleeper"), user=user)
        process.stdout.readline()
        return heaptap_test.descendants(process.pid)[0], process

    def ask(self, *words, user=0):
        process = self.start(*words, user=user)
        _, errors = finished(process, b"")
        return process.returncode, errors.decode()

    def ask_fast(self, *words, user=0):
        took_s = []
        for _ in range(TRIES):
            began = time.monotonic()
            answer = self.ask(*words, user=user)
            took_s.append(time.monotonic() - began)
            if took_s[-1] < A_FRACTION_S:
                return answer
        self.fail(f"takes {took_s} s each time: {answer}")

    def check_asked(self, pid, user=0):
        for words in (("leaks", pid), ("mark", pid, "here"), ("console", pid)):
            status, errors = self.ask(*map(str, words), user=user)
            self.assertEqual((status, errors), (0, ""), words)

    def squat_next(self, silent=False):
        here = heaptap_test.run(["sh", "-c", "echo $$"])
        next_pid = int(here.stdout) + 1
        return Squatters(self, range(next_pid, next_pid + MANY), silent)

    def end(self, process, status=9):
        _, errors = finished(process)
        self.assertEqual(process.returncode, status, errors)
        return errors.decode()

    def test_root_is_answered_by_its_own_recorder(self):
        for silent in (False, True):
            with self.subTest(silent=silent):
                squatters = self.squat_next(silent)
                pid, process = self.sleeper()
                self.check_asked(pid)
                self.assertEqual(self.end(process), "")
                self.assertEqual(squatters.leave(), b"")
                self.assertEqual(summary(self.trace)["marks"][0]["name"], "here")
                self.trace.unlink()

    def test_so_is_another_user(self):
        squatters = self.squat_next()
        pid, process = self.sleeper(USER)
        self.check_asked(pid, USER)
        self.assertEqual(self.end(process), "")
        self.assertEqual(squatters.leave(), b"")

    def test_an_attached_process(self):
        target = subprocess.Popen([built("sleeper")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(target.communicate)
        target.stdout.readline()
        squatters = Squatters(self, [target.pid], silent=False)
        process = self.start("attach", "-o", self.trace, str(target.pid))
        said = read_until(process.stderr.fileno(), "that it records", lambda text: b"Ctrl-C detaches" in text)
        self.assertNotIn(b"can't connect to it", said)
        self.check_asked(target.pid)
        process.terminate()
        self.end(process, 0)
        self.assertEqual(squatters.leave(), b"")

    def test_nobody_believes_one_whose_process_is_not_recorded(self):
        for silent in (False, True):
            squatters = Squatters(self, [os.getpid()], silent)
            for user in (0, USER):
                with self.subTest(silent=silent, user=user):
                    status, errors = self.ask_fast("mark", str(os.getpid()), "here", user=user)
                    self.assertEqual(status, 125)
                    self.assertIn("is not being recorded", errors)
                    if not silent:
                        self.assertIn(f"process {squatters.pid} of user {SQUATTER} listens under its name, and is not trusted", errors)
                    status, errors = self.ask_fast("console", user=user)
                    self.assertNotIn(str(os.getpid()), errors)
            self.assertEqual(squatters.leave(), b"")

    def test_where_nobody_can_ask_it_is_said_and_recorded(self):
        squatters = self.squat_next()
        self.taken.mkdir(mode=0o700)
        os.chown(self.taken, SQUATTER, SQUATTER)
        pid, process = self.sleeper(USER)
        status, errors = self.ask_fast("leaks", str(pid), user=USER)
        self.assertEqual(status, 125)
        self.assertIn(f"process {pid} is not being recorded", errors)
        process.stdin.write(b"x\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"line\n")
        errors = self.end(process)
        self.assertIn(f"heaptap: process {pid} is recorded, but leaks, top, mark and console can't connect to it", errors)
        self.assertIn(f"the name @heaptap.recording.{pid} is taken by another process", errors)
        self.assertTrue(summary(self.trace)["capture"]["complete"])
        self.assertEqual(squatters.leave(), b"")

    def test_where_a_directory_is_another_users_the_abstract_name_is_enough(self):
        self.taken.mkdir(mode=0o700)
        os.chown(self.taken, SQUATTER, SQUATTER)
        pid, process = self.sleeper(USER)
        self.check_asked(pid, USER)
        self.assertEqual(self.end(process), "")
        self.assertEqual(os.listdir(self.taken), [])

    def test_root_tells_another_users_recorder_nothing(self):
        pid, process = self.sleeper(USER)
        for words in (("leaks", pid), ("mark", pid, "by root")):
            status, errors = self.ask(*map(str, words))
            self.assertNotEqual(status, 0, words)
            self.assertIn(f"process {pid} is recorded by another user ({USER}): run this as that user", errors)
        self.assertEqual(self.end(process), "")
        self.assertEqual(summary(self.trace).get("marks", []), [])

    def test_a_recorder_that_was_killed_leaves_nothing_that_is_believed(self):
        target = subprocess.Popen([built("sleeper")], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(target.communicate)
        target.stdout.readline()
        process = self.start("attach", "-o", self.trace, str(target.pid))
        read_until(process.stderr.fileno(), "that it records", lambda text: b"Ctrl-C detaches" in text)
        process.kill()
        ended(process)
        status, errors = self.ask_fast("mark", str(target.pid), "name")
        self.assertEqual(status, 125)
        self.assertIn("is not being recorded", errors)
        again = self.start("attach", "--force", "-o", self.trace, str(target.pid))
        read_until(again.stderr.fileno(), "that it records", lambda text: b"Ctrl-C detaches" in text)
        self.check_asked(target.pid)
        again.terminate()
        self.end(again, 0)


if __name__ == "__main__":
    alone = ["unshare", "--net"]
    if "HEAPTAP_TEST_IS_ALONE" not in os.environ and os.getuid() == 0 and shutil.which("unshare") \
            and subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        os.environ["HEAPTAP_TEST_IS_ALONE"] = "1"
        os.execvp(alone[0], [*alone, sys.executable, *sys.argv])
    unittest.main()
