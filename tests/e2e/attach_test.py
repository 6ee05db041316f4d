"""`heaptap attach`, and `run --via ptrace`, from the command line: what is refused and how; each way to let go of a process,
which goes on as it was; several at once and together with a command; exit statuses."""
import itertools
import os
import pathlib
import platform
import pwd
import re
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, summary
from process_image import Image
from waiting import finished, wait_for


# Ways in which a process is recorded that runs already.
CAN_INJECT = platform.machine() == "x86_64"
WAYS = ("agent", "ptrace") if CAN_INJECT else ("ptrace",)


class Obeying:
    """The target program obeys.cc: does what it is told, a word at a time."""

    def __init__(self, test, program=None, **options):
        self.process = subprocess.Popen([program or built("obeys")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        test.addCleanup(self._end)
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"
        self.image = Image(self.pid, [self.pid])

    def _end(self):
        heaptap_test.end(self.process)
        self.process.communicate()

    def tell(self, word, number=0):
        self.process.stdin.write(f"{word} {number}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def finish(self):
        finished(self.process)
        return self.process.returncode


def wait_for_status(pid, name, value):
    """Until the kernel says so of the process."""
    def is_so():
        return re.search(rf"^{name}:\s+{value}", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)

    wait_for(f"{name} of {pid} is {value}", is_so, state=pid)


class Attached:
    """A `heaptap attach` in the background, from when all of its processes are recorded. `via`: None is the default."""

    def __init__(self, test, *arguments, via="ptrace", count=1, cwd=None, **options):
        way = ["--via", via] if via is not None and "--via" not in arguments else []
        self.process = subprocess.Popen([HEAPTAP, "attach", *way, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        cwd=cwd or test.directory, **options)
        test.addCleanup(self._end)
        self.said = ""
        while count > 0:
            line = self.process.stderr.readline().decode()
            self.said += line
            assert line, f"heaptap ended: {self.said}"
            count -= "recording process" in line

    def _end(self):
        if self.process.poll() is None:
            heaptap_test.end(self.process)
        self.process.communicate()

    def wait(self):
        out, err = finished(self.process)
        return heaptap_test.Outcome(heaptap_test.shell_status(self.process.returncode), out, self.said.encode() + err)

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.wait()


LEAVES_POINTERS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void work(void) {
  void **all = malloc(64 * sizeof *all);
  for (int i = 0; i < 64; i++) all[i] = i < 4 ? 0 : malloc(50);
  free(all);
}
__attribute__((noinline)) static void wipe(void) {
  volatile char stack[8192];
  memset((void *)stack, 0, sizeof stack);
}
int main(void) {
  char line[64];
  free(malloc(100));
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    work();
    wipe();
    puts("done");
    fflush(stdout);
  }
  return 0;
}
"""


class ReleasedMemory(heaptap_test.TestCase):
    """What was seen to be released holds nothing, also where earlier blocks aren't known."""

    def test_pointers_that_it_still_has_hide_no_leak(self):
        if not heaptap_test.has_tracer():
            self.skipTest("no tracer")
        (self.directory / "program.c").write_text(LEAVES_POINTERS)
        subprocess.run(["cc", "-O0", "-g", "-fno-builtin", self.directory / "program.c", "-o", self.directory / "program"], check=True)
        target = subprocess.Popen([self.directory / "program"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(heaptap_test.end, target)
        self.assertEqual(target.stdout.readline(), "ready\n")
        trace = self.directory / "t.htap"
        attached = Attached(self, "-o", trace, target.pid)
        target.stdin.write("go\n")
        target.stdin.flush()
        self.assertEqual(target.stdout.readline(), "done\n")
        self.assertEqual(attached.stop().status, 0)
        self.assertEqual(heaptap_test.summary(trace)["leaks"]["definite"], {"blocks": 60, "bytes": 3000})
        target.stdin.close()
        target.stdout.close()
        self.assertEqual(target.wait(), 0)


class Refusals(heaptap_test.TestCase):
    """What can't be attached to: the cause and the cure, nothing started, no trace left behind."""

    def refused(self, status, words, *arguments, **options):
        outcome = heaptap(*arguments, cwd=self.directory, **options)
        self.assertEqual(outcome.status, status, str(outcome))
        self.assertEqual(outcome.stdout, b"")
        for word in words:
            self.assertIn(word, outcome.stderr.decode(), str(outcome))
        self.assertEqual(os.listdir(self.directory), [], str(outcome))

    def test_no_process(self):
        self.refused(2, ["PID", "usage"], "attach")
        self.refused(2, ["PID"], "attach", "--", "/bin/true")

    def test_what_is_no_number(self):
        for word in ("x", "12x", "0", "99999999999999", "./app"):
            self.refused(2, [f"'{word}'", "pgrep"], "attach", word)
        self.refused(2, ["'me'"], "run", "-p", "me", "/bin/true")
        self.refused(2, ["-1"], "attach", "-1")

    def test_a_process_that_is_not_there(self):
        gone = subprocess.Popen(["/bin/true"])
        gone.wait()
        self.refused(125, [f"no process {gone.pid}", "pgrep"], "attach", gone.pid)

    def test_a_command_is_not_started_where_a_process_is_not_there(self):
        gone = subprocess.Popen(["/bin/true"])
        gone.wait()
        self.refused(125, [f"no process {gone.pid}"], "attach", gone.pid, "--", "/bin/touch", "harm")

    def test_heaptap_itself(self):
        command = f'exec {HEAPTAP} attach $$'
        outcome = heaptap_test.run(["/bin/sh", "-c", command], cwd=self.directory)
        self.assertEqual(outcome.status, 125)
        self.assertIn(b"heaptap itself", outcome.stderr)

    def test_a_thread_of_the_kernel(self):
        if os.getuid() != 0 or "kthreadd" not in pathlib.Path("/proc/2/comm").read_text():
            self.skipTest("no kernel thread is seen here")
        self.refused(125, ["kernel", "kthreadd"], "attach", 2)

    def test_a_zombie(self):
        zombie = subprocess.Popen(["/bin/true"])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        self.refused(125, [str(zombie.pid), "ended"], "attach", zombie.pid)
        zombie.wait()

    def test_a_thread(self):
        program = subprocess.Popen([sys.executable, "-c", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nprint(flush=True)\n"],
                                   stdout=subprocess.PIPE)
        self.addCleanup(lambda: (program.kill(), program.communicate()))
        program.stdout.readline()
        thread = max(map(int, os.listdir(f"/proc/{program.pid}/task")))
        self.refused(125, [f"thread of process {program.pid}"], "attach", thread)

    def test_one_file_for_several(self):
        targets = [Obeying(self), Obeying(self)]
        self.refused(2, ["%p"], "attach", "-o", "trace.htap", *(target.pid for target in targets))
        self.refused(2, ["%p"], "attach", "-o", "trace.htap", targets[0].pid, "--", "/bin/true")

    def test_what_only_a_started_program_has(self):
        target = Obeying(self)
        self.refused(2, ["--user"], "attach", "--user", "root", target.pid)
        self.refused(2, ["-E"], "attach", "-E", "A=1", target.pid)

    def test_what_only_the_agent_does(self):
        target = Obeying(self)
        self.refused(2, ["--aggregate"], "attach", "--aggregate", target.pid)
        self.refused(2, ["--aggregate"], "run", "--via", "ptrace", "--aggregate", "/bin/true")

    def test_a_process_of_another_user(self):
        if os.getuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv")
        tool = self.directory / "tool"  # a user can read this, whatever the build directory allows
        tool.mkdir()
        for file in pathlib.Path(HEAPTAP).parent.iterdir():
            if file.is_file() and file.name.startswith(("heaptap", "libheaptap")):
                shutil.copy(file, tool / file.name)
        self.directory.chmod(0o777)
        tool.chmod(0o755)
        target = Obeying(self)
        outcome = heaptap_test.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", tool / "heaptap", "attach",
                                    str(target.pid)], cwd=self.directory)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertRegex(outcome.stderr.decode(), rf"{target.pid}.*belongs to {pwd.getpwuid(0).pw_name}.*sudo")
        self.assertEqual(target.tell("pairs", 3), "pairs 0")

    def test_static_program_with_the_agent(self):
        self.refused(126, ["static", "--via agent"], "run", "--via", "agent", "--", built("static_program"))


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Attach(heaptap_test.TestCase):
    def assert_unharmed(self, target):
        self.assertIsNone(target.process.poll())
        self.assertEqual(target.image.differences(), [])
        self.assertEqual(target.tell("pairs", 7), "pairs 0")
        self.assertEqual(target.tell("fork", 2), "fork 5")
        self.assertEqual(target.finish(), 0)

    def assert_recorded(self, trace, allocations, frees=None, via="ptrace"):
        report = summary(trace)
        self.assertEqual(report["capture"]["via"], via)
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assertEqual((report["totals"]["allocations"], report["totals"]["frees"]),
                         (allocations, allocations if frees is None else frees), report["totals"])
        return report

    def test_signals_let_go(self):
        for number, via in itertools.product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), WAYS):
            with self.subTest(signal=number.name, via=via):
                target = Obeying(self)
                attached = Attached(self, "-o", self.trace, "--force", target.pid, via=via)
                self.assertEqual(target.tell("pairs", 100), "pairs 0")
                outcome = attached.stop(number)
                self.assertEqual((outcome.status, outcome.stdout), (0, b""), str(outcome))
                self.assert_recorded(self.trace, 100, via=via)
                self.assert_unharmed(target)

    @unittest.skipUnless(CAN_INJECT, "nothing is injected on other CPUs")
    def test_it_says_whom_it_records_how_to_end_and_why_by_ptrace(self):
        """By default the agent, where that can be put in."""
        for options, why in (((), None), (("-f",), "--follow-fork: the agent can't do that in a process that runs already"),
                             (("--sanity",), "--sanity: the agent can't do that in a process that runs already")):
            with self.subTest(options=options):
                target = Obeying(self)
                attached = Attached(self, *options, target.pid, via=None)
                how = f" by ptrace: {why}" if why is not None else ""
                self.assertRegex(attached.said, rf"recording process {target.pid} \(.*obeys\){how}; Ctrl-C")
                target.tell("lose")
                outcome = attached.stop()
                end = outcome.stderr.decode().partition("\n")[2]
                self.assertEqual(re.findall(r"recorded with ptrace: (.*)\n", end), [why] if why is not None else [])
                self.assertLessEqual(end.count("\n"), 12, str(outcome))
                self.assertIn(f"heaptap.obeys.{target.pid}.htap", end)

    @unittest.skipUnless(CAN_INJECT, "nothing is injected on other CPUs")
    def test_one_that_cant_take_the_agent_is_recorded_by_ptrace_by_default(self):
        """And is told why, with the only name that it needs."""
        target = Obeying(self, preexec_fn=lambda: signal.signal(signal.SIGTRAP, signal.SIG_IGN))
        attached = Attached(self, "-o", self.trace, target.pid, via=None)
        self.assertIn(f" by ptrace: the agent can't be put into process {target.pid}: it uses the signal SIGTRAP; Ctrl-C", attached.said)
        target.tell("pairs", 10)
        self.assertEqual(attached.stop().status, 0)
        self.assert_recorded(self.trace, 10)
        refused = heaptap("attach", "--via", "agent", target.pid)
        self.assertEqual(refused.status, 125, str(refused))
        self.assertIn(b"it uses the signal SIGTRAP; leave out --via agent, then it is recorded by ptrace", refused.stderr)

    def test_quiet_says_nothing(self):
        target = Obeying(self)
        outcome = heaptap("attach", "-q", "-o", self.trace, "--duration", "100ms", target.pid)
        self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (0, b"", b""), str(outcome))

    def test_duration(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, "--duration", "2s", target.pid)
        target.tell("pairs", 20)
        self.assertEqual(attached.wait().status, 0)
        self.assert_recorded(self.trace, 20)
        self.assert_unharmed(target)

    def test_the_stacks_are_whole(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, target.pid)
        target.tell("thread", 5)
        attached.stop()
        stacks = [[frame["function"] for frame in stack["frames"]] for stack in summary(self.trace)["stacks"]]
        self.assertTrue(any("make_pairs" in str(stack) and stack[-1].startswith(("clone", "__clone")) for stack in stacks), stacks)

    def test_what_was_lost_while_it_watched_is_found_before_it_lets_go(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, target.pid)
        for word in ("lose", "lose", "hold"):
            target.tell(word)
        self.assertEqual(attached.stop().status, 0)
        leaks = summary(self.trace)["leaks"]
        self.assertTrue(leaks["scanned"])
        self.assertEqual(leaks["definite"], {"blocks": 2, "bytes": 200})
        self.assertEqual(leaks["reachable"]["blocks"], 1)
        self.assert_unharmed(target)

    def test_no_leak_scan(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, "--no-leak-scan", target.pid)
        target.tell("lose")
        attached.stop()
        self.assertFalse(summary(self.trace)["leaks"]["scanned"])

    def test_error_exitcode(self):
        for word, status in (("lose", 9), ("hold", 0)):
            target = Obeying(self)
            attached = Attached(self, "-o", self.trace, "--force", "--error-exitcode", 9, target.pid)
            target.tell(word)
            self.assertEqual(attached.stop().status, status)

    def test_blocks_from_before_are_no_errors(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, "--sanity", target.pid)
        target.tell("release")
        attached.stop()
        report = summary(self.trace)
        self.assertEqual((report["totals"]["unknown_frees"], report["totals"]["bad_frees"]), (10, 0))
        self.assertEqual(report["errors"], [])
        self.assertFalse(report["capture"]["from_start"])

    def test_how_long_the_tracer_paused_it_is_known(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, target.pid)
        target.tell("pairs", 1000)
        info = heaptap("console", target.pid, "-x", "info", cwd=self.directory).stdout.decode()
        self.assertRegex(info, r"\n  paused by the tracer  (unknown|\S+ \S+, \d+% of the time)\n")
        attached.stop()
        capture = summary(self.trace)["capture"]
        self.assertGreater(capture["paused_by_tracer_ns"], 0)
        self.assertLessEqual(capture["paused_by_tracer_ns"], capture["duration_ns"])
        info = heaptap("console", self.trace, "-x", "info", cwd=self.directory).stdout.decode()
        self.assertRegex(info, r"\n  paused by the tracer  \S+ \S+, \d+% of the time\n")

    def test_by_the_agent_nothing_pauses_it(self):
        self.assertEqual(heaptap("run", "-q", "-o", self.trace, "--", built("malloc_family"), cwd=self.directory).status, 0)
        self.assertIsNone(summary(self.trace)["capture"]["paused_by_tracer_ns"])

    def test_leaks_of_an_attached_process(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, target.pid)
        target.tell("lose")
        outcome = heaptap("leaks", target.pid)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn(b"100 B in 1 block definitely lost", outcome.stdout)
        self.assertEqual(attached.stop().status, 0)
        for limit, status in (("--max-leaked=1000", 3), ("--max-leaked=99", 1), ("--max-live=1G", 3), ("--max-peak=1G", 3),
                              ("--max-allocations=1000", 3)):
            outcome = heaptap("check", self.trace, limit)
            self.assertEqual(outcome.status, status, f"earlier blocks weren't seen: {outcome}")
        self.assert_unharmed(target)

    def test_it_ends_while_it_is_recorded(self):
        for word, number, end in (("exit", 4, {"code": 4}), ("signal", signal.SIGKILL, {"signal": 9}),
                                  ("signal", signal.SIGSEGV, {"signal": 11})):
            with self.subTest(word=word, number=number):
                target = Obeying(self)
                attached = Attached(self, "-o", self.trace, "--force", target.pid)
                target.tell("pairs", 10)
                target.tell(word, int(number))
                outcome = attached.wait()
                self.assertEqual(outcome.status, 0, str(outcome))
                seen = summary(self.trace)["target"]["exit"]
                self.assertEqual({key: seen.get(key) for key in end}, end)
                self.assertEqual(target.finish(), number if word == "exit" else -number)

    def test_several(self):
        targets = [Obeying(self) for _ in range(3)]
        attached = Attached(self, targets[0].pid, "-p", targets[1].pid, targets[2].pid, targets[0].pid, count=3)
        for number, target in enumerate(targets):
            target.tell("pairs", 10 * (number + 1))
        outcome = attached.stop()
        self.assertEqual(outcome.status, 0, str(outcome))
        for number, target in enumerate(targets):
            self.assert_recorded(self.directory / f"heaptap.obeys.{target.pid}.htap", 10 * (number + 1))
            self.assertIn(f"{target.pid}.htap".encode(), outcome.stderr)
            self.assert_unharmed(target)

    @unittest.skipUnless(CAN_INJECT, "nothing is injected on other CPUs")
    def test_several_take_the_agent_if_all_can(self):
        for takes in (True, False):
            with self.subTest(takes=takes):
                ignores = None if takes else lambda: signal.signal(signal.SIGTRAP, signal.SIG_IGN)
                targets = [Obeying(self), Obeying(self), Obeying(self, preexec_fn=ignores)]
                attached = Attached(self, *(target.pid for target in targets), count=3, via=None)
                self.assertEqual(attached.said.count(" by ptrace: "), 0 if takes else 3, attached.said)
                self.assertEqual(attached.said.count("it uses the signal SIGTRAP"), 0 if takes else 3, attached.said)
                for number, target in enumerate(targets):
                    target.tell("pairs", 10 * (number + 1))
                outcome = attached.stop()
                self.assertEqual(outcome.status, 0, str(outcome))
                for number, target in enumerate(targets):
                    self.assert_recorded(self.directory / f"heaptap.obeys.{target.pid}.htap", 10 * (number + 1), via="agent" if takes else "ptrace")
                    self.assert_unharmed(target)

    def test_many(self):
        targets = [Obeying(self) for _ in range(30)]
        attached = Attached(self, *(target.pid for target in targets), count=30)
        for target in targets:
            target.tell("pairs", 10)
            target.tell("lose")
        outcome = attached.stop()
        self.assertEqual(outcome.status, 0, str(outcome))
        end = outcome.stderr.decode().rpartition("Ctrl-C detaches\n")[2]
        self.assertLessEqual(end.count("\n"), 12, end)
        self.assertIn("all 30 processes: ", end)
        self.assertRegex(end, r"and 2\d more \(-v lists them\)")
        for target in targets:
            report = self.assert_recorded(self.directory / f"heaptap.obeys.{target.pid}.htap", 11, 10)
            self.assertEqual(report["leaks"]["definite"]["blocks"], 1)
            self.assertEqual(target.finish(), 0)

    def test_several_names(self):
        targets = [Obeying(self) for _ in range(2)]
        attached = Attached(self, "-o", "t-%p.htap", *(target.pid for target in targets), count=2)
        self.assertEqual(attached.stop().status, 0)
        self.assertEqual({name for name in os.listdir(self.directory) if name.startswith("t-") and name.endswith(".htap")}, {f"t-{target.pid}.htap" for target in targets})

    def test_one_of_several_ends(self):
        first, second = Obeying(self), Obeying(self)
        attached = Attached(self, first.pid, second.pid, count=2)
        first.tell("exit", 3)
        second.tell("pairs", 5)
        self.assertEqual(attached.stop().status, 0)
        self.assert_recorded(self.directory / f"heaptap.obeys.{second.pid}.htap", 5)
        self.assert_unharmed(second)

    def test_together_with_a_command(self):
        for command in (["attach", "{pid}", "--"], ["run", "-p", "{pid}", "--"], ["run", "-p", "{pid}"]):
            with self.subTest(command=command):
                target = Obeying(self)
                words = [word.format(pid=target.pid) for word in command]
                process = subprocess.Popen([HEAPTAP, words[0], "-o", self.directory / "%p.htap", *words[1:], built("obeys")], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.addCleanup(lambda process=process: (heaptap_test.end(process), process.communicate()))
                self.assertEqual(process.stdout.readline(), "ready\n")
                target.tell("pairs", 11)
                process.stdin.write("pairs 22\nexit 6\n")
                process.stdin.flush()
                self.assertEqual(process.stdout.readline(), "pairs 0\n")
                self.assertEqual(target.tell("exit", 1), "")
                _, err = finished(process)
                self.assertEqual(process.returncode, 6, err)
                traces = {summary(trace)["target"]["pid"]: summary(trace) for trace in self.directory.glob("*.htap") if not trace.is_symlink()}
                self.assertEqual(len(traces), 2, err)
                attached = traces.pop(target.pid)
                self.assertEqual(attached["totals"]["allocations"], 11)
                (own,) = traces.values()
                self.assertEqual((own["target"]["exit"]["code"], own["capture"]["via"], own["capture"]["from_start"]), (6, "ptrace", True))
                self.assertGreaterEqual(own["totals"]["allocations"], 32)
                for trace in self.directory.glob("*.htap"):
                    trace.unlink()

    def test_killed_in_the_middle(self):
        for _ in range(5):
            target = Obeying(self)
            attached = Attached(self, "-o", self.trace, "--force", target.pid)
            target.tell("pairs", 50)
            attached.process.kill()
            self.assertEqual(target.tell("pairs", 1000), "pairs 0")
            self.assert_unharmed(target)

    def test_follow_fork(self):
        target = Obeying(self)
        attached = Attached(self, "-f", target.pid)
        self.assertEqual(target.tell("fork", 30), "fork 5")
        self.assertEqual(attached.stop().status, 0)
        traces = [summary(trace) for trace in self.directory.glob("heaptap.obeys.*.htap")]
        children = [trace for trace in traces if trace["target"]["pid"] != target.pid]
        self.assertEqual([(child["totals"]["allocations"], child["target"]["exit"]["code"]) for child in children], [(30, 5)])
        self.assert_unharmed(target)

    def test_a_child_that_is_not_followed_is_as_it_would_be(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, target.pid)
        self.assertEqual(target.tell("fork", 30), "fork 5")
        self.assertEqual(attached.stop().status, 0)
        self.assert_recorded(self.trace, 0)
        self.assert_unharmed(target)

    def test_follow_exec(self):
        target = Obeying(self)
        attached = Attached(self, "-e", target.pid)
        target.tell("pairs", 3)
        self.assertEqual(target.tell("exec"), "ready")
        self.assertEqual(target.tell("pairs", 40), "pairs 0")
        self.assertEqual(attached.stop().status, 0)
        traces = sorted((summary(trace) for trace in self.directory.glob("heaptap.obeys.*.htap")), key=lambda trace: trace["totals"]["allocations"])
        self.assertEqual(len(traces), 2)
        self.assertEqual(traces[0]["totals"]["allocations"], 3)
        self.assertGreaterEqual(traces[1]["totals"]["allocations"], 50)
        self.assertTrue(traces[1]["capture"]["from_start"])
        self.assertEqual(target.finish(), 0)

    def test_exec_that_is_not_followed_ends_it(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, target.pid)
        target.tell("pairs", 3)
        self.assertEqual(target.tell("exec"), "ready")
        self.assertEqual(attached.wait().status, 0)
        self.assert_recorded(self.trace, 3)
        self.assertEqual(target.tell("pairs", 4), "pairs 0")
        self.assertEqual(target.finish(), 0)

    def test_omit_and_no_cpp(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, "--no-cpp", target.pid)
        target.tell("objects", 10)
        attached.stop()
        self.assertEqual({stack["function"] for stack in self.assert_recorded(self.trace, 10)["stacks"]}, {"malloc"})
        attached = Attached(self, "-o", self.trace, "--force", "--omit", "obeys", target.pid)
        target.tell("pairs", 10)
        attached.stop()
        self.assert_recorded(self.trace, 0)

    def test_depth(self):
        target = Obeying(self)
        attached = Attached(self, "-o", self.trace, "-d", 1, target.pid)
        target.tell("pairs", 10)
        attached.stop()
        self.assertEqual({len(stack["frames"]) for stack in self.assert_recorded(self.trace, 10)["stacks"]}, {1})

    def test_one_that_is_recorded_already(self):
        for via, second in itertools.product(WAYS, (*WAYS, "auto")):
            with self.subTest(via=via, second=second):
                target = Obeying(self)
                attached = Attached(self, "-o", self.trace, "--force", target.pid, via=via)
                outcome = heaptap("attach", "--via", second, "-o", self.directory / "second.htap", target.pid)
                self.assertEqual(outcome.status, 125, str(outcome))
                said = rf"records process {target.pid} already" if via == "agent" else r"traces it already"
                self.assertRegex(outcome.stderr.decode(), said)
                self.assertEqual(attached.stop().status, 0)
                self.assert_unharmed(target)

    def test_a_stopped_process_stays_stopped(self):
        target = Obeying(self)
        os.kill(target.pid, signal.SIGSTOP)
        self.wait_for_state(target, "T")
        outcome = heaptap("attach", "-o", self.trace, "--duration", "200ms", target.pid, timeout_s=heaptap_test.TIMEOUT_S)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.wait_for_state(target, "T")
        os.kill(target.pid, signal.SIGCONT)
        self.assert_unharmed(target)

    def wait_for_state(self, target, state):
        wait_for_status(target.pid, "State", rf"{state}\b")

    def test_again_and_again(self):
        target = Obeying(self)
        for number in range(10):
            attached = Attached(self, "-o", self.trace, "--force", target.pid)
            target.tell("pairs", number)
            self.assertEqual(attached.stop().status, 0)
            self.assert_recorded(self.trace, number)
        self.assert_unharmed(target)


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Run(heaptap_test.TestCase):
    """`run --via ptrace`, and where it is chosen by itself."""

    def test_status_and_output_are_the_programs(self):
        for words, status in ((b"exit 3\n", 3), (b"signal 9\n", 137), (b"signal 11\n", 139), (b"", 0)):
            outcome = heaptap("run", "-q", "--via", "ptrace", "-o", self.trace, "--force", "--", built("obeys"), stdin=words)
            self.assertEqual((outcome.status, outcome.stdout, outcome.stderr), (status, b"ready\n", b""), str(outcome))
            end = summary(self.trace)["target"]["exit"]
            self.assertEqual(128 + end["signal"] if end.get("signal") else end["code"], status)

    def test_a_static_program_is_recorded_and_it_says_how(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("static_program"))
        self.assertEqual((outcome.status, outcome.stdout), (3, b"static\n"), str(outcome))
        self.assertRegex(outcome.stderr.decode(), r"recorded with ptrace: .*statically linked")
        report = summary(self.trace)
        self.assertEqual(report["capture"]["via"], "ptrace")
        self.assertGreater(report["totals"]["allocations"], 0)

    def test_a_32_bit_program_is_recorded_and_it_says_how(self):
        outcome = heaptap("run", "-o", self.trace, "--", built("program32"))
        self.assertEqual((outcome.status, outcome.stdout), (3, b"32 bits\n"), str(outcome))
        self.assertRegex(outcome.stderr.decode(), r"recorded with ptrace: .*32-bit")
        self.assertGreater(summary(self.trace)["totals"]["allocations"], 0)

    def test_nothing_of_heaptap_is_in_the_environment(self):
        outcome = heaptap("run", "-q", "--via", "ptrace", "-o", self.trace, "-E", "MORE=1", "--", "/usr/bin/env", env={"PATH": "/bin", "HOME": "/"})
        self.assertEqual(sorted(outcome.stdout.split()), [b"HOME=/", b"MORE=1", b"PATH=/bin"])

    def test_as_another_user(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        outcome = heaptap("run", "-q", "--via", "ptrace", "-o", self.trace, "--user", "nobody", "--", "/usr/bin/id", "-u")
        self.assertEqual((outcome.status, outcome.stdout), (0, b"%d\n" % pwd.getpwnam("nobody").pw_uid), str(outcome))
        self.assertGreater(summary(self.trace)["totals"]["allocations"], 0)

    def test_a_setuid_program_keeps_its_privileges_under_root(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        program = self.directory / "privileged"
        shutil.copy("/usr/bin/id", program)
        nobody = pwd.getpwnam("nobody").pw_uid
        os.chown(program, nobody, -1)
        program.chmod(0o4755)
        outcome = heaptap("run", "-o", self.trace, "--", program, "-u")
        self.assertEqual((outcome.status, outcome.stdout), (0, b"%d\n" % nobody), str(outcome))
        self.assertRegex(outcome.stderr.decode(), r"recorded with ptrace: .*setuid")

    def test_duration_lets_the_program_go_on(self):
        process = subprocess.Popen([HEAPTAP, "run", "-o", self.trace, "--duration", "300ms", "--", built("obeys")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (heaptap_test.end(process), process.communicate()))
        process.stdout.readline()
        program = next(pid for pid in heaptap_test.descendants(process.pid) if os.readlink(f"/proc/{pid}/exe") == str(built("obeys")))
        wait_for_status(program, "TracerPid", r"0\n")
        out, err = finished(process, "pairs 1000\nexit 5\n")
        self.assertEqual((process.returncode, out), (5, "pairs 0\n"), err)
        self.assertIn("recorded with ptrace: --duration", err)
        self.assertLess(summary(self.trace)["totals"]["allocations"], 1000)

    def test_program_that_cannot_be_executed(self):
        program = self.directory / "program"
        image = bytearray(built("static_program").read_bytes())
        image[54:56] = bytes(2)  # the size of a program header
        program.write_bytes(image)
        program.chmod(0o755)
        outcome = heaptap("run", "--via", "ptrace", "-o", self.trace, "--", program)
        self.assertEqual(outcome.status, 126, str(outcome))

    def test_signals_go_to_the_program(self):
        process = subprocess.Popen([HEAPTAP, "run", "-q", "--via", "ptrace", "-o", self.trace, "--", built("obeys")], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (heaptap_test.end(process), process.communicate()))
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        finished(process)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(summary(self.trace)["target"]["exit"]["signal"], signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
