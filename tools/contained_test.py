#!/usr/bin/env python3
"""What contained.py leaves of a command: nothing. A process is alive as long as it holds the writing end of a pipe."""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

import contained

# The command, what it started, and what that put into a session of its own.
FAMILY = "(setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' & echo started; exec sleep 1000) & wait"


class Contained(unittest.TestCase):
    def setUp(self):
        self.alive, self.ended = os.pipe()
        self.addCleanup(os.close, self.alive)

    def start(self, *command, before=(), **options):
        process = subprocess.Popen([*before, sys.executable, contained.__file__, *command], pass_fds=[self.ended], stdout=subprocess.PIPE,
                                   text=True, **options)
        self.addCleanup(process.stdout.close)
        os.close(self.ended)
        return process

    def assert_nothing_is_left(self):
        self.assertEqual(os.read(self.alive, 1), b"")

    def test_the_status_is_the_commands(self):
        for script, status in (("exit 7", 7), ("kill -9 $$", 137)):
            with self.subTest(script):
                self.assertEqual(subprocess.run([sys.executable, contained.__file__, "sh", "-c", script], check=False).returncode, status)

    def test_a_command_that_is_none(self):
        done = subprocess.run([sys.executable, contained.__file__, "/no/such/program"], check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (127, "contained: can't run /no/such/program: No such file or directory\n"))

    def test_nothing_is_left_when_the_command_ends(self):
        process = self.start("sh", "-c", FAMILY.replace("wait", "exit 3"))
        self.assertEqual(process.wait(), 3)
        self.assert_nothing_is_left()

    def test_nothing_is_left_when_it_is_told_to_end(self):
        process = self.start("sh", "-c", FAMILY)
        self.assertEqual(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        self.assert_nothing_is_left()

    def test_nothing_is_left_when_its_starter_is_killed_with_its_group(self):
        process = self.start("sh", "-c", FAMILY, before=["sh", "-c", '"$@" & wait', "sh"], start_new_session=True)
        self.assertEqual(process.stdout.readline(), "started\n")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assert_nothing_is_left()

    def test_nothing_is_left_of_a_stopped_process(self):
        process = self.start("sh", "-c", "sleep 1000 & kill -STOP $!; echo started; wait")
        self.assertEqual(process.stdout.readline(), "started\n")
        process.terminate()
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
