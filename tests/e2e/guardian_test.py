"""The guardian, whose end would be the end of what it traces: what ends other processes spares it."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from attach_test import Attached, Obeying
from heaptap_test import summary

NOBODY = 65534


def field(pid, name, file="status"):
    lines = pathlib.Path(f"/proc/{pid}/{file}").read_text().splitlines()
    return next(line for line in lines if line.startswith(name))[len(name):].strip(": \t")


def may_raise_limits():
    return int(field("self", "CapEff"), 16) >> 24 & 1


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Guardian(heaptap_test.TestCase):
    def attach(self, *options, target=None, **more):
        target = target or Obeying(self)
        attached = Attached(self, "-o", self.trace, "--force", *options, target.pid, **more)
        return target, attached, int(field(target.pid, "TracerPid"))

    def ends_well(self, target, attached):
        self.assertEqual(target.tell("pairs", 20), "pairs 0")
        outcome = attached.stop()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(target.tell("pairs", 7), "pairs 0")
        self.assertEqual(target.finish(), 0)
        return summary(self.trace)

    def test_it_has_no_name_that_others_are_ended_by(self):
        target, attached, guardian = self.attach()
        command = pathlib.Path(f"/proc/{guardian}/cmdline").read_bytes()
        self.assertNotIn(b"heaptap", command)
        self.assertIn(b"htap-guardian", command)
        self.assertNotIn("heaptap", field(guardian, "Name"))
        self.ends_well(target, attached)

    def test_signals_do_not_end_it(self):
        target, attached, guardian = self.attach()
        for number in range(1, signal.SIGRTMAX + 1):
            name = getattr(signal.Signals(number), "name", "") if number in set(signal.Signals) else "real-time"
            if name in ("SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGTRAP", "SIGSYS"):
                continue
            if number in (32, 33):  # the C library's own
                continue
            os.kill(guardian, number)
        self.assertEqual(self.ends_well(target, attached)["totals"]["allocations"], 20)

    @unittest.skipUnless(may_raise_limits(), "needs the right to raise limits (CAP_SYS_RESOURCE)")
    def test_as_root_it_has_no_limits_and_is_ended_last(self):
        def limit():
            for what, most in ((resource.RLIMIT_CPU, 60), (resource.RLIMIT_FSIZE, 1 << 30), (resource.RLIMIT_NOFILE, 256)):
                resource.setrlimit(what, (most, most))
        target, attached, guardian = self.attach(preexec_fn=limit)
        for name in ("Max cpu time", "Max file size", "Max address space", "Max data size"):
            self.assertEqual(field(guardian, name, "limits").split()[:2], ["unlimited", "unlimited"], name)
        self.assertGreater(int(field(guardian, "Max open files", "limits").split()[0]), 256)
        self.assertEqual(pathlib.Path(f"/proc/{guardian}/oom_score_adj").read_text().strip(), "-1000")
        self.ends_well(target, attached)

    def as_nobody(self, seconds):
        """What a child does before it executes heaptap or the target."""
        def become():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            if seconds:
                resource.setrlimit(resource.RLIMIT_CPU, (1, seconds))
                resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 29, 1 << 30))
        return become

    def targets_of_nobody(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        os.chmod(self.directory, 0o777)
        reachable = subprocess.run([heaptap_test.HEAPTAP, "--version"], preexec_fn=self.as_nobody(0), capture_output=True)
        if reachable.returncode != 0:
            self.skipTest("heaptap lies where other users can't reach it")
        return Obeying(self, preexec_fn=self.as_nobody(0))

    def test_a_limit_that_it_cannot_raise_makes_it_let_go_in_time(self):
        target, attached, guardian = self.attach(target=self.targets_of_nobody(), preexec_fn=self.as_nobody(60))
        self.assertEqual(field(guardian, "Max cpu time", "limits").split()[:2], ["58", "60"])
        self.assertEqual(field(guardian, "Max file size", "limits").split()[:2], [str(1 << 30)] * 2)
        self.assertEqual(target.tell("pairs", 20), "pairs 0")
        os.kill(guardian, signal.SIGXCPU)  # as the kernel does then
        outcome = attached.wait()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(target.tell("pairs", 7), "pairs 0")
        self.assertEqual(target.finish(), 0)
        self.assertTrue(any("ulimit -t" in note for note in heaptap_test.notes_of(summary(self.trace))))

    def test_without_memory_it_lets_go(self):
        target, attached, guardian = self.attach()
        self.assertEqual(target.tell("pairs", 20), "pairs 0")
        size = int(field(guardian, "VmSize").split()[0]) << 10
        resource.prlimit(guardian, resource.RLIMIT_AS, (size, size))
        self.assertEqual(target.tell("threads", 1000), "threads 0")
        self.assertEqual(field(target.pid, "TracerPid"), "0", "it had memory for all")
        outcome = attached.wait()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(target.tell("pairs", 7), "pairs 0")
        self.assertEqual(target.finish(), 0)
        report = summary(self.trace)
        self.assertGreater(report["totals"]["allocations"], 20)
        for words in ("the tracer failed", "later events are missing"):
            self.assertTrue(any(words in note for note in heaptap_test.notes_of(report)), report["capture"])

    def test_a_program_that_may_not_be_read_goes_on_by_itself(self):
        self.targets_of_nobody().finish()
        program = self.directory / "unreadable"
        shutil.copy("/bin/echo", program)
        program.chmod(0o711)
        command = [heaptap_test.HEAPTAP, "run", "-q", "--via", "ptrace", "-e", "-o", self.trace, "--", "sh", "-c", f"exec {program} works"]
        outcome = subprocess.run(command, preexec_fn=self.as_nobody(0), capture_output=True, timeout=60)
        self.assertEqual((outcome.returncode, outcome.stdout), (0, b"works\n"), outcome)
        notes = heaptap_test.notes_of(summary(self.trace))
        self.assertTrue(any("can't be read here: Permission denied" in note for note in notes), notes)
        self.assertFalse(any("had to detach" in note for note in notes), notes)

    def test_where_it_would_end_at_once_nothing_is_traced(self):
        target = self.targets_of_nobody()
        command = [heaptap_test.HEAPTAP, "attach", "-o", self.trace, str(target.pid)]
        outcome = subprocess.run(command, preexec_fn=self.as_nobody(3), capture_output=True, timeout=60)
        self.assertEqual(outcome.returncode, 125, outcome)
        self.assertIn(b"ulimit -t", outcome.stderr)
        self.assertEqual(target.tell("pairs", 7), "pairs 0")
        self.assertEqual(target.finish(), 0)


if __name__ == "__main__":
    unittest.main()
