# CTEST PROCESSORS 2
# CTEST COST 25
"""heaptap top: on a terminal (tmux), as text, as JSON; how it gives the terminal back; and with processes that run."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import terminal
from heaptap_test import HEAPTAP, built, heaptap
from waiting import ended, until_it_woke, wait_for

ANIMATION = pathlib.Path(HEAPTAP).resolve().parent / "animate_top"

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


# Makes as many blocks as a line says, of sizes that don't compress, and says when it is done.
WORKING = r"""
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
void* kept[4096];
int main() {
  std::printf("%d\n", getpid());
  std::fflush(stdout);
  uint64_t random = 88172645463325252;
  for (long count = 0; std::scanf("%ld", &count) == 1;) {
    for (long i = 0; i < count; ++i) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      void*& place = kept[random % 4096];
      std::free(place);
      place = std::malloc(random >> 20 & 4095);
    }
    std::puts("done");
    std::fflush(stdout);
  }
}
"""


class Tmux:
    """A terminal with a program on it; a server of its own."""

    def __init__(self, directory, *command, width=80, height=24, environment=None):
        self.socket = tempfile.mkdtemp(dir=directory) + "/tmux"  # a server that is on its way out isn't asked
        self.after = directory / "after"
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

    def keys_until(self, key, text):
        """The key again and again until the text is there: who goes on throws away what was typed before (curses' flushinp)."""
        looks = 0

        def is_there():
            nonlocal looks
            if looks % 40 == 0:
                self.keys(key)
            looks += 1
            return text in self.screen()

        wait_for(f"{text} on the screen", is_there, state=self.screen)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def colors(self):
        return self.tmux("capture-pane", "-p", "-e")

    def wait_for(self, *texts):
        """The screen, as soon as it has all of them."""
        return self.wait_until(lambda screen: all(text in screen for text in texts), texts)

    def wait_until(self, is_so, what):
        screens = []

        def is_shown():
            screens[:] = [self.screen()]
            return is_so(screens[0])

        wait_for(f"{what} on the screen", is_shown, state=lambda: screens[0])
        return screens[0]

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True)


def child_of(pid, name):
    """The process of this name below another one."""
    def find():
        listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout.splitlines()
        lines = [line.split(None, 2) for line in listed]
        return [int(found) for found, parent, command in lines if int(parent) == pid and command.startswith(name)]

    return wait_for(f"{pid} has a child {name}", find, state=pid)[0]


