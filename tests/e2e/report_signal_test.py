"""Reports of what changed, at a signal: to heaptap, or to the program, which lives with it as it would alone."""
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, TARGETS
from waiting import ended, wait_for

USR1, USR2 = signal.SIGUSR1, signal.SIGUSR2
REAL_TIME = signal.SIGRTMIN + 3


class Report:
    """A memlog file."""

    def __init__(self, path):
        text = path.read_text()
        head, *rest = text.splitlines()
        match = re.fullmatch(r"(-?\d+) \(([+-]\d+)\)", head)
        assert match, text
        self.outstanding, self.change = int(match[1]), int(match[2])
        self.stacks = []  # (bytes, frames)
        for line in rest:
            if line.startswith("\t"):
                self.stacks[-1][1].append(line[1:])
            else:
                assert re.fullmatch(r"[+-]\d+", line), text
                self.stacks.append((int(line), []))
        self.text = text

    def of(self, function):
        """The bytes of stacks that have this function."""
        return sum(count for count, frames in self.stacks if any(frame.startswith(function + " ") for frame in frames))


class Recorded:
    """tests/targets/signals/signal_asked.c, or a program like it, while it is recorded."""

    def __init__(self, test, *options, program="signal_asked", arguments=(), directory=None, start="run", errors=None, **kinds):
        if directory is None:
            place = tempfile.TemporaryDirectory(prefix="heaptap-test-")
            test.addCleanup(place.cleanup)
            directory = pathlib.Path(place.name)
        self.directory, self.name = directory, program
        self.errors = open(directory / "stderr.txt", "w+")
        test.addCleanup(self.errors.close)
        command = [HEAPTAP, start, *options, "--", TARGETS / program, *arguments]
        if start == "attach":
            self.alone = subprocess.Popen([TARGETS / program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                          text=True, cwd=directory)
            test.addCleanup(self.kill, self.alone)
            command = [HEAPTAP, "attach", *options, str(self.alone.pid)]
        self.heaptap = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        cwd=directory, **kinds)
        test.addCleanup(self.kill, self.heaptap)
        self.talker = self.alone if start == "attach" else self.heaptap
        assert self.talker.stdout.readline() == "ready\n", self.said()
        if start == "attach":
            self.pid = self.alone.pid
            wait_for("attached", lambda: "recording" in self.said(), state=[self.heaptap, self.said])
        else:
            (self.pid,) = [pid for pid in heaptap_test.descendants(self.heaptap.pid)
                           if os.readlink(f"/proc/{pid}/exe").endswith("/" + program)]

    @staticmethod
    def kill(process):
        heaptap_test.end(process)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream and not stream.closed:
                stream.close()

    def said(self):
        self.errors.flush()
        return (self.directory / "stderr.txt").read_text()

    def say(self, line):
        self.talker.stdin.write(line + "\n")
        self.talker.stdin.flush()
        return self.talker.stdout.readline().rstrip("\n")

    def path(self, number, extension="memlog"):
        return self.directory / f"{self.name}-{self.pid}-{number}.{extension}"

    def report(self, number):
        wait_for(f"report {number}", self.path(number).exists, state=[self.heaptap, self.said])
        return Report(self.path(number))

    def reports(self):
        found = []
        while self.path(len(found) + 1).exists():
            found.append(Report(self.path(len(found) + 1)))
        return found

    def end(self):
        """The status; the trace is written then."""
        self.talker.stdin.close()
        return ended(self.heaptap)

    def trace(self):
        (trace,) = [path for path in self.directory.glob("*.htap") if "latest" not in path.name]
        return trace


WAYS = {"agent": ["--via", "agent"], "ptrace": ["--via", "ptrace"]}


