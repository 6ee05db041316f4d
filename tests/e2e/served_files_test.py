"""A program that has loaded a library from a file system which it serves itself (FUSE): whatever heaptap does with it, and however long
nobody answers for that file, the program goes on, and so does heaptap, which says what it gives up."""
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import far
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, summary
from waiting import descendants, ended, wait_for

AGENT = pathlib.Path(HEAPTAP).resolve().parent / "libheaptap_agent.so"

NO_FUSE = ("file systems of programs (FUSE) can't be mounted here",
           "modprobe fuse, and run as root (a container: --device /dev/fuse --cap-add SYS_ADMIN)")


class Served(heaptap_test.SteppedTestCase):
    def setUp(self):
        super().setUp()
        self.errors = self.directory / "errors"

    def serve(self, server, *before, is_read=False):
        """Under heaptap, if that stands before it, whose errors are kept. is_read: heaptap has looked at the file when the server falls
        silent, and won't again: what it reads later is in the kernel's cache, so that nobody has to wait for it."""
        directory = self.directory / "served"
        directory.mkdir()
        script = f'exec "$@" 2>> {self.errors}'
        program = self.start("loaded", "/bin/sh", "-c", script, "sh", *before, built("served_library"), server, directory, state=[self.errors],
                             missing={"no FUSE": NO_FUSE})
        if is_read:
            for _ in range(2):  # between two answers it does once all that it does
                marked = heaptap("mark", self.recorded_by(program), "now")
                self.assertEqual(marked.status, 0, str(marked))
        self.step(program, "silent")
        return program

    @staticmethod
    def recorded_by(program):
        return next(pid for pid in descendants(program.pid) if heaptap_test.executable(pid).endswith("served_library"))

    def heaptap(self, *words):
        with self.errors.open("ab") as errors:
            process = subprocess.Popen([HEAPTAP, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                       cwd=self.directory)
        self.addCleanup(self.end, process)
        self.state.append(process)
        return process

    def runs_to_its_end(self, program):
        self.step(program, "works", "answers", "done")
        self.assertEqual(ended(program, state=self.state), 0, self.errors.read_text())

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_attached_to_while_nobody_answers_it_goes_on(self):
        for server in ("thread", "process"):
            with self.subTest(server):
                self.setUp()
                program = self.serve(server)
                attached = self.heaptap("attach", "-o", self.trace, program.pid)
                self.runs_to_its_end(program)
                ended(attached, state=self.errors)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_it_goes_on_when_heaptap_is_killed(self):
        program = self.serve("process")
        attached = self.heaptap("attach", "-o", self.trace, program.pid)
        status = pathlib.Path(f"/proc/{program.pid}/status")
        wait_for("it is traced", lambda: "TracerPid:\t0\n" not in status.read_text(), state=self.state)
        attached.kill()
        self.runs_to_its_end(program)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_loaded_under_ptrace_by_a_server_that_allocates(self):
        program = self.serve("thread", HEAPTAP, "run", "-q", "--via", "ptrace", "-o", self.trace, "--")
        self.runs_to_its_end(program)

    def test_a_look_that_holds_the_server_is_given_up(self):
        program = self.serve("thread", HEAPTAP, "run", "-q", "-o", self.trace, "--", is_read=True)
        self.runs_to_its_end(program)
        notes = heaptap_test.notes_of(summary(self.trace))
        self.assertTrue(any("which another program or a file system has to provide, didn't arrive within 2 s" in note for note in notes), notes)

    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_a_look_by_ptrace_while_nobody_answers(self):
        program = self.serve("process", HEAPTAP, "run", "-q", "--via", "ptrace", "-o", self.trace, "--", is_read=True)
        outcome = heaptap("leaks", self.recorded_by(program))
        self.assertIn(b"which another program or a file system has to provide, didn't arrive within 2 s", outcome.stderr, str(outcome))
        self.runs_to_its_end(program)

    def test_the_collector_gives_up_what_does_not_come(self):
        program = self.serve("process", HEAPTAP, "run", "-q", "-f", "-o", self.trace, "--", is_read=True)
        self.step(program, "works")
        self.errors_have(rb"gave up on")  # of the child that was made meanwhile, which has mapped the file as well
        self.step(program, "answers", "done")
        self.assertEqual(ended(program, state=self.state), 0, self.errors.read_text())
        said = self.errors.read_text()
        self.assertRegex(said, r"waiting for \S+/library\.so: its file system \(fuse\) doesn't respond")
        self.assertRegex(said, r"gave up on \S+/library\.so: its file system \(fuse\) doesn't respond")
        reports = [summary(trace) for trace in self.directory.glob("trace*.htap")]
        self.assertEqual(sorted(allocations_of(report, "work_in_silence") for report in reports), [0, 10, 10])
        for report in reports:
            notes = heaptap_test.notes_of(report)
            self.assertTrue(any("library.so: its file system (fuse) didn't respond" in note for note in notes), notes)
            self.assertEqual((report["capture"]["lost_events"], report["capture"]["truncated"]), (0, False))

    def test_a_reader_says_what_it_waits_for(self):
        self.reads("show", "summary")

    def test_a_command_line_that_is_read_says_what_it_waits_for(self):
        """Whether the word is a view or a trace is seen from the file."""
        self.reads("show")

    def reads(self, *command):
        program = self.serve("process")
        with self.errors.open("ab") as errors:
            reader = subprocess.Popen(["nsenter", f"--mount=/proc/{program.pid}/ns/mnt", HEAPTAP, *command, self.directory / "served/library.so"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd="/")
        self.addCleanup(self.end, reader)
        self.errors_have(rb"waiting for \S+/library\.so: its file system \(fuse\) doesn't respond")
        self.runs_to_its_end(program)
        ended(reader)

    def test_what_keeps_it_from_exiting_is_said(self):
        log = pathlib.Path(f"{self.trace}.log")
        program = self.serve("process", "env", f"LD_PRELOAD={AGENT}", f"HEAPTAP_OUTPUT={self.trace}", f"HEAPTAP_COLLECTOR={HEAPTAP}", is_read=True)
        self.step(program, "works")
        self.state.append(log)
        wait_for("the file is given up", lambda: b"gave up on" in log.read_bytes(), state=self.state)
        self.assertEqual(heaptap("console", program.pid, "-x", "detach").status, 0)
        says = rb"still waiting for \S+/library\.so: if heaptap doesn't exit, end the program that serves its file system, or write 1 to /sys/fs/fuse/connections/\d+/abort"
        wait_for("the file is named at the end", lambda: re.search(says, log.read_bytes()), state=self.state)
        self.step(program, "answers", "done")
        self.assertEqual(ended(program, state=self.state), 0)

    def test_the_target_says_what_it_waits_for(self):
        program = self.serve("process")
        with self.errors.open("ab") as errors:
            target = subprocess.Popen(["nsenter", f"--mount=/proc/{program.pid}/ns/mnt", far.HEAPTAP_TARGET, "record", "-q", "-o", self.directory / "far.rec",
                                       "--", self.directory / "served/library.so"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, cwd="/")
        self.addCleanup(self.end, target)
        self.errors_have(rb"heaptap-target: waiting for \S+/library\.so: its file system \(fuse\) doesn't respond")
        self.runs_to_its_end(program)
        ended(target)

    def errors_have(self, pattern):
        wait_for(f"heaptap says '{pattern.decode()}'", lambda: re.search(pattern, self.errors.read_bytes()), state=self.state)


def allocations_of(report, function):
    return sum(stack["allocations"] for stack in report["stacks"] if any(frame["function"] == function for frame in stack["frames"]))


if __name__ == "__main__":
    unittest.main()
