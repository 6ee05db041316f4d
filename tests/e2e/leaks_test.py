"""`heaptap leaks PID`, repeated scans of one session, and exit statuses that leaks decide."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import far  # noqa: E402
import heaptap_test
from heaptap_test import HEAPTAP, TARGETS  # noqa: E402
from waiting import finished, wait_for  # noqa: E402


def shown(view, trace, *options):
    run = subprocess.run([HEAPTAP, "show", view, "--json", *options, trace], capture_output=True, text=True, check=True)
    return heaptap_test.read_report(run.stdout)


def bytes_read():
    """By this process and those that it has waited for."""
    with open("/proc/self/io") as counts:
        return int(counts.readline().removeprefix("rchar: "))


MANY_HANDLERS = """
#include <stdlib.h>
static void handler(void) {}
__attribute__((constructor)) static void register_many(void) { for (int i = 0; i < 200; ++i) atexit(handler); }
"""


class Running:
    """A target that loses a block for each line that it is sent, and answers each one."""

    def __init__(self, directory):
        self.trace = os.path.join(directory, "running.htap")
        self.process = subprocess.Popen([HEAPTAP, "run", "-q", "-o", self.trace, "--", os.path.join(TARGETS, "loses_on_demand")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as children:
            self.pid = int(children.read().split()[0])

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def leaks(self, *options):
        return subprocess.run([HEAPTAP, "leaks", str(self.pid), *options], capture_output=True, text=True)

    def end(self):
        if self.process.returncode is None:
            self.process.communicate()
        return self.process.returncode


class LeaksNow(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.target = Running(self.directory.name)
        self.addCleanup(self.target.end)

    def test_each_scan_sees_what_was_lost_until_then(self):
        for lost in range(1, 4):
            self.assertEqual(self.target.ask("lose"), "lose")
            answer = self.target.leaks("--json")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            leaks = heaptap_test.read_report(answer.stdout)["leaks"]
            self.assertEqual(leaks["definite"], {"blocks": lost, "bytes": 100 * lost})
            self.assertEqual((leaks["scan"]["number"], leaks["scan"]["at_end"]), (lost, False))
        self.assertEqual(self.target.end(), 0)
        leaks = shown("leaks", self.target.trace)["leaks"]
        self.assertEqual((leaks["scan_count"], leaks["scan"]["at_end"]), (4, True))
        self.assertEqual(leaks["definite"]["blocks"], 3)
        first = shown("leaks", self.target.trace, "--scan", "1")["leaks"]
        self.assertEqual(first["definite"]["blocks"], 1)

    def test_what_is_held_is_not_lost_until_it_is_dropped(self):
        self.target.ask("hold")
        self.assertEqual(heaptap_test.read_report(self.target.leaks("--json").stdout)["leaks"]["definite"]["blocks"], 0)
        self.target.ask("drop")
        self.assertEqual(heaptap_test.read_report(self.target.leaks("--json").stdout)["leaks"]["definite"]["blocks"], 1)

    def test_text_says_that_the_program_still_runs(self):
        self.target.ask("lose")
        answer = self.target.leaks()
        self.assertIn("still being recorded with the agent", answer.stdout)
        self.assertIn("100 B in 1 block definitely lost", answer.stdout)
        self.assertIn("loses_on_demand.c", answer.stdout)

    def test_the_sum_of_kinds_is_what_is_alive(self):
        for word in ("lose", "hold", "lose"):
            self.target.ask(word)
        report = heaptap_test.read_report(self.target.leaks("--json").stdout)
        leaks = report["leaks"]
        kinds = sum(leaks[kind]["blocks"] for kind in ("definite", "indirect", "possible", "reachable", "suppressed"))
        self.assertEqual(kinds, report["totals"]["live_blocks"])
        self.assertEqual(kinds, shown("summary", self.target.trace)["totals"]["live_blocks"])

    # However much was recorded before, what is lost is told from the scan: the events aren't read.
    def test_asks_the_scan_alone(self):
        self.target.ask("lose")
        answer = self.target.leaks()
        self.assertIn("1 block definitely lost at make loses_on_demand.c:9; by malloc", answer.stdout)
        report = heaptap_test.read_report(self.target.leaks("--json").stdout)
        stack = report["stacks"][0]
        self.assertEqual((stack["live_blocks"], stack["allocations"], stack["threads"]), (1, None, None))
        self.assertEqual(report["totals"]["allocations"], None)
        counted = heaptap_test.read_report(self.target.leaks("--json", "--sort", "total").stdout)  # a question about events
        self.assertEqual(counted["stacks"][0]["allocations"], 1)

    def test_costs_the_same_however_long_the_recording(self):
        self.target.ask("lose")
        costs = []
        for _ in range(5):
            before = bytes_read()
            self.assertEqual(self.target.leaks("-q").returncode, 0)
            costs.append((bytes_read() - before, os.path.getsize(self.target.trace)))
            self.target.ask("churn")
        self.assertGreater(costs[-1][1] - costs[0][1], 1 << 20, "the recording is too short to tell")
        self.assertLess(costs[-1][0] - costs[0][0], (costs[-1][1] - costs[0][1]) / 20, costs)

    def test_a_hundred_scans_do_the_program_no_harm(self):
        for number in range(100):
            self.target.ask("lose")
            answer = self.target.leaks("-q")
            self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(self.target.end(), 0)
        self.assertEqual(shown("leaks", self.target.trace)["leaks"]["definite"]["blocks"], 100)


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class OfAnUnrecordedProcess(heaptap_test.TestCase):
    """`heaptap leaks PID` attaches for a while, scans, and detaches."""

    def setUp(self):
        super().setUp()
        self.target = subprocess.Popen([TARGETS / "loses_on_demand"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.target.communicate)
        self.target.stdout.readline()
        self.ask("drop")  # it has its buffers

    def ask(self, word):
        self.target.stdin.write(word + "\n")
        self.target.stdin.flush()
        return self.target.stdout.readline().strip()

    def start(self, *options):
        """heaptap, from when it has attached."""
        environment = {**os.environ, "TMPDIR": str(self.directory)}
        scanning = subprocess.Popen([HEAPTAP, "leaks", *map(str, options), str(self.target.pid)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=environment, cwd=self.directory)
        self.addCleanup(self.end, scanning)
        line = scanning.stderr.readline()
        self.assertRegex(line, rf"^heaptap: process {self.target.pid} \(.*loses_on_demand\) wasn't being recorded: attached to it for ")
        return scanning

    @staticmethod
    def end(process):
        heaptap_test.end(process)
        process.communicate()

    def ask_until_seen(self, word):
        """The first ones may come before the breakpoints are there."""
        def is_seen():
            self.ask(word)
            shown = heaptap_test.heaptap("console", self.target.pid, "-x", "show summary --json", cwd=self.directory)
            return json.loads(shown.stdout)["totals"]["allocations"] > 0
        wait_for(f"{word} is seen", is_seen, state=self.target.pid)

    def assert_unharmed(self):
        self.assertIn("TracerPid:\t0\n", pathlib.Path(f"/proc/{self.target.pid}/status").read_text())
        self.assertEqual(self.ask("lose"), "lose")
        self.assertEqual(sorted(path.name for path in self.directory.iterdir()), [])

    def test_is_scanned_as_soon_as_the_user_wants(self):
        scanning = self.start("--duration", "10m")
        self.ask_until_seen("lose")
        self.ask("lose")
        self.ask("lose")
        scanning.send_signal(signal.SIGINT)
        out, err = finished(scanning)
        self.assertEqual((scanning.returncode, err), (0, ""), out)
        self.assertRegex(out, r"\n  definitely lost +\S+ \S+ +in 3 blocks\n")
        self.assertRegex(out, r"\n! recording began while the program ran")
        self.assert_unharmed()

    def test_nothing_seen_is_no_verdict(self):
        for options in ((), ("--globals",)):
            scanning = self.start("--duration", "1ms", *options)
            out, _ = finished(scanning)
            self.assertEqual(scanning.returncode, 0, out)
            self.assertRegex(out, r"(?m)^ *unknown: no allocation was seen while it was recorded$")
            self.assertNotIn("no leaks", out)
            self.assertNotIn("0 B in 0 blocks", out)
        self.assert_unharmed()

    def test_nothing_lost_is_said_of_what_was_recorded(self):
        scanning = self.start("--duration", "10m")
        self.ask_until_seen("hold")
        scanning.send_signal(signal.SIGINT)
        out, _ = finished(scanning)
        self.assertRegex(out, r"\n  no leaks in what was recorded\n")
        self.assert_unharmed()

    def test_a_signal_ends_it_and_nothing_is_left(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            scanning = self.start("--duration", "10m")
            scanning.send_signal(number)
            out, _ = finished(scanning)
            self.assertEqual((scanning.returncode, out), (-number, ""))
            self.assert_unharmed()

    def test_a_process_that_ends_first_is_scanned_at_its_end(self):
        scanning = self.start("--duration", "10m")
        self.ask_until_seen("lose")
        self.target.stdin.close()
        out, err = finished(scanning)
        self.assertEqual((scanning.returncode, err), (0, ""), out)
        self.assertRegex(out, r"\n  definitely lost +\S+ \S+ +in 1 block\n")
        self.target.wait()
        self.target.stdin = None

    def test_a_kept_trace(self):
        trace = self.directory / "kept.htap"
        scanning = self.start("--duration", "10m", "-o", trace)
        self.ask_until_seen("lose")
        scanning.send_signal(signal.SIGINT)
        finished(scanning)
        self.assertEqual(shown("leaks", trace)["leaks"]["definite"]["blocks"], 1)
        trace.unlink()
        (self.directory / "heaptap.latest.htap").unlink()
        self.assert_unharmed()

    def test_a_process_with_a_tracer(self):
        seize = 0x4206
        tracer = subprocess.Popen([sys.executable, "-c", f"""
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace({seize}, {self.target.pid}, None, None) == 0, ctypes.get_errno()
print("ready", flush=True)
sys.stdin.read()
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(tracer.communicate)
        if tracer.stdout.readline() != "ready\n":
            self.skipTest("this process may not trace others")
        outcome = heaptap_test.heaptap("leaks", self.target.pid, cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), outcome)
        self.assertRegex(outcome.stderr.decode(), rf"^heaptap: .*{self.target.pid}.*trace")
        tracer.communicate()
        self.assert_unharmed()


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class RecordedForAnotherMachine(heaptap_test.TestCase):
    """What heaptap-target records here for a host: commands here say so, and leave it to that."""

    def setUp(self):
        super().setUp()
        self.target = subprocess.Popen([TARGETS / "loses_on_demand"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.target.communicate)
        self.target.stdout.readline()
        self.address = str(self.directory / "far.sock")
        self.enterContext(far.serving(self.address, "-q"))

    def attach(self):
        """As another host would."""
        errors = self.directory / "stderr"
        with errors.open("wb") as file:
            host = subprocess.Popen([HEAPTAP, "attach", "-H", self.address, "--force", "-o", self.directory / "t.htap", str(self.target.pid)],
                                    stderr=file)
        self.addCleanup(heaptap_test.end, host)
        return host, errors

    def detach(self, host, errors):
        host.send_signal(signal.SIGINT)
        finished(host, state=errors.read_text)

    def test_who_records_it_is_told(self):
        host, errors = self.attach()
        wait_for("recorded", lambda: "recording process" in errors.read_text(), state=[host, errors.read_text])
        for command in (["leaks"], ["console", "-x", "info"], ["top", "--once"]):
            outcome = heaptap_test.heaptap(*command, self.target.pid, cwd=self.directory)
            self.assertEqual((outcome.status, outcome.stdout), (125, b""), outcome)
            self.assertRegex(outcome.stderr.decode(), rf"^heaptap: process {self.target.pid} is being recorded by heaptap-target, for the host "
                                                      r"[^:]+: run this there, with -H; `heaptap-target status` shows the recording\n$")
        outcome = heaptap_test.heaptap("leaks", "-H", self.address, self.target.pid)
        self.assertEqual((outcome.status, outcome.stderr), (0, b""), outcome)
        self.detach(host, errors)

    def test_a_recording_that_begins_at_the_same_moment_is_used(self):
        """One of the two is first, and has the process."""
        for _ in range(5):
            host, errors = self.attach()
            outcome = heaptap_test.heaptap("leaks", "--duration", "1ms", "-H", self.address, self.target.pid, cwd=self.directory)
            if outcome.status != 0:  # the other one isn't so far that it could be asked
                self.assertRegex(outcome.stderr.decode(), r"^heaptap: .*heaptap-target\) traces it already", outcome)
            else:
                self.assertRegex(outcome.stdout.decode(), "unknown: no allocation was seen|no leaks in what was recorded", outcome)
            self.detach(host, errors)


class Headers(unittest.TestCase):
    """What is held behind headers alone is reachable, and said to be so: of leak_headers 169 blocks of 96 bytes."""

    def test_are_told_of(self):
        with tempfile.TemporaryDirectory() as directory:
            trace = os.path.join(directory, "t.htap")
            subprocess.run([HEAPTAP, "run", "-q", "-o", trace, "--", os.path.join(TARGETS, "leak_headers")], check=True)
            report = shown("summary", trace)
            self.assertEqual(report["leaks"]["behind_headers"], {"blocks": 169, "bytes": 169 * 96})
            by_stack = [stack["leaks"]["behind_headers"] for stack in report["stacks"]]
            self.assertEqual(sum(count["blocks"] for count in by_stack), 169)
            self.assertTrue(all(stack["leaks"]["behind_headers"]["blocks"] <= stack["leaks"]["reachable"]["blocks"]
                                for stack in report["stacks"]))
            text = subprocess.run([HEAPTAP, "show", "leaks", trace], capture_output=True, text=True, check=True).stdout
            self.assertIn("in 169 blocks, reachable only by a pointer to a header", text)
            why = subprocess.run([HEAPTAP, "show", "leaks", "--why", "#1", "--json", trace], capture_output=True, text=True)
            self.assertEqual(heaptap_test.read_report(why.stdout)["held"]["pointer"], "header")


class DamagedScan(unittest.TestCase):
    """A leak scan that can't be used costs what it says, and nothing else."""

    SCAN = 10
    HEAD_BYTES = 24

    def scan_frames(self, data):
        offset = 16
        while offset + self.HEAD_BYTES <= len(data):
            sync, kind, stored = data[offset:offset + 4], data[offset + 4], int.from_bytes(data[offset + 8:offset + 12], "little")
            if sync != b"HTFR":
                return
            if kind == self.SCAN:
                yield offset
            offset += self.HEAD_BYTES + stored

    def test_all_else_is_shown(self):
        with tempfile.TemporaryDirectory() as directory:
            trace = os.path.join(directory, "damaged.htap")
            subprocess.run([HEAPTAP, "run", "-q", "-o", trace, "--", os.path.join(TARGETS, "leak_definite")], capture_output=True)
            whole = shown("summary", trace)
            whole["totals"]["resident_parts"] = None  # which the scan has counted
            with open(trace, "rb") as file:
                data = bytearray(file.read())
            frames = list(self.scan_frames(data))
            self.assertGreater(len(frames), 1)
            for offset in frames:
                changed = bytearray(data)
                changed[offset + self.HEAD_BYTES + 1] ^= 1
                with open(trace, "wb") as file:
                    file.write(changed)
                damaged = shown("summary", trace)
                self.assertEqual(damaged["totals"], whole["totals"])
                self.assertEqual(damaged["leaks"]["scanned"], False)
                self.assertTrue(damaged["capture"]["truncated"])
                leaks = subprocess.run([HEAPTAP, "show", "leaks", "--scan", "1", trace], capture_output=True, text=True)
                self.assertNotEqual(leaks.returncode, 0)
                self.assertIn("scan", leaks.stderr)
                notes = heaptap_test.notes_of(damaged)
                self.assertEqual(sum("can't be used" in note for note in notes), 1, notes)


class RootKinds(unittest.TestCase):
    """Each kind of root is switched off: what only it holds is lost then, and nothing else changes."""

    CASES = (
        ("leak_root_bss held", "global"),
        ("leak_root_data held", "global"),
        ("leak_root_library held", "global"),
        ("leak_root_mapping private held", "mapping"),
        ("leak_root_mapping shared held", "mapping"),
        ("leak_root_main_stack held", "stack"),
        ("leak_root_thread_stack read held", "stack"),
        ("leak_root_thread_stack epoll held", "stack"),
        ("leak_root_register rbx held", "register"),
        ("leak_root_register xmm8 held", "register"),
        ("leak_root_static_tls main held", "thread-local"),
        ("leak_root_dynamic_tls thread held", "thread-local"),
        ("leak_root_thread_specific main first held", "thread-local"),
        ("leak_root_alternate_stack mapped held", "alternate-stack"),
        ("leak_root_context mapped held", "context-stack"),
    )

    def lost_at(self, trace, source, *options):
        report = shown("leaks", trace, *options)
        lost = 0
        for stack in report["stacks"]:
            if any(frame["file"] and frame["file"].endswith(source) for frame in stack["frames"]):
                lost += stack["leaks"]["definite"]["blocks"] + stack["leaks"]["indirect"]["blocks"]
        return lost

    def test_switched_off(self):
        kinds = ("global", "mapping", "stack", "register", "thread-local", "alternate-stack", "context-stack")
        for case, kind in self.CASES:
            name, *arguments = case.split()
            with self.subTest(case), tempfile.TemporaryDirectory() as directory:
                trace = os.path.join(directory, "t.htap")
                command = [HEAPTAP, "run", "-q", "-o", trace, "--", os.path.join(TARGETS, name), *arguments]
                subprocess.run(command, capture_output=True, check=True)
                self.assertEqual(self.lost_at(trace, name + ".c"), 0)
                self.assertGreater(self.lost_at(trace, name + ".c", "--no-roots", kind), 0)
                others = ",".join(other for other in kinds if other != kind and other != "global")
                if kind in ("global", "mapping"):
                    self.assertEqual(self.lost_at(trace, name + ".c", "--no-roots", others.replace("mapping,", "")), 0)


class Refusals(unittest.TestCase):
    def refused(self, *arguments):
        run = subprocess.run([HEAPTAP, "leaks", *arguments], capture_output=True, text=True)
        self.assertEqual(run.stdout, "")
        return run.returncode, run.stderr

    def test_no_process(self):
        status, text = self.refused("4194303")
        self.assertEqual(status, 125)
        self.assertIn("no process 4194303", text)

    def test_no_pid(self):
        for arguments in ((), ("x",), ("-5",), ("0",)):
            status, _ = self.refused(*arguments)
            self.assertEqual(status, 2, arguments)


RING = """
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noinline)) static void lose(void) { void *volatile lost = malloc(48); lost = 0; (void)lost; }
int main(void) {
  char parameters[120];
  memset(parameters, 0, sizeof parameters);
  if (syscall(425, 4, parameters) < 0) return 77;
  lose();
  return 0;
}
"""
TAGGED = "leak_tagged_words"


class Doubts(heaptap_test.TestCase):
    """What may hold blocks that seem to be lost stands behind the verdict."""

    def test_requests_of_a_ring(self):
        (self.directory / "ring.c").write_text(RING)
        subprocess.run(["cc", "-O1", "-fno-builtin", self.directory / "ring.c", "-o", self.directory / "ring"], check=True)
        outcome = heaptap_test.heaptap("run", "-o", self.directory / "t.htap", "--", self.directory / "ring")
        if outcome.status == 77 and "io_uring_setup" not in pathlib.Path("/proc/kallsyms").read_text():
            heaptap_test.skip_what_the_kernel_lacks("io_uring: this kernel has none (CONFIG_IO_URING)")
        if outcome.status == 77:
            heaptap_test.skip_what_is_missing("io_uring: the kernel has it, and refuses it here",
                                              "sysctl -w kernel.io_uring_disabled=0, and in a container no filter of system calls against it")
        self.assertIn(b"LEAKED 48 bytes in 1 block (unless requests of its io_uring hold them)", outcome.stderr)

    def test_what_the_end_itself_releases_is_not_left(self):
        """glibc frees its lists of exit handlers as it runs them, which is after the scan for those of libraries."""
        (self.directory / "late.c").write_text(MANY_HANDLERS)
        (self.directory / "main.c").write_text("int main(void) { return 0; }\n")
        subprocess.run(["cc", "-O0", "-shared", "-fPIC", "late.c", "-o", "liblate.so"], check=True, cwd=self.directory)
        subprocess.run(["cc", "-O0", "main.c", "-Wl,--no-as-needed", "./liblate.so", "-o", "late"], check=True, cwd=self.directory)
        for via in ("agent", "ptrace"):
            with self.subTest(via=via):
                trace = self.directory / f"{via}.htap"
                outcome = heaptap_test.heaptap("run", "--via", via, "-o", trace, "--", self.directory / "late", cwd=self.directory)
                self.assertEqual(outcome.status, 0, outcome)
                self.assertNotIn(b"reachable", outcome.stderr)
                found = heaptap_test.summary(trace)
                leaks = found["leaks"]
                self.assertEqual(sum(leaks[kind]["blocks"] for kind in ("definite", "indirect", "possible", "reachable", "unknown")),
                                 found["totals"]["live_blocks"])
                self.assertEqual(leaks["released_since"]["blocks"], 6 if via == "agent" else 0)

    def test_pointers_with_other_bits_set(self):
        trace = self.directory / "t.htap"
        outcome = heaptap_test.heaptap("run", "-o", trace, "--", heaptap_test.built("leak_tagged_words"))
        self.assertIn(b"171 B of them reachable by tagged pointers or distances only: --tagged-pointers", outcome.stderr)
        leaks = heaptap_test.summary(trace)["leaks"]
        self.assertEqual(leaks["possible"], leaks["behind_tags"])
        held = heaptap_test.heaptap("show", "leaks", "--json", "--tagged-pointers", trace)
        with_tags = heaptap_test.read_report(held.stdout)["leaks"]
        self.assertEqual(with_tags["possible"]["blocks"], 0)
        self.assertEqual(with_tags["definite"], leaks["definite"])
        self.assertEqual(with_tags["behind_tags"], leaks["behind_tags"])
        self.assertEqual(heaptap_test.heaptap("check", trace, "--possible", "--max-leaked", "138").status, 1)
        self.assertEqual(heaptap_test.heaptap("check", trace, "--possible", "--max-leaked", "138", "--tagged-pointers").status, 0)

    def test_distances_between_blocks(self):
        trace = self.directory / "t.htap"
        heaptap_test.heaptap("run", "-q", "-o", trace, "--", heaptap_test.built("leak_relative"))
        leaks = heaptap_test.summary(trace)["leaks"]
        self.assertEqual(leaks["possible"]["blocks"], 32)
        self.assertEqual(leaks["possible"], leaks["behind_tags"])
        held = heaptap_test.heaptap("show", "leaks", "--json", "--tagged-pointers", trace)
        with_tags = heaptap_test.read_report(held.stdout)["leaks"]
        self.assertEqual(with_tags["possible"]["blocks"], 0)
        self.assertEqual(with_tags["definite"], leaks["definite"])


class ExitStatus(unittest.TestCase):
    def run_target(self, name, *options):
        with tempfile.TemporaryDirectory() as directory:
            command = [HEAPTAP, "run", "-q", "-o", os.path.join(directory, "t.htap"), *options, "--", os.path.join(TARGETS, name)]
            return subprocess.run(command, capture_output=True).returncode

    def test_leaks_change_it_only_if_asked(self):
        self.assertEqual(self.run_target("leak_definite"), 0)
        self.assertEqual(self.run_target("leak_definite", "--error-exitcode", "23"), 23)
        self.assertEqual(self.run_target("leak_definite", "--error-exitcode", "23", "--no-leak-scan"), 0)

    def test_no_leak_no_error(self):
        self.assertEqual(self.run_target("malloc_family", "--error-exitcode", "23", "--no-leak-scan"), 0)


if __name__ == "__main__":
    unittest.main()
