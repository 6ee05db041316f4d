"""What goes wrong on heaptap's side, or kills the program, does no harm: the program ends as it would, in bounded time,
and what was recorded can be read."""
import os
import pathlib
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import far
import heaptap_test
from heaptap_test import built, heaptap, summary
from waiting import describe, ended, finished, has_ended, read_until, until_it_waits, wait_for

FIRST = "stack function=malloc caller=first allocations=1000 frees=500 allocated_bytes=100000 live_blocks=500"


class Steered(heaptap_test.TestCase):
    """A target that runs while the test does something to it or to heaptap."""

    def start(self, name, *options, arguments=(), env=os.environ, **popen):
        self.marker = f"{os.getpid()}-{time.monotonic_ns()}"
        command = [heaptap_test.HEAPTAP, "run", "-o", self.trace, *options, "--", built(name), *arguments]
        self.name = name
        self.errors = tempfile.TemporaryFile()
        self.addCleanup(self.errors.close)
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        env={**env, "HEAPTAP_TEST_MARKER": self.marker}, cwd=self.directory, **popen)
        self.addCleanup(self.clean_up)
        self.received = b""
        self.expect(b"ready")

    def clean_up(self):
        for pid in self.running():
            try:
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        heaptap_test.end(self.process)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def expect(self, word, times=1):
        """Reads the target's output until the word is there so many times."""
        self.received = read_until(self.process.stdout.fileno(), f"{word!r}, {times} times", lambda text: text.count(word) >= times,
                                   state=[self.process, self.said], so_far=self.received)

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def status(self):
        return heaptap_test.shell_status(ended(self.process, state=self.said))

    def running(self):
        """The processes of this test, found by a variable in their environment."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if self.marker.encode() in pathlib.Path(f"/proc/{entry}/environ").read_bytes():
                        found.append(int(entry))
                except OSError:
                    pass
        return found

    @staticmethod
    def executable(pid):
        return os.path.basename(heaptap_test.executable(pid))

    def target(self):
        found = [pid for pid in self.running() if self.executable(pid) == self.name]
        self.assertEqual(len(found), 1, "one target runs")
        return found[0]

    def collectors(self):
        found = [pid for pid in self.running() if self.executable(pid) == os.path.basename(heaptap_test.HEAPTAP)]
        self.assertTrue(found, "heaptap runs")
        return found

    def assert_nothing_left(self):
        wait_for("no process is left behind", lambda: not self.running(), state=lambda: describe(self.running()))


class CollectorInTrouble(Steered):
    def test_killed(self):
        self.start("sleeper")
        for pid in self.collectors():
            os.kill(pid, signal.SIGKILL)
        self.send(b"x\n" * 40)
        self.expect(b"line\n", times=40)
        self.process.stdin.close()
        self.expect(b"end\n")
        self.assertIn(self.status(), (9, 137))
        self.assert_nothing_left()
        if self.trace.exists() and self.trace.stat().st_size:
            outcome = heaptap("show", "summary", "--json", self.trace)
            self.assert_no_crash(outcome)

    # The program makes no event from "ready" on: what it made is in the trace soon, and stays there.
    def test_killed_later_costs_nothing_of_before(self):
        self.start("sleeper", env=heaptap_test.sooner(write="20ms"))

        def has_all():
            shown = heaptap("show", "summary", "--json", self.trace)
            return shown.status == 0 and heaptap_test.read_report(shown.stdout)["totals"]["allocations"] >= 1000

        wait_for("all that was allocated is in the trace", has_all, state=[self.process, self.said])
        growing = heaptap("show", "summary", self.trace)
        self.assertEqual(growing.stdout.count(b"still being recorded: "), 1, growing)
        self.assertEqual(growing.stderr, b"", growing)
        for pid in self.collectors():
            os.kill(pid, signal.SIGKILL)
        self.process.stdin.close()
        self.expect(b"end\n")
        self.status()
        cut = heaptap("show", "summary", self.trace)
        self.assertEqual((cut.stdout + cut.stderr).count(b"incomplete: recording was interrupted; showing everything up to"), 1, cut)
        totals = heaptap_test.read_report(heaptap("show", "summary", "--json", self.trace).stdout)["totals"]
        self.assertGreaterEqual(totals["allocations"], 1000)

    def test_stopped(self):
        self.start("sleeper")
        stopped = self.collectors()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        lines = 40
        self.send(b"x\n" * lines)
        self.expect(b"line\n", times=lines)
        self.process.stdin.close()
        self.expect(b"end\n")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.status(), 9)
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report), [])
        shown = report["totals"]["allocations"] + report["totals"]["frees"]
        made = 1500 + 2 * 100000 * lines
        lost = report["capture"]["lost_events"]
        self.assertTrue(made <= shown + lost <= made + 100, f"made {made}, shown {shown}, lost {lost}")
        if lost:
            self.assertFalse(report["capture"]["complete"])
            self.assertIn("lost", self.said(), "the words at the end tell of what was lost")
        self.assert_nothing_left()

    def test_stopped_in_strict_mode(self):
        """A full log in a program that may make no system call costs it one pause, and then events, which are counted."""
        self.start("seccomp_log_full", "--log-memory", "512K", arguments=["steered"])
        stopped = self.collectors()
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        self.send(b"x")
        self.expect(b"still there\n")
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.status(), 4)
        self.assertGreater(summary(self.trace)["capture"]["lost_events"], 1000000)
        self.assert_nothing_left()

    def test_stopped_at_the_end_by_ptrace(self):
        """The program's end isn't held up by a heaptap that can't look at it."""
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap can't trace by ptrace")
        self.start("sleeper", "--via", "ptrace")
        target = self.target()
        os.kill(self.process.pid, signal.SIGSTOP)
        self.process.stdin.close()
        self.expect(b"end\n")
        self.process.stdin = open(os.devnull, "wb")
        wait_for("the program ends", lambda: has_ended(target), state=target)
        os.kill(self.process.pid, signal.SIGCONT)
        self.assertEqual(self.status(), 9)
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report), [])
        self.assertEqual(report["target"]["exit"]["code"], 9)
        self.assertFalse(report["leaks"]["scanned"])
        self.assert_nothing_left()

    def test_stopped_for_a_moment(self):
        self.start("sleeper")
        for _ in range(5):
            for pid in self.collectors():
                os.kill(pid, signal.SIGSTOP)
            self.send(b"x\n")
            self.expect(b"line\n")
            for pid in self.collectors():
                os.kill(pid, signal.SIGCONT)
        self.process.stdin.close()
        self.assertEqual(self.status(), 9)
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report), [])
        self.assertEqual(expectations.check("stack function=malloc caller=again allocations=500000 frees=500000", report), [])
        self.assertEqual(report["capture"]["lost_events"], 0)

    def test_disk_full(self):
        mount = self.directory / "small"
        mount.mkdir()
        if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(mount)], capture_output=True).returncode:
            self.skipTest("can't mount a small file system here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(mount)])
        trace = mount / "trace.htap"
        outcome = heaptap("run", "-o", trace, "--", built("noise"), "1000000", cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (0, b"1000000 steps\n"), str(outcome))
        self.assertIn(b"No space left", outcome.stderr, "the cause is named")
        self.assertEqual(outcome.stderr.count(b"No space left"), 1, "and named once")
        max_summary_lines = 14  # 6 of these where a frame was written that has blocks which are still live
        self.assertLessEqual(outcome.stderr.count(b"\n"), max_summary_lines)
        shown = heaptap("show", "summary", "--json", trace)
        self.assert_no_crash(shown)
        if shown.status == 0:
            report = summary(trace)
            self.assertTrue(report["capture"]["truncated"] or not report["capture"]["complete"])

    def test_directory_removed_meanwhile(self):
        directory = self.directory / "gone"
        directory.mkdir()
        self.trace = directory / "trace.htap"
        self.start("sleeper")
        for file in directory.iterdir():
            file.unlink()
        directory.rmdir()
        self.send(b"x\n")
        self.expect(b"line\n")
        self.process.stdin.close()
        self.expect(b"end\n")
        self.assertIn(self.status(), (9, 125))
        self.assert_nothing_left()

    def test_child_whose_trace_cannot_be_made_runs_on(self):
        directory = self.directory / "gone"
        for via in ("agent", "ptrace"):
            with self.subTest(via=via):
                directory.mkdir()
                script = f"rm -r {directory}; (eval 'x=1; y=$x$x'; exit 3); echo $?"
                outcome = heaptap("run", f"--via={via}", "-f", "-o", directory / "trace.htap", "--", "/bin/sh", "-c", script)
                self.assertEqual(outcome.stdout, b"3\n", str(outcome))


def write_program_without_place(path):
    """An x86-64 program whose only segment lies where the kernel's memory is: it is killed in the middle of its exec."""
    place = 0xffff_8000_0000_0000
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, place, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, place, place, 4096, 4096, 4096)
    path.write_bytes((header + segment).ljust(8192, b"\0"))
    path.chmod(0o755)