class Asked(unittest.TestCase):
    def check_series(self, target, ask):
        """Three reports of known changes, and their sums."""
        target.say("small 10 100")
        target.say("large 3 1000")
        ask()
        first = target.report(1)
        self.assertEqual(first.outstanding, first.change)
        self.assertEqual(first.of("make_small"), 1000)
        self.assertEqual(first.of("make_large"), 3000)
        self.assertEqual(sum(change for change, _ in first.stacks), first.change)
        self.assertEqual(first.stacks, sorted(first.stacks, key=lambda stack: -stack[0]))
        target.say("drop 3 0")
        target.say("small 1 10")
        ask()
        second = target.report(2)
        self.assertEqual(second.outstanding, first.outstanding - 2990)
        self.assertEqual((second.change, second.of("make_large"), second.of("make_small")), (-2990, -3000, 10))
        self.assertEqual(len(second.stacks), 2)
        ask()
        third = target.report(3)
        self.assertEqual((third.outstanding, third.change, third.stacks), (second.outstanding, 0, []))

    def check_trace(self, target):
        """What the files say is what the trace says at the marks."""
        trace = target.trace()
        for number, report in enumerate(target.reports(), 1):
            shown = heaptap_test.heaptap("show", "summary", "--json", "--to", f"report {number}", trace)
            self.assertEqual(shown.status, 0, str(shown))
            totals = heaptap_test.read_report(shown.stdout)["totals"]
            self.assertEqual(totals["live_bytes"], report.outstanding, number)
        at = [word for number in range(1, len(target.reports()) + 1) for word in ("--at", f"report {number}")]
        exported = target.directory / "exported"
        exported.mkdir()
        outcome = heaptap_test.heaptap("export", "--to", "memlog", *at, "-o", exported, trace)
        self.assertEqual(outcome.status, 0, str(outcome))
        for number, report in enumerate(target.reports(), 1):
            self.assertEqual((exported / target.path(number).name).read_text(), report.text)

    def test_signal_to_heaptap(self):
        for way, options in WAYS.items():
            with self.subTest(way):
                target = Recorded(self, *options)
                self.check_series(target, lambda: os.kill(target.heaptap.pid, USR1))
                self.assertEqual(target.end(), 0)
                self.check_trace(target)

    def test_signal_to_heaptap_that_is_attached(self):
        target = Recorded(self, start="attach")
        target.say("small 5 100")
        os.kill(target.heaptap.pid, USR1)
        self.assertEqual(target.report(1).of("make_small"), 500)
        self.assertEqual(target.end(), 0)

    def test_signal_to_an_attached_program(self):
        target = Recorded(self, "--report-signal=RTMIN+3", start="attach")
        self.check_series(target, lambda: os.kill(target.pid, REAL_TIME))
        self.assertEqual(target.end(), 0)
        self.check_trace(target)

    def test_signal_to_all_that_belongs_to_heaptap(self):
        """Also to the process that holds what is recorded by ptrace."""
        for way, options in WAYS.items():
            with self.subTest(way):
                target = Recorded(self, *options, "--report-signal=USR1")
                target.say("small 5 100")
                for pid in [target.heaptap.pid, *heaptap_test.descendants(target.heaptap.pid)]:
                    os.kill(pid, USR1)
                self.assertEqual(target.report(1).of("make_small"), 500)
                self.assertEqual(target.end(), 0)

    def test_signal_to_the_program(self):
        for way, options in WAYS.items():
            for number, name in ((USR1, "USR1"), (USR2, "SIGUSR2"), (REAL_TIME, "rtmin+3"), (USR2, str(int(USR2)))):
                with self.subTest(way=way, signal=name):
                    target = Recorded(self, *options, "--report-signal", name)
                    self.check_series(target, lambda: os.kill(target.pid, number))
                    self.assertEqual(target.end(), 0)
                    self.check_trace(target)

    def test_static_program(self):
        target = Recorded(self, "--report-signal=USR2", program="signal_asked_static")
        self.check_series(target, lambda: os.kill(target.pid, USR2))
        self.check_series_goes_on(target)
        self.assertEqual(target.end(), 0)
        self.check_trace(target)

    def check_series_goes_on(self, target):
        target.say("small 2 7")
        os.kill(target.heaptap.pid, USR1)  # the same series
        self.assertEqual(target.report(4).change, 14)

    def test_a_signal_before_the_end_is_answered(self):
        target = Recorded(self, "--report-signal=USR2")
        target.say("small 10 10")
        target.say(f"send {int(USR2)}")
        target.talker.stdin.write("exit 3\n")
        self.assertEqual(target.end(), 3)
        self.assertEqual(sum(report.change for report in target.reports()), target.report(1).outstanding)
        self.assertEqual(target.report(1).of("make_small"), 100)

    def test_followed_child_has_its_own_reports(self):
        target = Recorded(self, "-f", "--report-signal=USR2")
        self.assertEqual(target.say(f"fork {int(USR2)}"), "child 0 40")
        self.assertEqual(target.end(), 0)

    def test_aggregate(self):
        target = Recorded(self, "--aggregate")
        target.say("small 10 100")
        os.kill(target.heaptap.pid, USR1)
        self.assertEqual(target.report(1).of("make_small"), 1000)
        target.say("drop 5")
        os.kill(target.heaptap.pid, USR1)
        self.assertEqual(target.report(2).of("make_small"), -500)
        self.assertEqual(target.end(), 0)

    def test_no_signal_is_too_early(self):
        """heaptap gets it as early as can be: nothing ends by it."""
        for _ in range(20):
            process = subprocess.Popen([HEAPTAP, "run", "-q", "--force", "-o", "/dev/null", "--", "/bin/true"], stderr=subprocess.PIPE)
            wait_for("executed", lambda: b"heaptap" in pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")[0], state=process)
            status = pathlib.Path(f"/proc/{process.pid}/status")

            def handles():
                try:
                    caught = re.search(r"SigCgt:\s*(\w+)", status.read_text())
                except OSError:
                    return True
                return process.poll() is not None or not caught or int(caught[1], 16) >> (USR1 - 1) & 1

            wait_for("a handler", handles, state=process)
            for _ in range(50):
                if process.poll() is None:
                    process.send_signal(USR1)
            self.assertEqual(ended(process), 0, process.stderr.read())
            process.stderr.close()

    def test_program_gets_its_signals_as_heaptap_got_them(self):
        for disposition in (signal.SIG_IGN, signal.SIG_DFL):
            with self.subTest(disposition):
                target = Recorded(self, preexec_fn=lambda: signal.signal(USR1, disposition))
                self.assertEqual(target.say(f"status {int(USR1)}"), f"ignored {int(disposition == signal.SIG_IGN)}")
                self.assertEqual(target.end(), 0)

    def test_without_a_terminal(self):
        target = Recorded(self, "-q", start_new_session=True)
        target.say("small 1 5")
        os.kill(target.heaptap.pid, USR1)
        self.assertEqual(target.report(1).of("make_small"), 5)
        self.assertEqual(target.end(), 0)
        self.assertEqual(target.said(), "")


class Files(unittest.TestCase):
    def test_nothing_is_overwritten(self):
        target = Recorded(self)
        target.path(2).write_text("mine")
        target.say("small 1 5")
        os.kill(target.heaptap.pid, USR1)
        target.report(1)
        os.kill(target.heaptap.pid, USR1)
        self.assertEqual(target.report(3).change, 0)
        self.assertEqual(target.path(2).read_text(), "mine")
        self.assertEqual(target.end(), 0)

    def test_beside_the_trace(self):
        with tempfile.TemporaryDirectory() as other:
            target = Recorded(self, "-o", f"{other}/it.htap")
            os.kill(target.heaptap.pid, USR1)
            path = pathlib.Path(other) / target.path(1).name
            wait_for(path, path.exists, state=[target.heaptap, target.said])
            self.assertEqual(target.end(), 0)
            self.assertEqual(list(target.directory.glob("*.memlog")), [])

    def test_directory_that_is_gone(self):
        with tempfile.TemporaryDirectory() as other:
            inner = pathlib.Path(other) / "inner"
            inner.mkdir()
            target = Recorded(self, "-o", inner / "it.htap")
            (inner / "it.htap").unlink()
            inner.rmdir()
            target.say("small 1 5")
            os.kill(target.heaptap.pid, USR1)
            wait_for("said", lambda: "no report" in target.said(), state=[target.heaptap, target.said])
            os.kill(target.heaptap.pid, USR1)
            target.say(f"exit 4")
            self.assertEqual(target.end(), 4)
            self.assertEqual(target.said().count("no report"), 1, target.said())
            self.assertIn("No such file or directory", target.said())

    def test_what_could_not_be_written_is_in_the_next_one(self):
        with tempfile.TemporaryDirectory() as other:
            inner, moved = pathlib.Path(other) / "inner", pathlib.Path(other) / "moved"
            inner.mkdir()
            target = Recorded(self, "-o", inner / "it.htap")
            target.say("small 1 5")
            inner.rename(moved)
            os.kill(target.heaptap.pid, USR1)
            wait_for("said", lambda: "no report" in target.said(), state=[target.heaptap, target.said])
            moved.rename(inner)
            target.say("small 1 6")
            os.kill(target.heaptap.pid, USR1)
            path = inner / target.path(1).name
            wait_for(path, path.exists, state=[target.heaptap, target.said])
            self.assertEqual(Report(path).of("make_small"), 11)
            self.assertEqual(target.end(), 0)

    def test_trace_that_is_no_file(self):
        target = Recorded(self, "--force", "-o", "/dev/null")
        os.kill(target.heaptap.pid, USR1)
        wait_for("said", lambda: "no report" in target.said(), state=[target.heaptap, target.said])
        self.assertIn("-o", target.said())
        self.assertFalse(list(pathlib.Path("/dev").glob("*.memlog")))
        target.talker.stdin.write("exit 6\n")
        self.assertEqual(target.end(), 6)

    def test_other_formats_are_whole(self):
        for name, extension in (("folded", "folded"), ("pprof", "pb.gz"), ("sqlite", "sqlite"), ("heaptrack", "heaptrack.gz"),
                                ("csv", "csv")):
            with self.subTest(name):
                target = Recorded(self, "--report-format", name)
                target.say("small 10 100")
                for number in (1, 2):
                    os.kill(target.heaptap.pid, USR1)
                    wait_for(f"{name} {number}", target.path(number, extension).exists, state=[target.heaptap, target.said])
                    self.assertGreater(target.path(number, extension).stat().st_size, 0)
                self.assertEqual(target.end(), 0)
                if name == "folded":
                    self.assertIn("make_small", target.path(2, extension).read_text())


class Dispositions(unittest.TestCase):
    """The program's own handling of the signal, by agent and by ptrace."""

    def both(self):
        for way, options in WAYS.items():
            with self.subTest(way):
                target = Recorded(self, *options, "--report-signal=USR2")
                yield target
                self.assertEqual(target.end(), 0)

    def send(self, target, extra=""):
        reports = len(target.reports())
        answer = target.say(f"send {int(USR2)} {extra}")
        target.report(reports + 1)
        return answer

    def test_default(self):
        for target in self.both():
            self.assertEqual(target.say(f"show {int(USR2)}"), "default 0 0")
            self.assertEqual(self.send(target), "handled 0 code 0 value 0 stack 0 blocked 0")
            self.assertEqual(target.say(f"show {int(USR2)}"), "default 0 0")
            self.assertEqual(target.say(f"set signal {int(USR2)}"), "was default")
            self.assertEqual(target.say(f"set bydefault {int(USR2)}"), "was plain")
            self.send(target)
            self.assertEqual(target.say(f"set default {int(USR2)}"), "was default")
            self.send(target)

    def test_handlers(self):
        for target in self.both():
            target.say("stack")
            self.assertEqual(target.say(f"set signal {int(USR2)}"), "was default")
            self.assertEqual(self.send(target), "handled 1 code 0 value 0 stack 0 blocked 0")
            self.assertEqual(target.say(f"set info {int(USR2)}"), "was plain")
            self.assertEqual(target.say(f"show {int(USR2)}"), "info 18000004 1")
            self.assertEqual(self.send(target, 77), "handled 2 code -1 value 77 stack 1 blocked 1")
            self.assertEqual(target.say(f"set plain {int(USR2)}"), "was info")
            self.assertEqual(target.say(f"show {int(USR2)}"), "plain 0 0")
            self.assertEqual(self.send(target), "handled 3 code 0 value 0 stack 0 blocked 0")

    def test_handler_for_one_time(self):
        for target in self.both():
            for how in ("once", "sysv"):
                target.say(f"set {how} {int(USR2)}")
                before = target.say(f"unblock {int(USR2)}")
                count = int(before.split()[1])
                self.assertIn(f"handled {count + 1}", self.send(target))
                self.assertTrue(target.say(f"show {int(USR2)}").startswith("default"))
                self.assertIn(f"handled {count + 1}", self.send(target))

    def test_handler_that_jumps(self):
        for target in self.both():
            target.say(f"set jump {int(USR2)}")
            for count in range(1, 4):
                self.assertIn(f"handled {count}", self.send(target))

    def test_ignored(self):
        for target in self.both():
            for how in ("ignore", "byignore"):
                target.say(f"set {how} {int(USR2)}")
                self.assertTrue(target.say(f"show {int(USR2)}").startswith("ignored"))
                self.assertIn("handled 0", self.send(target))

    def test_blocked(self):
        for target in self.both():
            target.say(f"set plain {int(USR2)}")
            target.say(f"block {int(USR2)}")
            self.assertIn("handled 0", target.say(f"send {int(USR2)}"))
            self.assertEqual(target.say(f"unblock {int(USR2)}"), "handled 1")
            target.report(1)

    def test_sigwait_and_signalfd(self):
        for target in self.both():
            target.say(f"set plain {int(USR2)}")
            self.assertEqual(target.say(f"wait {int(USR2)}"), "handled 0")
            self.assertIn("handled 1", self.send(target))

    def test_handler_set_before_the_first_allocation(self):
        for way, options in WAYS.items():
            with self.subTest(way):
                target = Recorded(self, *options, "--report-signal=USR2", arguments=[str(int(USR2))])
                self.assertIn("handled 1", self.send(target))
                self.assertEqual(target.say(f"set signal {int(USR2)}"), "was plain")
                self.assertEqual(target.end(), 0)

    def test_children_that_are_not_recorded_are_as_alone(self):
        for target in self.both():
            self.assertEqual(target.say(f"fork {int(USR2)}"), f"child {int(USR2)} -1")
            target.say(f"set ignore {int(USR2)}")
            self.assertEqual(target.say(f"fork {int(USR2)}"), "child 0 40")
            target.say(f"set plain {int(USR2)}")
            self.assertEqual(target.say(f"fork {int(USR2)}"), "child 0 41")
            self.assertEqual(target.say(f"vfork {int(USR2)}"), "child 0")
            self.assertEqual(target.say(f"show {int(USR2)}").split()[0], "plain")
            self.assertIn("handled 1", self.send(target))

    def test_exec(self):
        for how, becomes in (("ignore", "ignored"), ("plain", "default"), ("default", "default")):
            for target in self.both():
                target.say("small 1 50")
                target.say(f"set {how} {int(USR2)}")
                self.assertEqual(target.say("exec"), "ready")
                self.assertTrue(target.say(f"show {int(USR2)}").startswith(becomes))
                target.say("small 1 7")
                os.kill(target.pid, USR2)
                self.assertEqual(target.say("small 1 8"), "2")
                self.assertLessEqual(target.report(1).of("make_small"), 15)

    def test_what_programs_ask_of_all_signals_is_what_they_would_get_alone(self):
        program = TARGETS / "ending_dispositions"
        with tempfile.TemporaryDirectory() as directory:
            alone = heaptap_test.run([program], cwd=directory)
            for name in ("USR1", "HUP", "WINCH", "RTMIN+3"):
                with self.subTest(name):
                    recorded = heaptap_test.heaptap("run", "-q", "--report-signal", name, "--", program, cwd=directory)
                    self.assertEqual(recorded.stdout.decode(), alone.stdout.decode())
                    self.assertEqual(recorded.status, alone.status)

    def test_programs_behind_a_filter_of_system_calls(self):
        for name in ("strict", "filter"):
            with self.subTest(name):
                with tempfile.TemporaryDirectory() as directory:
                    alone = heaptap_test.run([TARGETS / "obeys"], f"{name}\npairs 3\n".encode(), cwd=directory)
                    recorded = heaptap_test.heaptap("run", "-q", "--report-signal=USR2", "--", TARGETS / "obeys",
                                                    stdin=f"{name}\npairs 3\n".encode(), cwd=directory)
                    self.assertEqual((recorded.status, recorded.stdout), (alone.status, alone.stdout))


class Storms(unittest.TestCase):
    def check(self, target):
        status = ended(target.heaptap)
        self.assertEqual(status, 7, target.said())
        reports = target.reports()
        self.assertGreater(len(reports), 0)
        outstanding = 0
        compared = range(1, len(reports) + 1, 1 + len(reports) // 50)  # how many there are is a matter of the machine's pace
        for number, report in enumerate(reports, 1):
            outstanding += report.change
            self.assertEqual(report.outstanding, outstanding)
            self.assertEqual(sum(change for change, _ in report.stacks), report.change)
            if number not in compared:
                continue
            shown = heaptap_test.heaptap("show", "summary", "--json", "--to", f"report {number}", target.trace())
            self.assertEqual(heaptap_test.read_report(shown.stdout)["totals"]["live_bytes"], outstanding)
        totals = heaptap_test.summary(target.trace())["totals"]
        self.assertEqual(totals["allocations"] - totals["frees"], totals["live_blocks"])
        self.assertGreaterEqual(totals["allocations"], 8 * 4000)

    def storm(self, *options, arguments=()):
        directory = tempfile.TemporaryDirectory(prefix="heaptap-test-")
        self.addCleanup(directory.cleanup)
        target = Recorded.__new__(Recorded)
        target.directory, target.name = pathlib.Path(directory.name), "signal_storm"
        target.errors = open(target.directory / "stderr.txt", "w+")
        self.addCleanup(target.errors.close)
        target.heaptap = subprocess.Popen([HEAPTAP, "run", *options, "--", TARGETS / "signal_storm", *arguments],
                                          stderr=target.errors, cwd=target.directory)
        self.addCleanup(heaptap_test.end, target.heaptap)
        wait_for("a trace", lambda: list(target.directory.glob("heaptap.signal_storm.*")), state=[target.heaptap, target.said])
        target.pid = int(target.trace().name.split(".")[2])
        return target

    def test_to_the_program(self):
        # By ptrace a default that is set between the stop and the delivery is what happens.
        for way, arguments in (("agent", ["flips"]), ("agent", []), ("ptrace", [])):
            with self.subTest(way, arguments=arguments):
                self.check(self.storm(*WAYS[way], "--report-signal=USR2", arguments=[str(int(USR2)), *arguments]))

    def test_to_heaptap(self):
        for way, options in WAYS.items():
            with self.subTest(way):
                target = self.storm(*options)
                for _ in range(2000):
                    target.heaptap.send_signal(USR1)
                    if target.heaptap.poll() is not None:
                        break
                self.check(target)


class Refusals(unittest.TestCase):
    def test_signals_that_cannot_ask(self):
        for name, why in (("KILL", "no program can handle it"), ("SIGSTOP", "no program can handle it"), ("SEGV", "fault"),
                          ("TERM", "terminates programs"), ("TSTP", "stops or continues"), ("CHLD", "the kernel sends it"),
                          ("33", "C library"), ("NOPE", "unknown signal 'NOPE'"), ("RTMIN+99", "unknown signal"),
                          ("0", "unknown signal"), ("65", "unknown signal")):
            for command in (["run"], ["attach", "1"]):
                outcome = heaptap_test.heaptap(*command, "--report-signal", name, "--", "/bin/true")
                self.assertEqual(outcome.status, 2, str(outcome))
                self.assertIn(why, outcome.stderr.decode())
                self.assertIn("RTMIN+3", outcome.stderr.decode())

    def test_unknown_format(self):
        outcome = heaptap_test.heaptap("run", "--report-format", "nope", "--", "/bin/true")
        self.assertEqual(outcome.status, 2)
        self.assertIn("memlog", outcome.stderr.decode())


if __name__ == "__main__":
    unittest.main()