class Top(heaptap_test.TestCase):
    def record(self):
        trace = self.directory / "t.htap"
        outcome = heaptap("run", "-q", "--force", "-o", trace, "--", built("leak_shop"), cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return trace

    def on_tmux(self, *command, **options):
        if shutil.which("tmux") is None:
            self.skipTest("there is no tmux")
        screen = Tmux(self.directory, *command, **options)
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
        self.assertRegex(text, r"\n +7\d\.0K +[12] .*  \(memory of system libraries\)\n$")
        self.assertNotIn("call_init", text)
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

    def test_ages_are_those_of_the_blocks(self):
        trace = self.record()
        sample = json.loads(heaptap("top", "--json", "-n", "1000", "--sort", "age", trace).stdout)
        blocks = json.loads(heaptap("show", "blocks", "--json", "-n", "0", trace).stdout)["blocks"]
        times = {}
        for block in blocks:
            times.setdefault(block["stack"], []).append(block["allocated_at_ns"])
        self.assertTrue(times)
        ages = {stack["id"]: stack["mean_age_ns"] for stack in sample["stacks"]}
        for stack, allocated in times.items():
            self.assertEqual(ages[stack], sample["time_ns"] - sum(allocated) // len(allocated))
        for stack in sample["stacks"]:
            self.assertEqual(stack["mean_age_ns"] is None, stack["live_blocks"] == 0, stack)
        known = [stack["mean_age_ns"] for stack in sample["stacks"] if stack["live_blocks"] != 0]
        self.assertEqual(known, sorted(known, reverse=True), "the oldest first")

    def test_what_cannot_be_shown_is_an_error(self):
        for arguments, status in ((("no/such.htap",), 125), (("--delay", "1ms", "1"), 2), (("--once", "--json", "1"), 2), (("--sort", "x"), 2)):
            outcome = heaptap("top", *arguments, cwd=self.directory)
            self.assertEqual(outcome.status, status, str(outcome))
            self.assertTrue(outcome.stderr.startswith(b"heaptap: "), str(outcome))

    # On a terminal.

    def test_a_trace_on_the_screen(self):
        screen = self.on_tmux(HEAPTAP, "top", self.record())
        screen.wait_for("leak_shop", "WHERE", "recorded trace", "q quit")
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
        screen.wait_for("Stack #", "Frames, innermost first", "operator new")
        screen.keys("NPage")
        screen.wait_for("What points to")
        screen.keys("Escape")
        screen.keys("End", "Enter")
        screen.wait_until(lambda seen: " 71.0K " in seen and "(memory of system libraries)" not in seen, "the stacks of libraries")
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
        until_it_woke(self.pane_program(screen, "animate_top"), 20)
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
        screen.keys_until("q", "signal 0")

    # Of what runs.

    def growing(self):
        source = self.directory / "growing.cc"
        source.write_text(GROWING)
        program = self.directory / "growing"
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
        outcome = heaptap("top", "--json", "--delay", "1s", "--count", "4", process.pid, cwd=self.directory, env={**os.environ, "TMPDIR": str(self.directory)})
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
        self.assertEqual(list(self.directory.glob("heaptap-*")), [])

    def test_a_picture_of_a_process_that_is_attached_to_is_of_one_delay(self):
        process = self.start_growing()
        outcome = heaptap("top", "--once", "--delay", "700ms", process.pid, cwd=self.directory, env={**os.environ, "TMPDIR": str(self.directory)})
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        picture = outcome.stdout.decode()
        self.assertRegex(picture, r" allocs/s +[1-9]")  # of two samples
        self.assertRegex(picture, r"#\d+ keep_line ")
        self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{process.pid}/status").read_text())
        self.assertEqual(list(self.directory.glob("heaptap-*")), [])

    def test_shows_a_recording_that_goes_on_and_leaves_it_alone(self):
        process = self.start_growing()
        attached = subprocess.Popen([HEAPTAP, "attach", "--via", "ptrace", "-q", "-o", self.directory / "a.htap", str(process.pid)], cwd=self.directory)
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
        ended(attached)

    def test_rates_do_not_jump_between_frames(self):
        # A frame comes once a second, as samples do: none of these may be taken for a second in which nothing happened.
        process = self.start_growing()
        outcome = heaptap("top", "--json", "--delay", "300ms", "--count", "14", process.pid, cwd=self.directory, env={**os.environ, "TMPDIR": str(self.directory)})
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        samples = [json.loads(line) for line in outcome.stdout.splitlines()]
        rates = [sample["totals"]["allocations_per_second"] for sample in samples]
        known = [rate for rate in rates[len(rates) // 2:] if rate is not None]
        self.assertTrue(known, rates)
        self.assertGreater(min(known), 0, rates)

    def test_a_process_that_does_nothing_has_rates_of_nothing(self):
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        outcome = heaptap("top", "--json", "--delay", "1s", "--count", "4", process.pid, cwd=self.directory, env={**os.environ, "TMPDIR": str(self.directory)})
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(json.loads(outcome.stdout.splitlines()[-1])["totals"]["allocations_per_second"], 0)
        self.assertIsNone(process.poll())

    def test_resized_while_it_runs(self):
        screen = self.on_tmux(HEAPTAP, "top", "--delay", "200ms", str(self.start_growing().pid))
        screen.wait_for("growing (pid", "keep_line")
        for width, height, texts in ((40, 10, ("growin", "q quit")), (200, 60, ("growing (pid", "CALLS/S", "LIFETIME", "p freeze")),
                                     (80, 24, ("growing (pid", "q quit")), (20, 4, ("q quit",)), (80, 24, ("growing (pid", "WHERE", "q quit"))):
            with self.subTest(width=width, height=height):
                screen.tmux("resize-window", "-x", str(width), "-y", str(height))
                lines = screen.wait_for(*texts).rstrip("\n").split("\n")
                self.assertLessEqual(len(lines), height)
                self.assertEqual([line for line in lines if len(line) > width], [])
                # The head is there once: nothing of the size before is left.
                if width < 40:
                    continue
                self.assertEqual(sum("growing (pid" in line or line.lstrip().startswith("growin") for line in lines), 1, lines)
        screen.keys("q")
        screen.wait_for("status 0")

    def test_a_click_chooses_a_row_and_a_second_one_opens_it(self):
        trace = self.record()
        screen = self.on_tmux(HEAPTAP, "top", trace, environment={"TERM": "screen"})
        before = screen.wait_for("WHERE", "q quit").split("\n")
        row = next(number for number, line in enumerate(before) if "WHERE" in line) + 2
        stack = before[row].partition("#")[2].split()[0]

        def click():
            for button in (0, 3):  # pressed, released
                screen.keys("-H", "1b", "5b", "4d", f"{32 + button:x}", f"{32 + 10:x}", f"{33 + row:x}")
        colors = screen.colors()
        click()
        wait_for("a row is marked", lambda: screen.colors() != colors, state=screen.colors)
        self.assertIn("WHERE", screen.screen())
        click()
        screen.wait_for(f"Stack #{stack}", "Frames, innermost first")
        screen.keys("Escape")
        screen.wait_for("WHERE")
        screen.keys("q")
        screen.wait_for("status 0")

    def test_a_process_with_a_title_of_its_own(self):
        source = self.directory / "titled.cc"
        source.write_text(r"""
#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  char* const end = argv[argc - 1] + std::strlen(argv[argc - 1]);
  std::memset(argv[0], 0, static_cast<size_t>(end - argv[0]));
  std::strcpy(argv[0], "server: worker /run/a.sock");
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
}
""")
        program = self.directory / "titled one"
        self.assertEqual(heaptap_test.run(["g++", "-o", program, source]).status, 0)
        for arguments, name in ((["x" * 100], "server"), ([], "titled one")):
            if not arguments:
                source.write_text("#include <cstdio>\nint main() { std::puts(\"ready\"); std::fflush(stdout); std::getchar(); }")
                self.assertEqual(heaptap_test.run(["g++", "-o", program, source]).status, 0)
            process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            self.addCleanup(process.stdin.close)
            process.stdout.readline()
            outcome = heaptap("top", "--json", "--count", "1", process.pid, cwd=self.directory)
            self.assertEqual(outcome.status, 0, str(outcome))
            self.assertEqual(json.loads(outcome.stdout)["process"]["program"], name)

    def test_starts_a_program_on_the_screen(self):
        screen = self.on_tmux(HEAPTAP, "top", "--delay", "200ms", "--", self.growing())
        screen.wait_for("growing (pid", "keep_line", "via agent")
        screen.keys("q")
        screen.wait_for("status 0")

    # A server under load.

    def start_redis(self, *recorder):
        """The process that was started, the server's pid, and its clients' process; these go on for as long as they are let."""
        server, client = shutil.which("redis-server"), shutil.which("redis-benchmark")
        if not server or not client:
            heaptap_test.skip_what_is_missing("redis-server and redis-benchmark")
        address = self.directory / "redis.sock"
        process = subprocess.Popen([*map(str, recorder), server, "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no",
                                    "--logfile", "/dev/null"], cwd=self.directory)
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)
        self.ask_redis("PING", process)
        load = subprocess.Popen([client, "-s", address, "-c", "4", "-q", "-l", "-r", "10000", "-d", "100", "-t", "set,lpush,lrange_100,hset"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        pids = [process.pid, *heaptap_test.descendants(process.pid)]
        (pid,) = [pid for pid in pids if pathlib.Path(f"/proc/{pid}/comm").read_text() == "redis-server\n"]
        return process, pid, load

    def ask_redis(self, request, process):
        def answer():
            self.assertIsNone(process.poll())
            try:
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(str(self.directory / "redis.sock"))
                    connection.sendall(request.encode() + b"\r\n")
                    return connection.recv(1000)
            except OSError:
                return b""

        return wait_for("redis-server answers", answer, state=process)

    def assert_sound_picture(self, screen, width, height):
        lines = screen.rstrip("\n").split("\n")
        self.assertEqual(len(lines), height, screen)
        self.assertEqual([line for line in lines if len(line) > width], [], screen)
        rows = [line.partition("  #")[2] for line in lines if "  #" in line]
        self.assertEqual(len(rows), height - 7, screen)
        # Each has a function's name, not only a place in a file; nearly all: of libraries that are stripped there are none.
        named = [row for row in rows if re.match(r"\d+ (\[mapped\] )?[A-Za-z_]\w*( |$)", row)]
        self.assertGreater(len(named), len(rows) / 2, screen)
        self.assertEqual([row for row in rows if row.endswith("…")], [], screen)
        self.assertLess(sum("..." in row for row in rows), len(rows) / 4, f"they are cut:\n{screen}")

    def test_redis_under_load(self):
        process, pid, load = self.start_redis(HEAPTAP, "run", "-q", "--no-leak-scan", "-o", self.trace, "--")
        screen = self.on_tmux(HEAPTAP, "top", "--delay", "200ms", pid)
        known = re.compile(r"allocs/s +[1-9][\d.,]*[kM]? .*frees/s +[1-9]", re.DOTALL)
        is_full = lambda text: known.search(text) and text.count("  #") == text.rstrip().count("\n") - 6 and "…" not in text
        for width, height in ((80, 24), (200, 60)):
            with self.subTest(width=width, height=height):
                screen.tmux("resize-window", "-x", str(width), "-y", str(height))
                picture = screen.wait_until(lambda text: len(text.rstrip("\n").split("\n")) == height and is_full(text), "rates and named stacks")
                self.assertIn(f"redis-server (pid {pid})", picture)
                self.assertRegex(picture.split("\n")[0], r"via agent +\d\d:\d\d:\d\d$")
                self.assertIn(" AGE ", picture)
                self.assert_sound_picture(picture, width, height)
        screen.keys("q")
        screen.wait_for("status 0")
        self.assertEqual(self.ask_redis("PING", process), b"+PONG\r\n")
        self.assertIsNone(load.poll(), "its clients didn't notice")
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(ended(process), 0)
        self.assertEqual(heaptap_test.summary(self.trace)["capture"]["lost_events"], 0)

    def test_redis_under_load_is_attached_to_and_let_go(self):
        process, pid, load = self.start_redis()
        outcome = heaptap("top", "--json", "--delay", "500ms", "--count", "4", pid, cwd=self.directory, env={**os.environ, "TMPDIR": str(self.directory)})
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), str(outcome))
        last = json.loads(outcome.stdout.splitlines()[-1])
        self.assertGreater(last["totals"]["allocations_per_second"], 0)
        self.assertTrue(any(stack["site"].partition(" ")[0].isidentifier() for stack in last["stacks"]), last["stacks"])
        self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{pid}/status").read_text())
        self.assertEqual(self.ask_redis("PING", process), b"+PONG\r\n")
        self.assertIsNone(load.poll(), "its clients didn't notice")
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(ended(process), 0)

    # A program that is faster than the reader.

    def test_a_reader_that_was_stopped_says_so_and_catches_up(self):
        source = self.directory / "working.cc"
        source.write_text(WORKING)
        self.assertEqual(heaptap_test.run(["g++", "-O1", "-o", self.directory / "working", source]).status, 0)
        recorder = subprocess.Popen([HEAPTAP, "run", "-q", "--no-leak-scan", "-o", self.trace, "--", self.directory / "working"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(heaptap_test.end, recorder)
        pid = int(recorder.stdout.readline())
        top = subprocess.Popen([HEAPTAP, "top", "--json", "--delay", "50ms", str(pid)], stdout=subprocess.PIPE, text=True, cwd=self.directory)
        self.addCleanup(top.stdout.close)
        self.addCleanup(top.wait)
        self.addCleanup(heaptap_test.end, top)
        before = json.loads(top.stdout.readline())
        nice = [int(thread.read_text().rpartition(")")[2].split()[16]) for thread in pathlib.Path(f"/proc/{top.pid}/task").glob("*/stat")]
        self.assertIn(min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19), nice, "its reader lets others go first")
        os.kill(top.pid, signal.SIGSTOP)
        # The program and its recording don't wait for who looks at them.
        recorder.stdin.write("2000000\n")
        recorder.stdin.flush()
        self.assertEqual(recorder.stdout.readline(), "done\n")
        wait_for("4 MiB of a trace", lambda: self.trace.stat().st_size >= 4 << 20, state=[recorder, lambda: self.trace.stat()])
        os.kill(top.pid, signal.SIGCONT)
        samples = [before]
        while samples[-1]["behind_bytes"] != 0 or samples[-1]["totals"]["allocations"] < 2_000_000:
            samples.append(json.loads(top.stdout.readline()))
        behind = [sample for sample in samples if sample["behind_bytes"] > 1 << 20]
        self.assertTrue(behind, [sample["behind_bytes"] for sample in samples])
        self.assertGreater(behind[0]["behind_ns"], 0)
        counted = [sample["totals"]["allocations"] for sample in samples]
        self.assertEqual(counted, sorted(counted))
        recorder.stdin.close()
        self.assertEqual(ended(recorder), 0)
        summary = heaptap_test.summary(self.trace)
        self.assertEqual(summary["capture"]["lost_events"], 0)
        for name, name_there in (("allocations", "allocations"), ("releases", "frees"), ("live_bytes", "live_bytes"), ("live_blocks", "live_blocks")):
            self.assertEqual(samples[-1]["totals"][name], summary["totals"][name_there], name)
        self.assertEqual(samples[-1]["behind_ns"], 0)

    def test_says_why_it_cannot_attach(self):
        outcome = heaptap("top", "--once", "999999999", cwd=self.directory)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"999999999", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