class ProgramEnds(Steered):
    @unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
    def test_killed_in_the_middle_of_its_exec(self):
        program = self.directory / "without_place"
        write_program_without_place(program)
        outcome = heaptap("run", "--via", "ptrace", "-o", self.trace, "--", program)
        self.assertEqual(outcome.status, 139, str(outcome))
        report = summary(self.trace)
        self.assertEqual((report["target"]["exit"]["signal"], report["totals"]["allocations"]), (11, 0))
        far_away = heaptap_test.run([far.HEAPTAP_TARGET, "record", "-q", "-o", self.directory / "far.rec", "--", program])
        self.assertEqual(far_away.status, 139, str(far_away))

    def test_killed(self):
        self.start("sleeper")
        self.send(b"x\n")
        self.expect(b"line\n")
        os.kill(self.target(), signal.SIGKILL)
        self.assertEqual(self.status(), 137)
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report), [])
        self.assertEqual(expectations.check("stack function=malloc caller=again allocations=100000 frees=100000", report), [])
        self.assertEqual(report["target"]["exit"]["signal"], 9)
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assert_nothing_left()

    def test_killed_with_heaptap(self):
        """As when the system kills a whole container: what had reached the file can be read."""
        self.start("sleeper")
        for _ in range(5):
            self.send(b"x\n")
        self.expect(b"line\n", times=5)
        for pid in [*self.collectors(), self.target()]:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        outcome = heaptap("show", "summary", "--json", self.trace)
        self.assert_no_crash(outcome)
        if outcome.status == 0:
            self.assertTrue(summary(self.trace)["capture"]["truncated"])

    def test_interrupted_with_its_group(self):
        self.start("sleeper", start_new_session=True)
        os.killpg(self.process.pid, signal.SIGINT)
        self.assertEqual(self.status(), 130)
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report), [])
        self.assertEqual(report["target"]["exit"]["signal"], 2)
        self.assert_nothing_left()

    def test_handles_interrupt_itself(self):
        self.start("interrupted", start_new_session=True)
        os.killpg(self.process.pid, signal.SIGINT)
        self.expect(b"signal 2")
        self.assertEqual(self.status(), 5)
        report = summary(self.trace)
        self.assertEqual(expectations.check("stack function=malloc through=on_signal allocations=1 allocated_bytes=50", report), [])

    def test_terminated_through_heaptap(self):
        """`timeout 5 heaptap run …` ends the program as well."""
        self.start("interrupted")
        os.kill(self.process.pid, signal.SIGTERM)
        self.expect(b"signal 15")
        self.assertEqual(self.status(), 5)
        self.assertEqual(summary(self.trace)["target"]["exit"]["code"], 5)
        self.assert_nothing_left()

    def test_stopped_and_continued(self):
        self.start("sleeper")
        target = self.target()
        os.kill(target, signal.SIGSTOP)
        wait_for("the program is stopped", lambda: ") T" in pathlib.Path(f"/proc/{target}/stat").read_text(), state=target)
        for pid in self.collectors():
            until_it_waits(pid)
        self.assertIsNone(self.process.poll(), "heaptap goes on while the program is stopped")
        os.kill(target, signal.SIGCONT)
        self.send(b"x\n")
        self.expect(b"line\n")
        self.process.stdin.close()
        self.assertEqual(self.status(), 9)

    def test_nothing_is_left(self):
        def shared_memory():
            return {entry for entry in os.listdir("/dev/shm")}
        before = shared_memory()
        self.start("sleeper")
        self.process.stdin.close()
        self.assertEqual(self.status(), 9)
        self.assert_nothing_left()
        self.assertEqual([name for name in shared_memory() - before if "heaptap" in name], [])
        self.assertLessEqual(set(os.listdir(self.directory)), {"trace.htap", "heaptap.latest.htap"})


