"""heaptap console: scripts, a terminal, and a recording that goes on."""
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, run
from waiting import ended, read_until, wait_for, working_in

PROMPT = "> "


class Terminal:
    """The console on a terminal: what it prints, and keys that are typed."""

    def __init__(self, test, *arguments, columns=100, rows=24, **environment):
        self.read_end, outer = pty.openpty()
        self.resize(columns, rows)
        variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "HEAPTAP_PAGER")}
        variables.update({"TERM": "xterm", "PAGER": "cat", "XDG_STATE_HOME": str(test.directory / "state"), "LC_ALL": "C.UTF-8"}, **environment)
        self.process = subprocess.Popen([HEAPTAP, "console", *map(str, arguments)], stdin=outer, stdout=outer, stderr=outer,
                                        cwd=test.directory, env=variables, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(outer)
        self.came = b""
        test.addCleanup(self.close)

    def close(self):
        heaptap_test.end(self.process)
        self.process.wait()
        os.close(self.read_end)

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.read_end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.read_end, keys.encode())

    def until(self, wanted):
        """What comes, to the end of `wanted`, a regular expression."""
        def found(came):
            return re.search(wanted, came.decode(errors="replace"))

        self.came = read_until(self.read_end, repr(wanted), found, state=self.process, so_far=self.came)
        text = self.came.decode(errors="replace")
        end = found(self.came).end()
        before, self.came = text[:end], text[end:].encode()
        return before.replace("\r", "")

    def ask(self, line):
        """A command, and what it prints up to the next prompt."""
        self.type(line + "\r")
        self.until(re.escape(line))
        return self.until(r"> $")

    def status(self):
        return heaptap_test.shell_status(ended(self.process))


