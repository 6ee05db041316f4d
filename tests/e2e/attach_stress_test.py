# CTEST PROCESSORS 2
"""Attaches by ptrace to a program that does all at once (tests/targets/processes/busy.c), and lets it go or dies: the program goes on
as it was, with its code, mappings, signals and outcomes. HEAPTAP_LONG=1: a thousand times, killed two hundred times."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import debug_registers
import expectations
import heaptap_test
from heaptap_test import HEAPTAP, LONG, TARGETS, summary
from process_image import Image, code_of_files, status, threads, tracers
from waiting import at_any_moment, ended, finished, wait_for

ROUNDS = 1000 if LONG else 30
KILLS = 200 if LONG else 15


class Busy:
    """The program, until it is asked to end."""

    def __init__(self, test, variant="", *arguments):
        path = TARGETS / variant / "busy"
        if not path.exists():
            heaptap_test.skip_what_is_missing(f"{path} was not built")
        self.process = subprocess.Popen([heaptap_test.runnable(path), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        test.addCleanup(self._end)
        self.pid = self.process.pid
        test.assertEqual(self.process.stdout.readline(), b"ready\n")
        self.image = Image(self.pid, threads(self.pid)[:12])

    def _end(self):
        heaptap_test.end(self.process)
        self.process.communicate()

    def finish(self):
        """Its status and what it says of itself."""
        out, _ = finished(self.process, b"end\n")
        return self.process.returncode, out


class AttachStress(heaptap_test.TestCase):
    def attach(self, pids, seconds):
        words = [word for pid in pids for word in ("-p", str(pid))]
        return heaptap_test.heaptap("attach", "--via", "ptrace", "-q", "--no-leak-scan", "--force", "-o",
                                    self.directory / "%p.htap", "--duration", f"{int(seconds * 1000)}ms", *words)

    def assert_as_before(self, busy, after):
        found = []
        try:
            found = busy.image.differences()
        except OSError:
            ended(busy.process)  # it has ended
        code = busy.process.poll()
        if code is not None:
            self.fail(f"{after}: the program ended with {code}: {busy.process.stdout.read()}")
        self.assertEqual(found, [], after)

    def assert_ends_well(self, busy):
        self.assert_as_before(busy, "at the end")
        if debug_registers.known():
            # Not of those that wait with limits: this look interrupts them.
            for thread in [*threads(busy.pid)[:4], *threads(busy.pid)[-2:]]:
                self.assertEqual(debug_registers.addresses(thread)[1] & 0xFF, 0, f"debug registers of thread {thread} are set")
        self.assertEqual(busy.finish(), (0, b"all is well\n"))

    def assert_trace_is_true(self, pid):
        report = summary(self.directory / f"{pid}.htap")
        self.assertEqual(list(expectations.conservation(report)), [])
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assertFalse(report["capture"]["truncated"], report["capture"])
        totals = report["totals"]
        # Of a call that was under way at the attach only the block's release is seen: one a thread at most.
        self.assertLessEqual(totals["bad_frees"] + totals["double_frees"], 12)
        self.assertEqual(totals["mismatched_frees"], 0)
        return totals["allocations"]

    def rounds(self, variant, count):
        busy, chance, allocations = Busy(self, variant), random.Random(count), 0
        for number in range(count):
            is_looked_at = number % 10 == 0
            self.attach_once(busy, number, 0.1 if is_looked_at else chance.choice((0, 0.01, 0.05, 0.1)))
            if is_looked_at:
                allocations += self.assert_trace_is_true(busy.pid)
        for seconds in (1, 10, 60):  # where others use the processors, it may not have come to anything
            if allocations == 0:
                self.attach_once(busy, count, seconds)
                allocations = self.assert_trace_is_true(busy.pid)
        self.assertGreater(allocations, 0)
        self.assert_ends_well(busy)

    def attach_once(self, busy, number, seconds):
        outcome = self.attach([busy.pid], seconds)
        self.assertEqual(outcome.status, 0, f"round {number}: {outcome}")
        self.assert_as_before(busy, f"round {number}")

    def test_attach_and_detach_leave_it_as_it_was(self):
        self.rounds("", ROUNDS)

    def test_so_with_static_and_32_bit_programs(self):
        for variant in ("static64", "dynamic32", "musl_static"):
            with self.subTest(variant=variant):
                self.rounds(variant, ROUNDS // 10)

    def test_threads_that_come_and_go(self):
        busy = Busy(self, "", "threads")
        for number in range(ROUNDS):
            outcome = self.attach([busy.pid], 0.01)
            self.assertEqual(outcome.status, 0, f"round {number}: {outcome}")
            self.assert_as_before(busy, f"round {number}")
        self.assertEqual(busy.finish(), (0, b"all is well\n"))

    @unittest.skipUnless(debug_registers.known(), "the program is of x86-64")
    def test_timer_signals_at_every_kind_of_first_instruction(self):
        ticks = 10000 if LONG else 2000
        process = subprocess.Popen([TARGETS / "first_instructions", str(ticks)], stdout=subprocess.PIPE)
        recorded = 0
        while process.poll() is None:
            recorded += self.attach([process.pid], 0.1).status == 0
        self.assertEqual((process.wait(), process.communicate()[0]), (0, b"7 of 7 blocks, ticks as wanted\n"))
        self.assertGreater(recorded, 0)

    def test_a_correct_cpp_program_is_accused_of_nothing(self):
        process = subprocess.Popen([TARGETS / "container_threads"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        for number in range(200 if LONG else 8):
            outcome = self.attach([process.pid], 0.1)
            self.assertEqual(outcome.status, 0, f"round {number}: {outcome}")
            report = summary(self.directory / f"{process.pid}.htap")
            self.assertGreater(report["totals"]["allocations"], 0)
            found = {kind: report["totals"][kind] for kind in ("mismatched_frees", "bad_frees", "double_frees")}
            self.assertEqual(found, dict.fromkeys(found, 0), f"round {number}: {report['errors']}")
        self.assertEqual((finished(process, b"end\n")[0], process.returncode), (b"ended\n", 0))

    def test_several_at_once(self):
        programs = [Busy(self) for _ in range(3)]
        for number in range(ROUNDS // 10):
            outcome = self.attach([busy.pid for busy in programs], 0.05)
            self.assertEqual(outcome.status, 0, f"round {number}: {outcome}")
            for busy in programs:
                self.assert_as_before(busy, f"round {number}")
        for busy in programs:
            self.assert_trace_is_true(busy.pid)
            self.assert_ends_well(busy)

    def test_heaptap_killed_at_any_moment(self):
        busy, chance = Busy(self), random.Random(7)
        for number in range(KILLS):
            heaptap = subprocess.Popen([HEAPTAP, "attach", "--via", "ptrace", "-q", "--force", "-o", self.trace, "-p", str(busy.pid)],
                                       stderr=subprocess.PIPE)
            at_any_moment(chance, 0.4, 2)
            heaptap.kill()
            heaptap.communicate()
            self.assert_as_before(busy, f"killed {number} times")
        self.assert_ends_well(busy)

    def test_heaptap_killed_that_has_started_the_program(self):
        as_it_is = code_of_files(Busy(self).pid)
        for number in range(KILLS // 5):
            heaptap = subprocess.Popen([HEAPTAP, "run", "--via", "ptrace", "-q", "--force", "-o", self.trace, "--", TARGETS / "busy"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(heaptap_test.end, heaptap)
            self.assertEqual(heaptap.stdout.readline(), b"ready\n")
            program = next(pid for pid in heaptap_test.descendants(heaptap.pid) if heaptap_test.executable(pid).endswith("/busy"))
            heaptap.kill()
            wait_for(f"nobody traces it, killed {number} times", lambda: not tracers(program), state=program)
            self.assertEqual(code_of_files(program), as_it_is)
            self.assertEqual(finished(heaptap, b"end\n")[0], b"all is well\n")

    def test_a_stopped_program_stays_stopped(self):
        # SIGSTOP and SIGCONT alone end waits that have a time limit (signal(7)).
        busy = Busy(self, "", "calm")
        os.kill(busy.pid, signal.SIGSTOP)
        wait_for("it is stopped", lambda: status(busy.pid, busy.pid)["State"][0] == "T", state=busy.pid)
        outcome = self.attach([busy.pid], 0.05)
        self.assertEqual(outcome.status, 0, str(outcome))
        # The kernel wakes it for the moment that it takes to stop by itself again.
        wait_for("it is stopped, and nobody's", lambda: status(busy.pid, busy.pid)["State"].startswith("T "), state=busy.pid)
        os.kill(busy.pid, signal.SIGCONT)
        self.assert_ends_well(busy)


if __name__ == "__main__":
    unittest.main()
