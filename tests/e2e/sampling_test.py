"""`--sample`: estimates from sampled blocks beside what a full recording counts; all calls are counted exactly. Tolerances are 5 to 6
standard deviations, so that chance fails one of millions of runs."""
import math
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, summary
from waiting import read_until

INTERVAL = 16384
LOADS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** names) {
  const char* functions[] = {"allocate_first", "allocate_second"};
  for (int i = 0; i < 2; i++) {
    void* library = dlopen(names[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return puts(dlerror()), 1;
    void (*call)(int) = (void (*)(int))dlsym(library, functions[i]);
    if (call == NULL) return 2;
    call(1000);
    dlclose(library);
  }
  return 0;
}
"""
LIBRARY = r"""
#include <cstdlib>
#include <new>
FILL
__attribute__((noinline)) static void* give(std::size_t size) { return std::malloc(size); }
void* operator new(std::size_t size) { return give(size); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
extern "C" __attribute__((noinline)) void allocate_NAME(int times) {
  for (int i = 0; i < times; i++) delete new char;
}
"""
PROBED = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t told;
static void on_signal(int number) { told = number; }
int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  signal(SIGUSR1, on_signal);
  printf("%d\n", getpid());
  while (!told) usleep(1000);
  for (int i = 0; i < 5; i++) free(malloc(1000000));
  for (int i = 0; i < 1000; i++) malloc(100);
  return 0;
}
"""


def stack_of(report, function):
    """The sum of the stacks with this function."""
    sums = {}
    for stack in report["stacks"]:
        if any(frame["function"] == function for frame in stack["frames"]):
            for name in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes"):
                sums[name] = sums.get(name, 0) + stack[name]
    return sums


def error_of(bytes_in_all, size):
    """Standard deviation of an estimate of so many bytes in blocks of that size."""
    chance = -math.expm1(-size / INTERVAL)
    blocks = bytes_in_all / size
    return size * math.sqrt(blocks * (1 - chance) / chance + blocks * chance / 4)  # rounding adds 1/4 a sample


class Sampling(heaptap_test.TestCase):
    def record(self, *command, options=("--sample", str(INTERVAL)), status=0, name="sampled.htap"):
        trace = self.directory / name
        outcome = heaptap("run", "--force", "-o", trace, *options, "--", *command)
        self.assertEqual(outcome.status, status, outcome)
        return trace, outcome

    def near(self, estimate, true, size):
        self.assertLess(abs(estimate - true), 6 * error_of(true, size), f"{estimate} for {true}")

    def test_estimates_are_near_what_was_allocated(self):
        trace, _ = self.record(built("sampled_calls"))
        report = summary(trace)
        small = stack_of(report, "churn_small")
        self.near(small["allocated_bytes"], 19_200_000, 64)
        self.assertEqual((small["live_blocks"], small["live_bytes"]), (0, 0))
        self.assertEqual(small["frees"], small["allocations"])
        self.near(stack_of(report, "keep_middle")["live_bytes"], 12_000_000, 1000)
        large = stack_of(report, "keep_large")
        self.assertEqual((large["live_blocks"], large["live_bytes"]), (30, 30_000_000), "each of these is recorded")
        self.assertEqual(stack_of(report, "grow").get("live_bytes", 0), 0)
        self.assertEqual(report["capture"]["sampling"]["interval_bytes"], INTERVAL)

    def test_all_calls_are_counted(self):
        full, _ = self.record(built("sampled_calls"), options=("--no-leak-scan",), name="full.htap")
        trace, outcome = self.record(built("sampled_calls"))
        expected = summary(full)
        counted = summary(trace)["capture"]["sampling"]["calls"]
        self.assertEqual(sum(thread["allocations"] for thread in counted), expected["totals"]["allocations"])
        self.assertEqual(sum(thread["allocated_bytes"] for thread in counted), expected["totals"]["allocated_bytes"])
        self.assertEqual(sum(thread["frees"] for thread in counted), expected["totals"]["frees"])
        each = sorted(thread["allocations"] for thread in counted if thread["allocations"] > 1000)
        self.assertEqual(each, [109_010] * 3)
        shown = heaptap("show", "summary", trace).stdout.decode()
        self.assertIn("all calls, counted: {:,} allocations".format(expected["totals"]["allocations"]), shown)
        self.assertIn("sampled: of 16.0 KiB allocated, one block was recorded on average", shown)
        self.assertIn("sampled: of 16.0 KiB", outcome.stderr.decode())

    def test_bounds_hold(self):
        """Of 40 recordings with about 23 samples at a site, at least 30 have the true sum within the bounds of 95 %."""
        held = 0
        for _ in range(40):
            trace, _ = self.record(built("sampled_calls"), options=("-q", "--sample", "512K"))
            report = summary(trace)
            (low, high) = report["totals"]["live_bytes_bounds"]
            self.assertLessEqual(low, report["totals"]["live_bytes"])
            self.assertGreaterEqual(high, report["totals"]["live_bytes"])
            held += low <= 42_000_000 <= high
        self.assertGreaterEqual(held, 30)

    def test_nothing_is_said_that_samples_dont_know(self):
        trace, outcome = self.record(built("sampled_calls"))
        said = outcome.stderr.decode()
        self.assertNotIn("no leaks", said)
        self.assertIn("leaks", said)
        report = summary(trace)
        self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})
        self.assertIn("sampled", report["capture"]["gaps"])
        self.assertIsNone(report["totals"]["temporary_allocations"])
        self.assertIsNone(report["totals"]["double_frees"])
        self.assertIn(b"No leak scan was made", heaptap("show", "leaks", trace).stdout)
        for limit in ("--max-leaked=0", "--max-live=100G", "--max-peak=100G", "--max-allocations=1000000000"):
            with self.subTest(limit=limit):
                self.assertEqual(heaptap("check", limit, trace).status, 3)
        for form in ("heaptrack", "dhat", "blocks"):
            with self.subTest(form=form):
                refused = heaptap("export", "--to", form, "-o", self.directory / "out", trace)
                self.assertEqual(refused.status, 125, refused)
                self.assertIn(b"--sample", refused.stderr)

    def test_several_processes_are_counted_together(self):
        program = built("sampled_calls")
        self.record("sh", "-c", f"{program}; {program}; true", options=("-f", "--sample", "16K"))
        (run,) = self.directory.glob("*.run")
        shown = heaptap("show", "summary", run).stdout.decode()
        counted = int(re.search(r"all calls, counted: ([\d,]+) allocations", shown).group(1).replace(",", ""))
        self.assertGreater(counted, 2 * 327_000, shown)

    def test_what_the_loader_changes_is_noticed(self):
        """Libraries at the same addresses, one after the other, each with an operator new of its own; C++ programs that call it."""
        main = self.directory / "main.c"
        main.write_text(LOADS)
        libraries = []
        for name in ("first", "second"):
            source = self.directory / f"{name}.cc"
            source.write_text(LIBRARY.replace("NAME", name).replace("FILL", "asm(\".skip 3000, 0xcc\");" if name == "second" else ""))
            libraries.append(self.directory / f"lib{name}.so")
            self.assertEqual(heaptap_test.run(["g++", "-shared", "-fPIC", "-O0", "-o", libraries[-1], source]).status, 0)
        program = self.directory / "main"
        self.assertEqual(heaptap_test.run(["gcc", "-O0", "-fno-builtin", "-o", program, main, "-ldl"]).status, 0)
        for interval in ("16", "64K", "1M"):
            with self.subTest(interval=interval):
                trace, outcome = self.record(program, *libraries, options=("--sample", interval))
                report = summary(trace)
                if interval == "16":
                    self.assertTrue(stack_of(report, "allocate_first(int)") or stack_of(report, "allocate_first"), report["stacks"])
                    self.assertTrue(stack_of(report, "allocate_second(int)") or stack_of(report, "allocate_second"), report["stacks"])

    def test_what_cant_sample_is_refused(self):
        for options in (("--via", "ptrace"), ("--aggregate",), ("-H", str(self.directory / "socket"))):
            with self.subTest(options=options):
                outcome = heaptap("run", "--sample", "1M", *options, "--", "/bin/true", cwd=self.directory)
                self.assertEqual(outcome.status, 2, outcome)
                self.assertIn(b"--sample", outcome.stderr)

    def test_where_all_blocks_are_chosen_nothing_is_estimated(self):
        trace, _ = self.record(built("sampled_calls"), options=("--sample", "1"))
        full, _ = self.record(built("sampled_calls"), options=("--no-leak-scan",), name="full.htap")
        sampled, counted = summary(trace), summary(full)
        for function in ("churn_small", "keep_middle", "keep_large", "grow"):
            self.assertEqual(stack_of(sampled, function), stack_of(counted, function), function)

    def test_profilers_of_the_machine_get_samples(self):
        """The probes of OpenTelemetry's memory profiles, as gdb reads them: each sampled block with its weight, and its release."""
        program = self.directory / "program.c"
        program.write_text(PROBED)
        built_here = self.directory / "program"
        self.assertEqual(heaptap_test.run(["gcc", "-O0", "-fno-builtin", "-o", built_here, program]).status, 0)
        recorded = subprocess.Popen([HEAPTAP, "run", "-q", "--sample", "4096", "-o", self.directory / "t.htap", "--", built_here],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.directory)
        self.addCleanup(recorded.communicate)
        self.addCleanup(heaptap_test.end, recorded)
        process = int(read_until(recorded.stdout.fileno(), "its pid", lambda text: b"\n" in text, state=[recorded]))
        commands = ["set pagination off", "set breakpoint pending off",
                    "break -probe-stap otel_memory:alloc", "commands\nsilent\nprintf \"alloc %lu %lu %lu\\n\", $_probe_arg0, $_probe_arg1, $_probe_arg2\ncontinue\nend",
                    "break -probe-stap otel_memory:free", "commands\nsilent\nprintf \"free %lu\\n\", $_probe_arg0\ncontinue\nend",
                    "shell kill -USR1 " + str(process), "handle SIGUSR1 nostop noprint pass", "continue"]
        script = self.directory / "script"
        script.write_text("\n".join(commands) + "\n")
        told = heaptap_test.run(["gdb", "-q", "-nx", "-batch", "-x", script, "-p", str(process)])
        lines = [line.split() for line in told.stdout.decode().splitlines()]
        allocated = [tuple(map(int, line[1:])) for line in lines if line[:1] == ["alloc"]]
        released = [int(line[1]) for line in lines if line[:1] == ["free"]]
        self.assertEqual(recorded.wait(), 0, told)
        large = [block for block in allocated if block[1] == 1_000_000]
        self.assertEqual([(size, weight) for _, size, weight in large], [(1_000_000, 1_000_000)] * 5, told)
        small = [block for block in allocated if block[1] == 100]
        self.assertTrue(small, told)
        for _, size, weight in small:
            self.assertEqual(weight, math.floor(size / -math.expm1(-(size + 1) / 4096)))
        self.assertEqual(sorted(released), sorted(address for address, size, _ in allocated if size == 1_000_000))


if __name__ == "__main__":
    unittest.main(verbosity=2)