class TraceCase(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        ended = heaptap("run", "-q", "-o", self.trace, "--", built("leak_shop"), cwd=self.directory)
        self.assertTrue(self.trace.exists(), ended)

    def script(self, *commands, **options):
        arguments = [word for command in commands for word in ("-x", command)]
        return heaptap("console", self.trace, *arguments, cwd=self.directory, **options)

    def said(self, *commands):
        outcome = self.script(*commands)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        return outcome.stdout.decode()


class Scripts(TraceCase):
    def test_views_are_those_of_show(self):
        for view in ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "timeline", "blocks"):
            with self.subTest(view=view):
                shown = heaptap("show", view, self.trace).stdout.decode()
                self.assertEqual(self.said(f"show {view}"), shown)
                self.assertEqual(self.said(f"sh {view[:5]}"), shown)
        for options in ("leaks --retained", "leaks --scans --json", "leaks --globals", "top --sort total -n 2", "summary --by process"):
            with self.subTest(options=options):
                shown = heaptap("show", *options.split(), self.trace)
                if shown.status == 0:
                    self.assertEqual(self.said("show " + options), shown.stdout.decode())

    def test_each_command_of_the_past(self):
        self.assertRegex(self.said("status"), r"leak_shop \(pid \d+\): exited with 0\n")
        self.assertRegex(self.said("processes"), r"PID +PARENT +IMAGE +PROGRAM +BY +STATE +TRACE\n")
        self.assertIn("CPU of heaptap", self.said("info"))
        self.assertIn("no marks", self.said("marks"))
        self.assertIn("NOT FREED", self.said("dump leaks"))
        self.assertIn("sort        peak", self.said("set sort pe", "set"))
        self.assertEqual(self.said("monitor 0 3").count("leak_shop (pid "), 3)
        self.assertIn("\n  show ", self.said("help"))
        self.assertIn("FORMAT", self.said("help export"))
        self.assertEqual(self.said("export folded"), heaptap("export", "--to", "folded", self.trace).stdout.decode())

    def test_help_of_each_command(self):
        names = re.findall(r"^  ([a-z]+)  +\S", self.said("help"), re.MULTILINE)
        self.assertGreater(len(names), 20)
        page = (heaptap_test.HERE.parent.parent / "docs/man/heaptap-console.1.scd").read_text()
        for name in names:
            lines = self.said("help " + name).splitlines()
            self.assertTrue(lines[0].startswith(name), lines)
            self.assertGreaterEqual(len(lines), 2)
            self.assertIn(f"*{name}*", page)

    def test_one_stack(self):
        number = re.search(r"#(\d+)  ", self.said("show leaks"))[1]
        text = self.said(f"report {number}")
        self.assertTrue(text.startswith(f"#{number}  by "), text)
        self.assertIn("definitely lost", text)
        self.assertIn(f"What points to #{number}?", text)
        self.assertEqual(self.said(f"report '#{number}'"), text)
        self.assertEqual(self.script("report 999999").status, 125)
        self.assertEqual(self.script("report x").status, 2)

    def test_what_goes_on_can_not_be_done_in_the_past(self):
        for command in ("scan", "start", "stop", "reset", "mark x", "detach", "kill", "set depth 4"):
            with self.subTest(command=command):
                outcome = self.script(command)
                self.assertEqual(outcome.status, 125, outcome)
                self.assertIn(b"is a finished recording", outcome.stderr)

    def test_the_first_failure_ends_it_with_its_status(self):
        outcome = self.script("marks", "nonsense", "status")
        self.assertEqual((outcome.status, outcome.stdout), (2, b"no marks\n"), outcome)
        self.assertIn(b"unknown command 'nonsense'", outcome.stderr)
        self.assertEqual(self.script("marks | grep -q none").status, 1)
        self.assertEqual(self.script("st").stderr, b"heaptap: 'st' is ambiguous: status, start, stop\n")

    def test_commands_of_standard_input(self):
        script = b"# what there is\nmarks\n\nshow top | head -1\nquit\nnonsense\n"
        outcome = heaptap("console", self.trace, stdin=script)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.assertEqual(len(outcome.stdout.splitlines()), 2, outcome)
        self.assertEqual(heaptap("console", self.trace, stdin=b"marks\nnonsense\nmarks").status, 2)

    def test_output_into_files(self):
        self.assertEqual(self.said("marks > out", "marks >> out"), "")
        self.assertEqual((self.directory / "out").read_text(), "no marks\n" * 2)
        outcome = self.script("marks > out")
        self.assertEqual(outcome.status, 2, outcome)
        self.assertIn(b">| replaces it", outcome.stderr)
        self.said("marks >| out")
        self.assertEqual((self.directory / "out").read_text(), "no marks\n")
        self.said("export pprof > now.pb.gz")
        self.assertTrue((self.directory / "now.pb.gz").read_bytes().startswith(b"\x1f\x8b"))

    def test_who_reads_may_leave_early(self):
        self.assertEqual(self.said("dump | head -1 | wc -l", "marks").split(), ["1", "no", "marks"])

    def test_a_closed_output(self):
        for command in (["show", "top"], ["dump"]):
            outcome = run(["sh", "-c", 'exec "$0" "$@" >&-', HEAPTAP, "console", self.trace, "-x", " ".join(command)])
            self.assert_no_crash(outcome, allowed=(0, 125))
        outcome = run(["sh", "-c", '"$0" "$@" > /dev/full', HEAPTAP, "console", self.trace, "-x", "show top"])
        self.assertEqual(outcome.status, 125, outcome)

    def test_what_is_no_recording(self):
        outcome = heaptap("console", self.directory / "none.htap", "-x", "status")
        self.assertEqual(outcome.status, 125, outcome)
        self.assertIn(b"none.htap", outcome.stderr)
        self.trace.write_bytes(self.trace.read_bytes()[:1000])
        self.assert_no_crash(self.script("show leaks"))
        (self.directory / "random").write_bytes(os.urandom(2000))
        self.assertEqual(heaptap("console", self.directory / "random", "-x", "status").status, 125)

    def test_a_run_of_several_processes(self):
        heaptap("run", "-q", "-f", "--", "sh", "-c", "/bin/true; /bin/true", cwd=self.directory)
        index = next(self.directory.glob("*.run"))
        outcome = heaptap("console", index, "-x", "processes", "-x", "status", "-x", "show summary --by process")
        self.assertEqual(outcome.status, 0, outcome)
        self.assertGreaterEqual(outcome.stdout.count(b"true"), 3)


