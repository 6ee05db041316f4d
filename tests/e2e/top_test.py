"""heaptap top: on a terminal (tmux), as text, as JSON; how it gives the terminal back; and with processes that run."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import terminal
from heaptap_test import HEAPTAP, built, heaptap

ANIMATION = pathlib.Path(HEAPTAP).resolve().parent / "animate_top"
PATIENCE = 60

GROWING = r"""
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>
std::vector<char*> kept;
[[gnu::noinline]] void keep_line() { kept.push_back(static_cast<char*>(std::malloc(1000))); }
[[gnu::noinline]] void forget_line() { *static_cast<volatile char*>(std::malloc(77)) = 1; }
int main() {
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    keep_line();
    forget_line();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}
"""


class Tmux:
    """A terminal with a program on it; a server of its own."""

    def __init__(self, folder, *command, width=80, height=24, environment=None):
        self.socket = tempfile.mkdtemp(dir=folder) + "/tmux"  # a server that is on its way out isn't asked
        self.after = folder / "after"
        variables = {**os.environ, "LC_ALL": "C.UTF-8", **(environment or {})}
        variables.pop("TMUX", None)
        words = " ".join(f"'{word}'" for word in map(str, command))
        script = f"{words}; echo status $?; stty -a | grep -o -- '-\\?echo\\b' | head -1; exec sleep 1000"
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), script],
                       check=True, env=variables)

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-S", self.socket, *arguments], check=True, capture_output=True, text=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait_for(self, *texts):
        """The screen, as soon as it has all of them."""
        end = time.monotonic() + PATIENCE
        while True:
            screen = self.screen()
            if all(text in screen for text in texts):
                return screen
            assert time.monotonic() < end, f"no {texts} in:\n{screen}"
            time.sleep(0.05)

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)


def child_of(pid, name):
    """The process of this name below another one."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for line in subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout.splitlines():
            found, parent, command = line.split(None, 2)
            if int(parent) == pid and command.startswith(name):
                return int(found)
        time.sleep(0.05)
    raise AssertionError(f"{pid} has no child {name}")