class ManyAtOnce(heaptap_test.TestCase):
    def test_runs_side_by_side(self):
        processes = [subprocess.Popen([heaptap_test.HEAPTAP, "run", "-q", "-o", self.directory / f"{number}.htap", "--", built("noise"), "30000"],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for number in range(8)]
        for number, process in enumerate(processes):
            output, _ = finished(process)
            self.assertEqual((process.returncode, output), (0, b"30000 steps\n"))
            report = summary(self.directory / f"{number}.htap")
            self.assertEqual(expectations.check("stack function=malloc through=step allocations=30000 frees=30000", report), [])

    def test_heaptap_under_heaptap(self):
        inner = self.directory / "inner.htap"
        outcome = heaptap("run", "-q", "-o", self.trace, "--", heaptap_test.HEAPTAP, "run", "-q", "-o", inner, "--", built("one_leak"))
        self.assertEqual((outcome.status, outcome.stdout), (3, b"output\n"), str(outcome))
        self.assertEqual(expectations.check("stack function=malloc caller=lose allocations=10", summary(inner)), [])


class Terminal(heaptap_test.TestCase):
    def on_terminal(self, command):
        """What a program shows on a terminal of its own into which two lines are typed."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([str(word) for word in command], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                                   cwd=self.directory)
        os.close(theirs)
        os.write(ours, b"one\ntwo\n\x04")
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)
        self.addCleanup(os.close, ours)
        shown = read_until(ours, "the end of it", state=process, ends=True)
        return ended(process), shown

    def test_program_keeps_its_terminal(self):
        bare = self.on_terminal([built("pass_through")])
        self.assertIn(b"terminals: 1 1 1", bare[1])
        traced = self.on_terminal([heaptap_test.HEAPTAP, "run", "-q", "-o", self.trace, "--", built("pass_through")])
        self.assertEqual(traced, bare)


class DeepRecursion(heaptap_test.TestCase):
    def test_is_recorded_whole_but_for_the_outermost_frames(self):
        for via, depth in (("agent", 100_000), ("ptrace", 50_000)):
            outcome = heaptap("run", "-q", "--force", "--via", via, "-o", self.trace, "--", built("recursion_deep"), str(depth))
            self.assertEqual(outcome.status, 0, outcome)
            shown = heaptap("show", "-n", "1", self.trace).stdout.decode()
            self.assertRegex(shown, rf"allocations +{depth // 1000},00\d")
            self.assertRegex(shown, r"the innermost of [\d,]+ frames that were recorded")
            self.assertIn("some stacks were deeper than 4096 frames", shown)


if __name__ == "__main__":
    unittest.main()