class OnATerminal(TraceCase):
    def test_a_session(self):
        terminal = Terminal(self, self.trace)
        self.assertIn("exited with 0", terminal.until(r"\(past\)> $"))
        self.assertIn("no marks", terminal.ask("marks"))
        self.assertIn("ambiguous", terminal.ask("st"))
        terminal.type("quit\r")
        self.assertEqual(terminal.status(), 0)
        history = self.directory / "state/heaptap/history"
        self.assertEqual(history.read_text(), "marks\nst\nquit\n")
        self.assertEqual(history.stat().st_mode & 0o777, 0o600)
        # And the next one has it.
        terminal = Terminal(self, self.trace)
        terminal.until(r"> $")
        terminal.type("\x1b[A\x1b[A\x1b[A\r")
        self.assertIn("no marks", terminal.until(r"no marks"))

    def test_completion(self):
        terminal = Terminal(self, self.trace)
        terminal.until(r"> $")
        terminal.type("show ti\t\r")
        terminal.until("UNTIL")
        terminal.until(r"\(past\)> $")
        terminal.type("sta\t")
        self.assertRegex(terminal.until(r"> sta$"), r"start +status")
        terminal.type("t\t\r")
        terminal.until(r"events")
        terminal.until(r"\(past\)> $")
        (self.directory / "a file").touch()
        terminal.type("marks >> a\t\r")
        terminal.until(r"\(past\)> $")
        self.assertEqual((self.directory / "a file").read_text(), "no marks\n")

    def test_ctrl_c_clears_the_line_and_ctrl_d_ends(self):
        terminal = Terminal(self, self.trace)
        terminal.until(r"> $")
        terminal.type("nonsense")
        terminal.until("nonsense")
        terminal.type("\x03")
        terminal.until(r"> $")
        self.assertIn("no marks", terminal.ask("marks"))
        terminal.type("\x04")
        self.assertEqual(terminal.status(), 0)

    def test_ctrl_c_ends_what_runs_and_not_the_console(self):
        terminal = Terminal(self, self.trace)
        terminal.until(r"> $")
        terminal.type("monitor 100\r")
        terminal.until("events")
        terminal.type("\x03")
        terminal.until(r"\(past\)> $")
        terminal.type("monitor 100\r")
        terminal.until("events")
        terminal.type("x")
        terminal.until(r"\(past\)> $")
        self.assertIn("no marks", terminal.ask("marks"))

    def test_a_monitor_is_one_screen(self):
        terminal = Terminal(self, self.trace, rows=10)
        terminal.until(r"> $")
        terminal.type("monitor 0 1\r")
        self.assertLess(terminal.until(r"\(past\)> $").rpartition("\x1b[2J")[2].count("\n"), 10)

    def test_a_pager_shows_long_output(self):
        pager = self.directory / "pager"
        pager.write_text("#!/bin/sh\nsed 's/^/paged: /'\n")
        pager.chmod(0o755)
        terminal = Terminal(self, self.trace, PAGER=str(pager))
        terminal.until(r"> $")
        self.assertIn("paged: ", terminal.ask("show leaks"))
        self.assertNotIn("paged: ", terminal.ask("show leaks | cat"))
        self.assertIn("off", terminal.ask("set pager off") + terminal.ask("set pager"))
        self.assertNotIn("paged: ", terminal.ask("show leaks"))

    def test_it_is_stopped_and_continued(self):
        terminal = Terminal(self, self.trace)
        terminal.until(r"> $")
        terminal.type("mar")
        terminal.until("mar")
        terminal.type("\x1a")
        # Without a shell nobody may stop it: its session has no parent in it. By force it is.
        os.kill(terminal.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOWAIT)
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.until(r"> mar")
        terminal.type("ks\r")
        terminal.until("no marks")

    def test_a_signal_leaves_the_terminal_as_it_was(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            terminal = Terminal(self, self.trace)
            before = termios.tcgetattr(terminal.read_end)
            terminal.until(r"> $")
            self.assertNotEqual(termios.tcgetattr(terminal.read_end)[3], before[3])
            terminal.process.send_signal(number)
            self.assertEqual(terminal.status(), 128 + number)
            self.assertEqual(termios.tcgetattr(terminal.read_end)[:4], before[:4])

    def test_dumb_narrow_and_resized(self):
        for columns, environment in ((100, {"TERM": "dumb"}), (20, {}), (20, {"TERM": ""}), (1, {})):
            with self.subTest(columns=columns, environment=environment):
                terminal = Terminal(self, self.trace, columns=columns, **environment)
                terminal.until(r"> $")
                terminal.type("marks and some words more than fit")
                terminal.resize(30)
                terminal.type("\x03")
                terminal.until(r"> $")
                terminal.type("marks\r")
                terminal.until("no marks")
                terminal.until(r"> $")
                terminal.type("\x04")
                self.assertEqual(terminal.status(), 0)

    def test_control_c_in_the_middle_of_what_is_typed(self):
        """It drops what the console was told of and hasn't read yet."""
        for _ in range(50):
            terminal = Terminal(self, self.trace)
            terminal.until(r"> $")
            terminal.type("marks and some words")
            terminal.type("\x03")
            terminal.until(r"> $")
            terminal.type("\x04")
            self.assertEqual(terminal.status(), 0)

    def test_a_terminal_that_goes_away(self):
        terminal = Terminal(self, self.trace)
        terminal.until(r"> $")
        other = os.dup(terminal.read_end)
        os.close(terminal.read_end)
        os.close(other)
        ended(terminal.process)
        terminal.read_end = os.open("/dev/null", os.O_RDONLY)

    def test_no_home_for_a_history(self):
        terminal = Terminal(self, self.trace, XDG_STATE_HOME="/proc/nothing")
        terminal.until(r"> $")
        self.assertIn("no marks", terminal.ask("marks"))


class NewLosses(heaptap_test.TestCase):
    """A recording of targets/…/loses_on_demand.c that goes on."""

    def test_old_blocks_that_are_lost_now_are_no_new_ones(self):
        recorder = subprocess.Popen([HEAPTAP, "run", "-q", "-o", self.trace, "--", built("loses_on_demand")], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.stdin.close)
        self.addCleanup(heaptap_test.end, recorder)
        recorder.stdout.readline()
        (pid,) = [pid for pid in heaptap_test.descendants(recorder.pid) if os.readlink(f"/proc/{pid}/exe").endswith("/loses_on_demand")]

        def say(*words):
            for word in words:
                recorder.stdin.write(word + "\n")
                recorder.stdin.flush()
                recorder.stdout.readline()

        def said(*commands):
            outcome = heaptap("console", pid, *[word for command in commands for word in ("-x", command)], cwd=self.directory)
            self.assertEqual(outcome.status, 0, outcome)
            return outcome.stdout.decode()

        say("lose", "hold")
        said("scan")
        say("drop", "lose")
        text = said("scan new", "show leaks --since 1")
        self.assertIn("Scan 2: 100 B in 1 block lost, allocated since scan 1; 100 B in 1 block allocated before", text)
        self.assertRegex(text, r"\n  new +200 B +in 2 blocks\n    allocated since +100 B +in 1 block\n    older +100 B +in 1 block: not lost then\n")
        self.assertIn("100 B in 1 block new (100 B in 1 block older)", text)
        self.assertRegex(said("scan new"), r"^Scan 3: 0 B in 0 blocks lost, allocated since scan 2( \(.*\))?\n")


class GoingOn(heaptap_test.TestCase):
    """A recording that goes on: cat, which allocates little and waits for its input."""

    def setUp(self):
        super().setUp()
        self.recorder = subprocess.Popen([HEAPTAP, "run", "-q", "-o", self.trace, "--", "cat"], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, cwd=self.directory)
        self.addCleanup(self.end)
        # What it answers says that it runs, and is recorded.
        self.recorder.stdin.write(b"ready\n")
        self.recorder.stdin.flush()
        self.assertEqual(self.recorder.stdout.readline(), b"ready\n")
        names = {pid: pathlib.Path(f"/proc/{pid}/comm").read_text() for pid in heaptap_test.descendants(self.recorder.pid)}
        self.pid = next(pid for pid, name in names.items() if name == "cat\n")

    def end(self):
        heaptap_test.end(self.recorder)
        self.recorder.wait()
        self.recorder.stdout.close()
        if not self.recorder.stdin.closed:
            self.recorder.stdin.close()

    def until_alone(self):
        """What the console has begun in the background writes into the directory until its end."""
        wait_for("nobody else works in the directory", lambda: working_in(self.directory) <= {self.recorder.pid, self.pid})

    def script(self, *commands):
        return heaptap("console", self.pid, *[word for command in commands for word in ("-x", command)], cwd=self.directory)

    def said(self, *commands):
        outcome = self.script(*commands)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def test_it_is_looked_at(self):
        self.assertIn(f"cat (pid {self.pid}): running", self.said("status"))
        self.assertIn("still being recorded", self.said("show summary"))
        self.assertIn("running", self.said("processes"))
        self.assertRegex(self.said("info"), r"CPU of heaptap +\d")
        self.assertEqual(self.said("monitor 0 2").count(f"cat (pid {self.pid}): running"), 2)
        self.assertIn("frames", self.said("dump > all", "set"))
        self.assertIn("NOT FREED", (self.directory / "all").read_text())
        self.assertIn("malloc", self.said("export folded"))

    def test_it_is_steered(self):
        self.assertIn("warm", self.said("mark warm", "marks"))
        self.assertIn("recording is off", self.said("stop", "status"))
        self.assertIn("recording is on", self.said("start"))
        self.assertIn("counts from here on", self.said("reset"))
        self.assertRegex(self.said("scan"), r"Scan .*on request")
        self.assertIn("lost, allocated since scan 1", self.said("scan new"))
        self.assertIn("still lost", self.said("scan lost"))
        self.assertIn("depth       5", self.said("set depth 5", "set"))

    def test_it_ends_and_its_trace_is_shown(self):
        terminal = Terminal(self, self.pid)
        terminal.until(f"{self.pid}> $")
        terminal.type("mar")
        terminal.until("mar")
        self.recorder.stdin.close()
        terminal.until(r"the recording has ended[^\n]*\n[^\n]*> mar")
        terminal.type("ks\r")
        terminal.until("no marks")
        terminal.until(r"\(past\)> $")
        self.assertIn("exited with 0", terminal.ask("status"))

    def test_what_happens_elsewhere_is_said_above_the_line_that_is_typed(self):
        terminal = Terminal(self, self.pid)
        terminal.until(f"{self.pid}> $")
        terminal.type("mar")
        terminal.until("mar")
        self.assertEqual(heaptap("leaks", self.pid).status, 0)
        news = terminal.until(rf"process {self.pid}: scan 1 finished\r\n[^\n]*{self.pid}> mar$")
        self.assertRegex(news, r"^\x1b\[J" + f"process {self.pid}: scan 1")  # in place of the line that was there
        os.kill(self.recorder.pid, signal.SIGKILL)
        terminal.until(r"the recording has ended[^\n]*: its trace is still shown\r\n[^\n]*> mar$")
        terminal.type("ks\r")  # what was typed is a command still
        terminal.until("no marks")
        terminal.until(r"\(past\)> $")
        self.assertIn("recording was interrupted", terminal.ask("show summary"))

    def test_detach_and_kill(self):
        self.said(f"detach {self.pid}")
        os.kill(self.pid, 0)  # it goes on

    def test_a_signal_is_sent(self):
        self.said("kill TERM")
        ended(self.recorder)

    def test_ctrl_c_never_reaches_the_program(self):
        terminal = Terminal(self, self.pid)
        terminal.until(f"{self.pid}> $")
        terminal.type("monitor 100\r")
        terminal.until("events")
        terminal.type("\x03")
        terminal.until(f"{self.pid}> $")
        terminal.type("\x03")
        terminal.until(f"{self.pid}> $")
        terminal.type("\x04")
        self.assertEqual(terminal.status(), 0)
        self.assertIsNone(self.recorder.poll())

    def test_it_is_found_by_the_path_of_its_socket(self):
        socket = next(path for directory in heaptap_test.socket_directories() for path in directory.glob(f"{self.recorder.pid}.sock"))
        terminal = Terminal(self, socket)
        terminal.until(f"{self.pid}> $")
        self.assertIn(f"cat (pid {self.pid}): running", terminal.ask("status"))
        other = self.directory / "socket"
        self.assertEqual(heaptap("console", other, "-x", "status").status, 125)

    def test_several_recordings_are_a_choice(self):
        second = GoingOn("test_detach_and_kill")
        second.setUp()
        self.addCleanup(second.doCleanups)
        # In a script nobody can choose.
        outcome = heaptap("console", "-x", "status", cwd=self.directory)
        self.assertEqual(outcome.status, 2, outcome)
        self.assertIn(f"{self.pid}  cat", outcome.stderr.decode())
        terminal = Terminal(self)
        asked = r"Which one \(1 to \d+; none; q\)\? $"
        listed = terminal.until(asked)
        numbers = {int(pid): int(number) for number, pid in re.findall(r"(\d+)\)  (\d+)  ", listed)}
        self.assertLessEqual({self.pid, second.pid}, set(numbers))
        for wrong in ("0", "x", "attach 5"):
            terminal.type(wrong + "\n")
            self.assertIn(f"'{wrong}' is none of these: a number from 1 to", terminal.until(asked))
        terminal.type("help\n")
        self.assertIn("`none` begins without", " ".join(terminal.until(asked).split()))
        terminal.type(f"{numbers[second.pid]}\n")
        terminal.until(f"{second.pid}> $")
        self.assertIn(f"cat (pid {second.pid}): running", terminal.ask("status"))
        terminal = Terminal(self)
        terminal.until(asked)
        terminal.type("q\n")
        self.assertEqual(terminal.status(), 0)
        terminal = Terminal(self)
        terminal.until(asked)
        terminal.type("none\n")
        self.assertIn("no recording: start one with", terminal.until("> $"))
        # The end of the input chooses none.
        terminal = Terminal(self)
        terminal.until(asked)
        terminal.type("\x04")
        terminal.until("no recording chosen")
        self.assertEqual(terminal.status(), 2)

    def test_a_process_is_attached_to(self):
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.kill)
        terminal = Terminal(self, self.pid)
        terminal.until(f"{self.pid}> $")
        self.assertIn("connected; output of heaptap and of the program goes to heaptap.console.", terminal.ask(f"attach {process.pid}"))
        self.assertIn(f"cat (pid {process.pid}): running", terminal.ask("status"))
        self.assertIn("process", terminal.ask(f"attach {self.pid}"))  # recorded already: connected to
        self.assertIn(f"cat (pid {self.pid}): running", terminal.ask("status"))
        terminal.ask(f"attach {process.pid}")
        terminal.ask("detach")
        self.assertIn("is not a PID", terminal.ask("attach me"))
        self.assertIn("999999999", terminal.ask("attach 999999999"))
        terminal.type("quit\r")
        self.assertEqual(terminal.status(), 0)
        self.assertIsNone(process.poll())
        process.stdin.write(b"still\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"still\n")

    def unrecorded(self):
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def assert_unharmed(self, process):
        self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        process.stdin.write(b"still\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), b"still\n")

    def test_an_unrecorded_process_is_recorded_as_long_as_the_console_lives(self):
        process = self.unrecorded()
        trace = self.directory / f"heaptap.cat.{process.pid}.htap"
        terminal = Terminal(self, process.pid)
        said = " ".join(terminal.until(f"{process.pid}> $").split())
        self.assertIn(f"process {process.pid} wasn't being recorded: attached to it until this console ends; trace: ", said)
        self.assertIn(f"cat (pid {process.pid}): running", terminal.ask("status"))
        terminal.type("quit\r")
        self.assertIn(trace.name, terminal.until("the recording of this console has ended; its trace is .*\n"))
        self.assertEqual(terminal.status(), 0)
        self.assert_unharmed(process)
        self.assertEqual(heaptap("show", "summary", trace).status, 0)

    def test_the_same_in_a_script(self):
        process = self.unrecorded()
        outcome = heaptap("console", process.pid, "-x", "scan", "-x", "mark here", cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        self.assertIn(b"mark 'here' is set\n", outcome.stdout)
        self.assertNotIn(b"mark 1", outcome.stderr)
        self.assertTrue((self.directory / f"heaptap.cat.{process.pid}.htap").exists())
        self.assert_unharmed(process)

    def test_a_console_that_is_killed_detaches(self):
        process = self.unrecorded()
        terminal = Terminal(self, process.pid)
        terminal.until(f"{process.pid}> $")
        terminal.process.kill()
        status = pathlib.Path(f"/proc/{process.pid}/status")
        wait_for("nothing traces it", lambda: "TracerPid:\t0\n" in status.read_text(), state=process.pid)
        self.assert_unharmed(process)

    def test_a_process_that_is_gone(self):
        outcome = heaptap("console", 4194303, "-x", "status", cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), outcome)
        self.assertIn("no process 4194303", outcome.stderr.decode())

    def test_a_failed_attach_is_not_taken_for_a_trace_of_another(self):
        other = self.directory / "heaptap.other.1.htap"
        self.assertEqual(heaptap("run", "-q", "-o", other, "--", built("malloc_family"), cwd=self.directory).status, 0)
        done = threading.Event()

        def keep_it_new():
            while not done.wait(0.001):
                os.utime(other)
        newer = threading.Thread(target=keep_it_new)
        newer.start()
        self.addCleanup(newer.join)
        self.addCleanup(done.set)
        outcome = heaptap("console", self.pid, "-x", "attach 999999999", cwd=self.directory)
        self.assertEqual(outcome.status, 125, outcome)
        self.assertIn("no process 999999999", outcome.stderr.decode())

    def test_reset_counts_from_there_on(self):
        line = b"x" * 1000 + b"\n"  # no more than pipes hold: nobody reads while it is written

        def echo():
            self.recorder.stdin.write(line)
            self.recorder.stdin.flush()
            self.recorder.stdout.readline()

        def allocations(*commands):
            said = self.said(*commands, "show summary --json >| now.json")
            return said, json.loads((self.directory / "now.json").read_text())
        echo()
        _, before = allocations()
        self.assertGreater(before["totals"]["allocations"], 0)
        _, after = allocations("clear")
        self.assertEqual(after["totals"]["allocations"], 0)
        self.assertIn("from mark #1", after["filter"])  # that the reset set
        self.said("show summary --from start --json >| now.json")
        self.assertGreaterEqual(json.loads((self.directory / "now.json").read_text())["totals"]["allocations"], before["totals"]["allocations"])

    def test_what_older_tracers_can_do_can_be_done(self):
        """Each command of interactive heap tracers has its counterpart: what it says, and what holds then."""
        terminal = Terminal(self, self.pid)
        terminal.until(f"{self.pid}> $")
        keys = heaptap("console", self.pid, "-x", "dump nonsense").stderr.decode().partition("one of ")[2].strip().split(", ")
        self.assertGreater(len(keys), 8, keys)
        table = [
            ("set color never", r"> $"),
            ("help", r"scan \[all\|new\|lost\]|\n  scan "),
            ("help scan", r"all: all leaks"),
            ("status", rf"cat \(pid {self.pid}\): running"),
            ("start", r"recording is on"),
            ("stop", r"recording is off"),
            ("status", r"running, recording is off"),
            ("start", r"recording is on"),
            ("processes", rf"{self.pid} .* cat .* running"),
            *((f"dump {key}", r"NOT FREED|ALLOCATED|#\d+") for key in keys),
            ("dump > all", r"> $"),
            ("dump usage > all", r"all.* exists|>\| replaces"),
            ("dump usage >> all", r"> $"),
            ("scan", r"Scan "),
            ("scan all", r"Scan "),
            ("scan new", r"lost, allocated since scan"),
            ("scan lost", r"still lost"),
            ("set searchpath /usr/lib/debug:/tmp", r"> $"),
            ("set searchpath", r"/usr/lib/debug:/tmp"),
            ("set depth 4", r"> $"),
            ("set depth", r"\b4\b"),
            ("set depth 0", r"> $"),
            ("set", r"searchpath +/usr/lib/debug:/tmp"),
            ("info", r"frames of a stack +all[^$]*CPU of heaptap"),
            ("monitor 0 2", rf"cat \(pid {self.pid}\): running"),
            ("mark here", r"mark 'here' is set"),
            ("marks", r"here"),
            ("reset", r"counts from here on"),
            ("show top --from start", r"#\d+"),
            ("clear", r"counts from here on"),
            ("detach", r"detached"),
        ]
        for command, said in table:
            with self.subTest(command=command):
                self.assertRegex(terminal.ask(command), said)
        self.assertIn("NOT FREED", (self.directory / "all").read_text())
        number = re.search(r"#(\d+)", (self.directory / "all").read_text())[1]
        self.assertIn(f"#{number}  by ", terminal.ask(f"report {number}"))
        terminal.type("quit\r")
        self.assertEqual(terminal.status(), 0)
        os.kill(self.pid, 0)

    def test_a_program_is_run_in_the_background(self):
        terminal = Terminal(self, self.pid)
        terminal.until(f"{self.pid}> $")
        self.assertIn("connected", terminal.ask("run sleep 1000"))
        other = re.search(r"\(pid (\d+)\)", terminal.ask("status"))[1]
        self.assertNotEqual(int(other), self.pid)
        terminal.ask("kill TERM")
        terminal.type("quit\r")
        self.assertEqual(terminal.status(), 0)
        self.until_alone()

    def test_recorders_that_are_stopped_hold_up_no_other(self):
        stopped = []
        for _ in range(2):
            other = GoingOn("test_detach_and_kill")
            other.setUp()
            self.addCleanup(other.doCleanups)
            stopped.append(other.recorder)
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
            self.addCleanup(process.send_signal, signal.SIGCONT)
        outcome = heaptap("console", self.pid, "-x", "run sleep 1000", "-x", "kill TERM", cwd=self.directory)
        self.assertEqual(outcome.status, 0, outcome)
        self.until_alone()


if __name__ == "__main__":
    unittest.main()
