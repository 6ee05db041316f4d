# CTEST PROCESSORS 2
"""`heaptap attach --via agent`: the agent in a process that runs. What is recorded is true; the program goes on as it was, with its code,
mappings, signals and waits, however heaptap ends; where a condition isn't met it is refused, and untouched. HEAPTAP_LONG=1: 200 times."""
import contextlib
import os
import pathlib
import platform
import random
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import HEAPTAP, LONG, TARGETS, built, summary
from process_image import Image, threads, tracers
from waiting import descendants, finished, wait_for

ROUNDS = 200 if LONG else 10
KILLS = 30 if LONG else 3
STEP_KILLS = 2000 if LONG else 42
STEPS = 8  # that an attach takes
ALL_KILLS = 500 if LONG else 15


def log_mappings(pid):
    """What maps the agent makes in a process: of the log, and code without a file."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        _, permissions, _, _, inode, *name = line.split(maxsplit=5)
        if "heaptap-log" in "".join(name) or ("x" in permissions and inode == "0" and not name):
            found.append(line)
    return found


def kill_all(pid):
    """A process and its descendants, all stopped before: none of them makes another one in between."""
    stopped = []
    while new := [each for each in [pid, *descendants(pid)] if each not in stopped]:
        for each in new:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGSTOP)
        stopped += new
    for each in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def is_empty_memory(pid, lines):
    """Whether there is one such mapping, of zeros."""
    if len(lines) != 1 or "heaptap-log" in lines[0]:
        return False
    start, end = (int(part, 16) for part in lines[0].split()[0].split("-"))
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(start)
        return not memory.read(end - start).strip(b"\0")


# Loads each library that it is told of in place of the one before, and has it allocate.
HOST_PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  char path[4096];
  int count;
  void* library = NULL;
  puts("ready");
  fflush(stdout);
  while (scanf("%4095s %d", path, &count) == 2) {
    if (library != NULL) dlclose(library);
    library = dlopen(path, RTLD_NOW);
    int (*work)(int) = library != NULL ? (int (*)(int))dlsym(library, "work") : NULL;
    printf("%p %d\\n", (void*)work, work != NULL ? work(count) : -1);
    fflush(stdout);
  }
  return 0;
}
"""
PLUGIN = """
#include <stdlib.h>
void* volatile kept;
__attribute__((noinline)) static void* HOLD(int i) { void** block = malloc(24 + (size_t)i % 8); *block = kept; return kept = block; }
int work(int count) { for (int i = 0; i < count; ++i) HOLD(i); return count; }
"""


# Its first thread allocates on a stack that lies between other data, another one, where there is an argument, on its own.
SHARED_STACK_PROGRAM = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static char stack[1 << 17];
static volatile int stops;
static int begun;
static void* work(void* unused) {
  __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
  while (!stops) free(malloc(100));
  return unused;
}
static void* wait_for_line(void* unused) {
  char line[8];
  __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
  (void)!read(0, line, sizeof line);
  stops = 1;
  return unused;
}
static void on_signal(int unused) {
  (void)unused;
  (void)!write(1, "ready\\n", 6);
  work(NULL);
}
int main(int count, char** arguments) {
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  pthread_t threads[2];
  (void)arguments;
  pthread_create(&threads[0], NULL, wait_for_line, NULL);
  if (count > 1) pthread_create(&threads[1], NULL, work, NULL);
  while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < (count > 1 ? 2 : 1)) usleep(100);
  sigaltstack(&other, NULL);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  pthread_join(threads[0], NULL);
  if (count > 1) pthread_join(threads[1], NULL);
  return 0;
}
"""


def children(pid):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def kill_step(heaptap, wanted, delay_s):
    """Kills the injector's child that comes as number `wanted`, so much later. Whether there was one."""
    seen = set()
    until = time.monotonic() + heaptap_test.TIMEOUT_S
    while heaptap.poll() is None and time.monotonic() < until:
        for step in (step for child in children(heaptap.pid) for step in children(child)):
            if step in seen:
                continue
            seen.add(step)
            if len(seen) < wanted:
                continue
            begun = time.perf_counter()
            while time.perf_counter() < begun + delay_s:
                pass
            with contextlib.suppress(ProcessLookupError):
                os.kill(step, signal.SIGKILL)
                return True
            return False
    return False


