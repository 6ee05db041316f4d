"""A program that has loaded a library from a file system which it serves itself (FUSE): whatever heaptap does with it, and however long
nobody answers for that file, the program goes on, and so does heaptap."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, summary
from waiting import descendants, ended, wait_for


class Served(heaptap_test.TestCase):
    def start(self, server, *before):
        folder = self.folder / "served"
        folder.mkdir()
        program = subprocess.Popen([*before, built("served_library"), server, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(self.end, program)
        first = program.stdout.readline()
        if first == "no FUSE\n":
            heaptap_test.skip_what_is_missing("file systems of programs (FUSE) can't be mounted here",
                                              "modprobe fuse, and run as root (a container: --device /dev/fuse --cap-add SYS_ADMIN)")
        self.assertEqual(first, "loaded\n")
        return program

    @staticmethod
    def end(program):
        heaptap_test.end(program)
        program.communicate()

    def step(self, program):
        program.stdin.write("go\n")
        program.stdin.flush()
        return program.stdout.readline()

    def runs_to_its_end(self, program):
        self.assertEqual(self.step(program), "answers\n")
        self.assertEqual(self.step(program), "done\n")
        self.assertEqual(ended(program), 0)

    def attached_to_a_silent_one(self, server):
        program = self.start(server)
        self.assertEqual(self.step(program), "silent\n")
        return program, subprocess.Popen([HEAPTAP, "attach", "-o", self.trace, str(program.pid)], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_attached_to_while_nobody_answers_it_goes_on(self):
        for server in ("thread", "process"):
            with self.subTest(server):
                self.setUp()
                program, attached = self.attached_to_a_silent_one(server)
                self.addCleanup(self.end, attached)
                self.runs_to_its_end(program)
                ended(attached)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_it_goes_on_when_heaptap_is_killed(self):
        program, attached = self.attached_to_a_silent_one("process")
        status = pathlib.Path(f"/proc/{program.pid}/status")
        wait_for("it is traced", lambda: "TracerPid:\t0\n" not in status.read_text(), state=program)
        attached.kill()
        attached.wait()
        self.runs_to_its_end(program)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_loaded_under_ptrace_by_a_server_that_allocates(self):
        program = self.start("thread", HEAPTAP, "run", "-q", "--via", "ptrace", "-o", self.trace, "--")
        self.assertEqual(self.step(program), "silent\n")
        self.runs_to_its_end(program)

    def test_a_look_that_holds_the_server_is_given_up(self):
        program = self.start("thread", HEAPTAP, "run", "-q", "-o", self.trace, "--")
        self.assertEqual(self.step(program), "silent\n")
        self.runs_to_its_end(program)
        notes = heaptap_test.notes_of(summary(self.trace))
        self.assertTrue(any("which another program or a file system has to bring, didn't come in 2 s" in note for note in notes), notes)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_a_look_by_ptrace_while_nobody_answers(self):
        program = self.start("process", HEAPTAP, "run", "-q", "--via", "ptrace", "-o", self.trace, "--")
        self.assertEqual(self.step(program), "silent\n")
        recorded = next(pid for pid in descendants(program.pid) if heaptap_test.executable(pid).endswith("served_library"))
        outcome = heaptap("leaks", recorded)
        self.assertIn(b"which another program or a file system has to bring, didn't come in 2 s", outcome.stderr, str(outcome))
        self.runs_to_its_end(program)


if __name__ == "__main__":
    unittest.main()