class Top(heaptap_test.TestCase):
    def record(self):
        trace = self.folder / "t.htap"
        outcome = heaptap("run", "-q", "--force", "-o", trace, "--", built("leak_shop"), cwd=self.folder)
        self.assertEqual(outcome.status, 0, str(outcome))
        return trace

    def on_tmux(self, *command, **options):
        if shutil.which("tmux") is None:
            self.skipTest("there is no tmux")
        screen = Tmux(self.folder, *command, **options)
        self.addCleanup(screen.end)
        return screen

    def pane_program(self, screen, name):
        return child_of(int(screen.tmux("display-message", "-p", "#{pane_pid}")), name)

    # Without a terminal.

    def test_into_a_pipe_goes_one_picture(self):
        trace = self.record()
        environment = {**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
        outcome = heaptap("top", trace, env=environment)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""))
        text = outcome.stdout.decode()
        self.assertIn("leak_shop (pid ", text)
        self.assertIn("LEAKED", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(terminal.too_wide(text, 100), [])
        self.assertEqual(text, heaptap("top", "--once", trace, env=environment).stdout.decode())
        colored = heaptap("top", "--once", "--color=always", trace, env=environment).stdout.decode()
        self.assertEqual(terminal.ESCAPES.sub("", colored), text)
        self.assertNotEqual(colored, text)

    def test_a_plain_locale_and_a_dumb_terminal_get_plain_text(self):
        trace = self.record()
        heaptap("top", trace, env={**os.environ, "LC_ALL": "C"}).stdout.decode("ascii")
        text, errors, status = terminal.on_terminal("top", trace, TERM="dumb", LC_ALL="C.UTF-8")
        self.assertEqual((status, errors), (0, ""))
        self.assertNotIn("\x1b", text)

    def test_json_is_an_object_a_line(self):
        trace = self.record()
        outcome = heaptap("top", "--json", "-n", "2", "--sort", "leaked", trace)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""))
        lines = outcome.stdout.decode().splitlines()
        self.assertEqual(len(lines), 1)
        sample = json.loads(lines[0])
        report = json.loads(heaptap("show", "summary", "--json", trace).stdout)
        self.assertEqual(sample["totals"]["live_bytes"], report["totals"]["live_bytes"])
        self.assertEqual(sample["totals"]["allocations"], report["totals"]["allocations"])
        self.assertEqual(sample["leaks"]["definite"], report["leaks"]["definite"])
        self.assertIsNone(sample["stacks"][0]["growth_bytes"])
        self.assertEqual(len(sample["stacks"]), 2)
        self.assertGreaterEqual(sample["stacks"][0]["leaked_bytes"], sample["stacks"][1]["leaked_bytes"])

    def test_what_cannot_be_shown_is_an_error(self):
        for arguments, status in ((("no/such.htap",), 125), (("--delay", "1ms", "1"), 2), (("--once", "--json", "1"), 2), (("--sort", "x"), 2)):
            outcome = heaptap("top", *arguments, cwd=self.folder)
            self.assertEqual(outcome.status, status, str(outcome))
            self.assertTrue(outcome.stderr.startswith(b"heaptap: "), str(outcome))

    # On a terminal.

    def test_a_trace_on_the_screen(self):
        screen = self.on_tmux(HEAPTAP, "top", self.record())
        screen.wait_for("leak_shop", "WHERE", "of the past", "q quit")
        screen.keys("?")
        screen.wait_for("Keys", "scan for leaks")
        screen.keys("Escape")
        screen.wait_for("WHERE")
        screen.keys("o")
        screen.wait_for("MODULE")
        screen.keys("t")
        screen.wait_for("THREAD")
        screen.keys("k")
        screen.keys("Enter")
        screen.wait_for("Stack #", "Frames, innermost first", "Who holds")
        screen.keys("Escape")
        screen.keys("/", "zzz")
        screen.wait_for("The filter hides all of them.", "hidden")
        screen.keys("Escape")
        screen.keys("m", "x", "Enter")
        screen.wait_for("mark: '")
        screen.tmux("resize-window", "-x", "30", "-y", "6")
        screen.wait_for("leak_sh")
        screen.tmux("resize-window", "-x", "120", "-y", "40")
        screen.wait_for("CALLS/S")
        screen.keys("q")
        self.assertIn("\necho\n", screen.wait_for("status 0", "\necho"))

    def animated(self, *arguments, **options):
        if not ANIMATION.exists():
            self.skipTest("animate_top isn't built")
        screen = self.on_tmux(ANIMATION, *arguments, **options)
        return screen

    def test_marks_scans_and_freezing(self):
        screen = self.animated(width=120)
        screen.wait_for("gate (pid 7731)", "growth since the start")
        screen.keys("m", "loaded", "Enter")
        screen.wait_for("growth since loaded", "1 mark")
        screen.keys("s")
        screen.wait_for("LEAKED", "scan 1:", "leaked in 4,000 blocks")
        screen.keys("p")
        frozen = screen.wait_for("frozen")
        time.sleep(0.5)
        self.assertEqual(screen.screen(), frozen)
        screen.keys("p")
        screen.wait_for("via agent")
        screen.keys("q")
        screen.wait_for("signal 0")

    def test_signals_give_the_terminal_back(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(number=number):
                screen = self.animated()
                screen.wait_for("gate (pid 7731)")
                os.kill(self.pane_program(screen, "animate_top"), number)
                self.assertIn("\necho\n", screen.wait_for(f"signal {int(number)}", "\necho"))
                screen.end()

    def test_a_crash_gives_the_terminal_back(self):
        screen = self.animated("crash", "5")
        self.assertIn("\necho\n", screen.wait_for("status 134", "\necho"))

    def test_exceptions_and_lost_connections_are_told(self):
        screen = self.animated("throw", "5")
        screen.wait_for("the reader failed", "WHERE")
        screen.keys("q")
        screen.wait_for("signal 0")
        screen.end()
        screen = self.animated("end", "5")
        screen.wait_for("the recording has ended", "ended", "WHERE")
        screen.keys("q")
        screen.wait_for("signal 0")

    def test_it_stops_and_goes_on(self):
        if not ANIMATION.exists():
            self.skipTest("animate_top isn't built")
        screen = self.on_tmux("bash", "--norc", "-i")
        screen.keys(f"PS1='ready> '; {ANIMATION}", "Enter")
        screen.wait_for("gate (pid 7731)")
        screen.keys("C-z")
        screen.wait_for("Stopped", "ready>")
        screen.keys("fg", "Enter")
        screen.wait_for("gate (pid 7731)", "q quit")
        screen.keys("q")
        screen.wait_for("signal 0")

    # Of what runs.

    def growing(self):
        source = self.folder / "growing.cc"
        source.write_text(GROWING)
        program = self.folder / "growing"
        self.assertEqual(heaptap_test.run(["g++", "-g", "-O1", "-o", program, source]).status, 0)
        return program

    def start_growing(self):
        process = subprocess.Popen([self.growing()], stdout=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process

    def test_attaches_and_lets_go(self):
        process = self.start_growing()
        outcome = heaptap("top", "--json", "--delay", "1s", "--count", "4", process.pid, cwd=self.folder, env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        samples = [json.loads(line) for line in outcome.stdout.splitlines()]
        self.assertEqual(len(samples), 4)
        self.assertIsNone(samples[0]["totals"]["allocations_per_second"])
        self.assertGreater(samples[-1]["totals"]["allocations"], samples[0]["totals"]["allocations"])
        self.assertGreater(samples[-1]["totals"]["resident_bytes"], 0)
        self.assertIn("keep_line", samples[-1]["stacks"][0]["site"])
        self.assertGreater(samples[-1]["stacks"][0]["growth_bytes"], 0)
        self.assertIsNone(process.poll(), "the process goes on")
        self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        self.assertEqual(list(self.folder.glob("heaptap-top*")), [])

    def test_shows_a_recording_that_goes_on_and_leaves_it_alone(self):
        process = self.start_growing()
        attached = subprocess.Popen([HEAPTAP, "attach", "-q", "-o", self.folder / "a.htap", str(process.pid)], cwd=self.folder)
        self.addCleanup(attached.wait)
        self.addCleanup(attached.kill)
        screen = self.on_tmux(HEAPTAP, "top", "--delay", "200ms", str(process.pid))
        screen.wait_for("growing (pid", "keep_line", "via ptrace")
        screen.keys("s")
        screen.wait_for("LEAKED", "scan 1:")
        screen.keys("m", "here", "Enter")
        screen.wait_for("growth since here")
        screen.keys("q")
        screen.wait_for("status 0")
        self.assertIsNone(attached.poll())
        self.assertIsNone(process.poll())
        attached.send_signal(signal.SIGINT)
        attached.wait(PATIENCE)

    def test_starts_a_program_on_the_screen(self):
        screen = self.on_tmux(HEAPTAP, "top", "--delay", "200ms", "--", self.growing())
        screen.wait_for("growing (pid", "keep_line", "via agent")
        screen.keys("q")
        screen.wait_for("status 0")

    def test_says_why_it_cannot_attach(self):
        outcome = heaptap("top", "--once", "999999999", cwd=self.folder)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"999999999", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