class Attached:
    """A `heaptap attach --via agent` in the background, from when the process is recorded."""

    def __init__(self, test, pid, trace, *options):
        self.process = subprocess.Popen([HEAPTAP, "attach", "--via", "agent", "--force", "-o", str(trace), *options, str(pid)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        test.addCleanup(self._end)
        line = self.process.stderr.readline()
        assert b"recording process" in line, line + self.process.stderr.read()

    def _end(self):
        if self.process.poll() is None:
            heaptap_test.end(self.process)
        self.process.communicate()

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        finished(self.process)


class Speaking:
    """A target program that says that it is ready, then does what it is told."""

    def __init__(self, test, name, *arguments):
        program = name if os.path.isabs(name) else built(name)
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        test.addCleanup(self._end)
        self.pid = self.process.pid
        test.assertEqual(self.process.stdout.readline(), b"ready\n")
        self.image = Image(self.pid, threads(self.pid)[:12])

    def _end(self):
        heaptap_test.end(self.process)
        self.process.communicate()

    def tell(self, word, number=0):
        self.process.stdin.write(f"{word} {number}\n".encode())
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class Inject(heaptap_test.TestCase):
    def attach_for(self, duration, pid):
        """Arguments of heaptap that record the process for so long, in self.trace."""
        return ["attach", "--via", "agent", "-q", "--no-leak-scan", "--force", "-o", self.trace, "--duration", duration, str(pid)]

    def attaching(self, duration, pid):
        heaptap = subprocess.Popen([HEAPTAP, *self.attach_for(duration, pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(heaptap_test.end, heaptap)
        return heaptap

    def assert_as_before(self, program, after):
        if program.process.poll() is not None:
            self.fail(f"{after}: the program ended with {program.process.returncode}: {program.process.stdout.read()}")
        self.assertEqual((program.image.differences(), log_mappings(program.pid)), ([], []), after)

    def test_what_is_recorded_is_true(self):
        program, trace = Speaking(self, "obeys"), self.directory / "t.htap"
        program.tell("thread", 1)  # with the first one the C library handles a signal
        program.image = Image(program.pid, threads(program.pid))
        attached = Attached(self, program.pid, trace, "--no-leak-scan")
        program.tell("pairs", 1000)
        program.tell("thread", 500)
        attached.stop()
        self.assert_as_before(program, "after detaching")
        report = summary(trace)
        self.assertEqual(list(expectations.conservation(report)), [])
        made = [stack for stack in report["stacks"] if self.passes(stack, "make")]
        self.assertEqual(sum(stack["allocations"] for stack in made), 1500, made)
        self.assertEqual(sum(stack["frees"] for stack in made), 1500)
        self.assertEqual({stack["function"] for stack in made}, {"malloc"})
        self.assertTrue(all(self.passes(stack, "make_pairs") for stack in made))
        self.assertEqual((report["capture"]["via"], report["capture"]["lost_events"]), ("agent", 0))

    @staticmethod
    def passes(stack, function):
        return any(function in (frame["function"] or "") for frame in stack["frames"])

    def test_libraries_that_are_loaded_later_have_their_names(self):
        def compiled(name, source, *options):
            (self.directory / f"{name}.c").write_text(source)
            subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-o", self.directory / name, self.directory / f"{name}.c", *options], check=True)
            return str(self.directory / name)

        libraries = [compiled(f"lib{name}.so", PLUGIN.replace("HOLD", f"hold_in_{name}"), "-shared", "-fPIC") for name in ("one", "two", "three")]
        program, trace = Speaking(self, compiled("host", HOST_PROGRAM)), self.directory / "t.htap"
        first = program.tell(libraries[2], 5).split()[0]  # is known from the start
        attached = Attached(self, program.pid, trace, "--no-leak-scan")
        places = [program.tell(library, count).split()[0] for library, count in zip(libraries * 2, (1000, 1100, 1200, 100, 110, 120))]
        attached.stop()
        self.assertEqual(set(places), {first}, "the libraries aren't loaded in one place, one after the other")
        report = summary(trace)
        self.assertEqual(list(expectations.conservation(report)), [])
        made = {name: [stack for stack in report["stacks"] if self.passes(stack, f"hold_in_{name}")] for name in ("one", "two", "three")}
        self.assertEqual({name: sum(stack["allocations"] for stack in stacks) for name, stacks in made.items()},
                         {"one": 1100, "two": 1210, "three": 1320})
        for name, stacks in made.items():
            for stack in stacks:
                functions = [frame["function"] for frame in stack["frames"]]
                self.assertEqual(functions[:3], [f"hold_in_{name}", "work", "main"], functions)

    def test_many_times_into_a_program_that_does_all_at_once(self):
        program, seen = Speaking(self, "busy"), 0
        for number in range(ROUNDS):
            outcome = heaptap_test.heaptap(*self.attach_for("50ms", program.pid))
            self.assertEqual(outcome.status, 0, f"round {number}: {outcome}")
            self.assert_as_before(program, f"round {number}")
            if number % 10 == 0:
                report = summary(self.trace)
                self.assertEqual(list(expectations.conservation(report)), [])
                seen += report["totals"]["allocations"]
        self.assertGreater(seen, 0)
        out, _ = finished(program.process, b"end\n")
        self.assertEqual((program.process.returncode, out), (0, b"all is well\n"))

    def test_heaptap_is_killed(self):
        program = Speaking(self, "busy")
        for number in range(KILLS):
            attached = Attached(self, program.pid, self.directory / f"{number}.htap", "--no-leak-scan")
            time.sleep(0.01 * (number % 4))
            attached.stop(signal.SIGKILL)
            wait_for("the agent is gone", lambda: not log_mappings(program.pid))
            self.assert_as_before(program, f"kill {number}")
        out, _ = finished(program.process, b"end\n")
        self.assertEqual((program.process.returncode, out), (0, b"all is well\n"))

    def test_a_step_of_it_is_killed(self):
        """A process that traces the program while the agent is put in or taken out, at any moment: the next one goes on with its work. (A
        thread that blocks SIGTRAP and comes to a breakpoint before it does would end the program: none does here.)"""
        program, chance, killed = Speaking(self, "checked_churn"), random.Random(STEP_KILLS), 0
        for number in range(STEP_KILLS):
            heaptap = self.attaching("10ms", program.pid)
            step, delay_s = number % STEPS + 1, chance.uniform(0, 0.002)
            killed += kill_step(heaptap, step, delay_s)
            _, told = finished(heaptap)
            self.assertIn(heaptap.returncode, (0, 125), told)
            self.assert_as_before(program, f"round {number}, step {step} killed after {delay_s * 1e6:.0f} us: {told}")
        self.assertGreater(killed, STEP_KILLS // 4)
        out, _ = finished(program.process, b"end\n")
        self.assertEqual((program.process.returncode, out), (0, b"all is well\n"))

    def test_a_later_run_takes_out_what_a_killed_one_left(self):
        """All of heaptap's processes are killed at once, at any moment: the program goes on, and the next attach begins with what they left."""
        program, chance, left = Speaking(self, "checked_churn"), random.Random(ALL_KILLS), 0
        begun = time.monotonic()
        self.assertEqual(heaptap_test.heaptap(*self.attach_for("15ms", program.pid)).status, 0)
        whole_s = time.monotonic() - begun
        for number in range(ALL_KILLS):
            heaptap = self.attaching("15ms", program.pid)
            delay_s = chance.uniform(0.05, 1) * whole_s
            time.sleep(delay_s)
            kill_all(heaptap.pid)
            finished(heaptap)
            wait_for("it isn't traced any more", lambda: not tracers(program.pid))
            self.assertIsNone(program.process.poll(), f"round {number}, killed after {delay_s * 1e3:.1f} ms")
            left += bool(log_mappings(program.pid))
            outcome = heaptap_test.heaptap(*self.attach_for("5ms", program.pid))
            self.assertEqual(outcome.status, 0, f"round {number}, killed after {delay_s * 1e3:.1f} ms: {outcome}")
            if is_empty_memory(program.pid, log_mappings(program.pid)):  # mapped just before the kill: it says nothing of itself yet
                program = Speaking(self, "checked_churn")
            self.assert_as_before(program, f"round {number}, killed after {delay_s * 1e3:.1f} ms")
        self.assertGreater(left, 0)
        out, _ = finished(program.process, b"end\n")
        self.assertEqual((program.process.returncode, out), (0, b"all is well\n"))

    def test_what_lives_is_not_taken_for_a_killed_one(self):
        program = Speaking(self, "busy")
        attached = Attached(self, program.pid, self.directory / "1.htap", "--no-leak-scan")
        outcome = heaptap_test.heaptap("attach", "--via", "agent", "-q", "-o", self.directory / "2.htap", program.pid)
        self.assertEqual(outcome.status, 125, outcome)
        self.assertRegex(outcome.stderr, rb"process \d+ records process \d+ already")
        self.assertTrue(log_mappings(program.pid))
        attached.stop()
        self.assert_as_before(program, "after detaching")

    def test_a_child_forked_while_it_is_recorded_goes_on(self):
        program, trace = Speaking(self, "obeys"), self.directory / "t.htap"
        attached = Attached(self, program.pid, trace, "--no-leak-scan")
        self.assertTrue(program.tell("fork", 1000).endswith(b"5"))
        attached.stop()
        self.assertIn("children_not_followed", [note["kind"] for note in summary(trace)["notes"]])
        self.assertTrue(program.tell("fork", 1000).endswith(b"5"))
        self.assert_as_before(program, "after detaching")

    def test_a_program_that_sleeps_goes_on_sleeping(self):
        process = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(heaptap_test.end, process)
        wait_for("it sleeps", lambda: pathlib.Path(f"/proc/{process.pid}/syscall").read_text().startswith("230 "))
        for _ in range(2):
            outcome = heaptap_test.heaptap(*self.attach_for("10ms", process.pid))
            self.assertEqual((outcome.status, log_mappings(process.pid)), (0, []), outcome)
        self.assertIsNone(process.poll())

    def test_a_filter_that_comes_while_it_is_recorded_ends_nothing(self):
        program, trace = Speaking(self, "obeys"), self.directory / "t.htap"
        attached = Attached(self, program.pid, trace, "--no-leak-scan")
        self.assertEqual(program.tell("filter"), b"filter 0")
        program.tell("pairs", 100_000)  # more than a chunk of the log
        attached.stop()
        program.tell("pairs", 100)
        self.assertEqual(program.image.code, {start: code for start, code in Image(program.pid, []).code.items() if start in program.image.code})
        self.assertIsNone(program.process.poll())

    def test_only_threads_on_stacks_of_their_own_make_calls(self):
        source, program = self.directory / "shared_stack.c", self.directory / "shared_stack"
        source.write_text(SHARED_STACK_PROGRAM)
        heaptap_test.run(["cc", "-g", "-O1", "-fno-builtin", "-pthread", "-o", program, source])
        for words in (["more"], []):
            speaking = Speaking(self, str(program), *words)
            outcome = heaptap_test.heaptap(*self.attach_for("10ms", speaking.pid))
            self.assertEqual(outcome.status, 0, outcome)
            self.assert_as_before(speaking, words)
            finished(speaking.process, b"end\n")
            self.assertEqual(speaking.process.returncode, 0)

    def assert_refused(self, pid, why, *options):
        outcome = heaptap_test.heaptap("attach", "--via", "agent", "-o", self.directory / "no.htap", *options, pid)
        self.assertNotEqual(outcome.status, 0)
        self.assertIn(why, outcome.stderr)

    def test_refusals_name_the_reason_and_ptrace(self):
        program = Speaking(self, "obeys")
        self.assert_refused(program.pid, b"--follow-fork: the agent can't do that", "-f")
        program.tell("filter")
        self.assert_refused(program.pid, b"seccomp")
        self.assert_refused(program.pid, b"leave out --via agent")
        self.assert_as_before(program, "after the refusal")

    def recorded_by_itself(self, *words):
        """How each process was recorded, and what the end of the command says."""
        outcome = heaptap_test.heaptap("attach", "--via", "auto", "--force", "-o", self.directory / "auto.%p.htap", "--duration", "50ms",
                                       *words)
        self.assertEqual(outcome.status, 0, str(outcome))
        return [summary(self.directory / f"auto.{word}.htap")["capture"]["via"] for word in words if word != "-f"], outcome.stderr.decode()

    def test_where_it_cannot_be_put_in_ptrace_records(self):
        program, other = Speaking(self, "obeys"), Speaking(self, "obeys")
        ways, said = self.recorded_by_itself(program.pid)
        self.assertEqual(ways, ["agent"], said)
        self.assertNotIn("recorded with ptrace", said)
        self.assertEqual(self.recorded_by_itself("-f", program.pid)[0], ["ptrace"])
        self.assertEqual(self.recorded_by_itself(program.pid, other.pid)[0], ["agent"] * 2)
        self.assert_as_before(program, "after detaching")
        program.tell("filter")
        ways, said = self.recorded_by_itself(program.pid)
        self.assertEqual(ways, ["ptrace"], said)
        self.assertRegex(said, r"recorded with ptrace: the agent can't be put into process \d+: it restricts its system calls \(seccomp\)\n")
        self.assertNotIn("isn't recorded", said)
        self.assertIsNone(program.process.poll())

    def test_an_interrupt_just_as_it_is_recorded_detaches(self):
        program = Speaking(self, "obeys")
        for _ in range(3):
            heaptap = subprocess.Popen([HEAPTAP, "attach", "--via", "auto", "--force", "-o", self.trace, str(program.pid)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(heaptap_test.end, heaptap)
            self.assertIn(b"recording process", heaptap.stderr.readline())
            heaptap.send_signal(signal.SIGINT)
            _, told = finished(heaptap)
            self.assertEqual(heaptap.returncode, 0, told)
            self.assertEqual(summary(self.trace)["capture"]["via"], "agent")
        self.assert_as_before(program, "after detaching")

    def test_a_program_that_reads_a_pipe_with_a_name_is_recorded(self):
        pipe = self.directory / "pipe"
        os.mkfifo(pipe)
        with open(pipe, "r+b", buffering=0) as ends:
            process = subprocess.Popen([built("obeys")], stdin=ends, stdout=subprocess.PIPE)
            self.addCleanup(process.communicate)
            self.addCleanup(heaptap_test.end, process)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            wait_for("it reads", lambda: pathlib.Path(f"/proc/{process.pid}/syscall").read_text().startswith("0 "))
            outcome = heaptap_test.heaptap(*self.attach_for("10ms", process.pid))
            self.assertEqual(outcome.status, 0, outcome)
            ends.write(b"pairs 10\n")
            self.assertEqual(process.stdout.readline(), b"pairs 0\n")

    def test_static_programs_and_other_c_libraries_are_refused(self):
        for variant, why in (("static64", b"static program"), ("musl_static", b"static program"), ("musl", b"isn't glibc"),
                             ("dynamic32", b"32 bits")):
            path = TARGETS / variant / "busy"
            if path.exists():
                with self.subTest(variant=variant):
                    process = subprocess.Popen([heaptap_test.runnable(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                    self.addCleanup(process.communicate)
                    self.addCleanup(heaptap_test.end, process)
                    self.assertEqual(process.stdout.readline(), b"ready\n")
                    self.assert_refused(process.pid, why)


if __name__ == "__main__":
    unittest.main()
