"""--aggregate: the totals are those of the events, outlive a killed process, and say what didn't fit."""
import contextlib
import errno
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, LONG, built
from waiting import ended, wait_for

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void* volatile kept;
__attribute__((noinline)) void* f0(int n) { return malloc((size_t)n); }
__attribute__((noinline)) void* f1(int n) { return malloc((size_t)n); }
__attribute__((noinline)) void* deep(int level, unsigned way) {
  void* block = level == 0 ? malloc(16) : (way & 1) ? deep(level - 1, way >> 1) : (deep)(level - 1, way >> 1);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}
int main(int argc, char** argv) {
  int count = argc > 1 ? atoi(argv[1]) : 1000;
  for (int i = 0; i < count; ++i) kept = i % 2 ? f0(24) : f1(40);
  if (argc > 3) for (unsigned way = 0; way < 1u << 14; ++way) free(deep(14, way));
  puts("ready");
  fflush(stdout);
  if (argc > 2) sleep((unsigned)atoi(argv[2]));
  return 0;
}
"""

# THREADS COUNT [SECONDS [fork]]: each thread allocates COUNT blocks and COUNT temporary ones, then all hold theirs at one time. Then a child is
# forked, which has one thread and allocates COUNT blocks; then it is ready, and sleeps.
INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "include"

ASKING_PROGRAM = """
#include <heaptap/heaptap.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  void* volatile lost = malloc(30);
  lost = 0;
  heaptap_scan_counts counts = HEAPTAP_SCAN_COUNTS;
  printf("scan %d\\n", heaptap_scan(&counts));
  return 0;
}
"""

THREADS_PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t all_hold, may_end;
static int count;
void* volatile kept;
__attribute__((noinline)) void* hold(size_t size) { return malloc(size); }
static void* work(void* number) {
  for (int i = 0; i < count; ++i) {
    void** block = hold(16 + (size_t)i % 100 * (size_t)(long)number);
    free(malloc(3000));
    *block = kept;
    kept = block;
  }
  pthread_barrier_wait(&all_hold);
  pthread_barrier_wait(&may_end);
  return NULL;
}
int main(int argc, char** argv) {
  int threads = atoi(argv[1]);
  count = atoi(argv[2]);
  pthread_t ids[64];
  pthread_barrier_init(&all_hold, NULL, (unsigned)threads + 1);
  pthread_barrier_init(&may_end, NULL, (unsigned)threads + 1);
  for (long i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, (void*)i);
  pthread_barrier_wait(&all_hold);
  if (argc > 4 && fork() == 0) {
    for (int i = 0; i < count; ++i) kept = hold(24);
    _exit(0);
  }
  wait(NULL);
  puts("ready");
  fflush(stdout);
  if (argc > 3) sleep((unsigned)atoi(argv[3]));
  pthread_barrier_wait(&may_end);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  return 0;
}
"""


class Aggregate(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.compile("program", PROGRAM)
        self.trace = self.directory / "trace.htap"

    def compile(self, name, text):
        source = self.directory / f"{name}.c"
        source.write_text(text)
        subprocess.run(["cc", "-O0", "-pthread", "-I", INCLUDE, "-o", self.directory / name, source], check=True)
        return self.directory / name

    def start(self, *arguments, options=(), env=None, program=None, how=("--aggregate",)):
        command = [HEAPTAP, "run", "-q", *how, *options, "-o", self.trace, "--force", "--", program or self.program, *arguments]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, env=env)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def show(self, view, *options):
        return heaptap_test.read_report(heaptap_test.heaptap("show", view, "--json", *options, self.trace).stdout)

    def test_numbers_that_need_events_are_null_and_texts_say_so(self):
        self.start("1000").wait()
        report = self.show("summary")
        totals = report["totals"]
        self.assertEqual((totals["live_blocks"], totals["live_bytes"]), (totals["allocations"] - totals["frees"], totals["live_bytes"]))
        self.assertIsNone(totals["peak_time_ns"])
        self.assertTrue(all(stack["peak_bytes"] is None and stack["lifetime_ns"] is None for stack in report["stacks"]))
        for view, member in (("timeline", "points"), ("lifetimes", "lifetimes"), ("blocks", "blocks")):
            self.assertIsNone(self.show(view)[member])
            text = heaptap_test.heaptap("show", view, self.trace).stdout
            self.assertIn(b"not recorded with --aggregate", text)
        sizes = {entry["size"]: entry for entry in self.show("sizes")["sizes"]}
        self.assertEqual((sizes[24]["live_blocks"], sizes[40]["live_blocks"], sizes[24]["allocations"]), (500, 500, None))
        refused = heaptap_test.heaptap("show", "summary", "--from", "1s", self.trace)
        self.assertEqual(refused.status, 2)
        self.assertIn(b"--aggregate doesn't keep", refused.stderr)

    def test_totals_outlive_a_program_that_is_killed(self):
        process = self.start("1000", "100000")
        target = heaptap_test.descendants(process.pid)
        os.kill(target[-1], signal.SIGKILL)
        self.assertEqual(ended(process), 137)
        by_function = {stack["frames"][0]["function"]: stack for stack in self.show("summary")["stacks"]}
        self.assertEqual(by_function["f0"]["live_blocks"], 500)
        self.assertEqual(by_function["f1"]["live_bytes"], 500 * 40)

    def test_a_collector_that_is_killed_leaves_its_last_look(self):
        process = self.start("1000", "100000", env=heaptap_test.sooner(write="20ms"))
        target = heaptap_test.descendants(process.pid)
        wait_for("a look of the collector is in the trace", lambda: self.show("summary")["stacks"], state=process)
        process.kill()
        process.wait()
        os.kill(target[-1], signal.SIGKILL)
        report = self.show("summary")
        self.assertTrue(report["capture"]["truncated"])
        by_function = {stack["frames"][0]["function"]: stack for stack in report["stacks"]}
        self.assertEqual(by_function["f0"]["live_blocks"], 500)

    def test_what_does_not_fit_is_counted_and_said(self):
        self.start("60000", "0", options=["--aggregate-memory", "1M"]).wait()
        report = self.show("summary")
        by_function = {stack["frames"][0]["function"]: stack for stack in report["stacks"] if stack["frames"]}
        self.assertEqual(by_function["f0"]["allocations"], 30000)
        self.assertEqual(by_function["f1"]["allocated_bytes"], 30000 * 40)
        self.assertIsNone(by_function["f0"]["live_blocks"])
        self.assertIsNone(report["totals"]["live_bytes"])
        self.assertIsNone(report["totals"]["peak_live_bytes"])
        self.assertIn("blocks didn't fit into the memory of --aggregate", " ".join(heaptap_test.notes_of(report)))

    def test_stacks_that_do_not_fit_are_counted_together(self):
        self.start("10", "0", "many", options=["--aggregate-memory", "1M"]).wait()
        report = self.show("summary", "-n", "0")
        totals = report["totals"]
        self.assertEqual(sum(stack["allocations"] for stack in report["stacks"]), totals["allocations"])
        self.assertGreaterEqual(totals["allocations"], 10 + (1 << 14))
        self.assertEqual(totals["frees"], sum(stack["frees"] for stack in report["stacks"]))
        self.assertTrue(any("table of stacks was full" in (stack["ends_early"] or "") for stack in report["stacks"]))
        self.assertIn("full", " ".join(heaptap_test.notes_of(report)))

    def test_any_number_of_threads_that_live_at_the_same_time(self):
        threads = 16000 if LONG else 4200
        command = [HEAPTAP, "run", "-q", "--aggregate", "-o", self.trace, "--", built("threads_alive"), str(threads), "40"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        report = self.show("summary")
        self.assertEqual(report["capture"]["lost_events"], 0)
        from_both = [stack for stack in report["stacks"] if stack["frames"] and stack["frames"][0]["function"] == "allocate"]
        sums = [sum(stack[key] for stack in from_both) for key in ("allocations", "frees")]
        self.assertEqual(sums, [threads * 40] * 2)

    def totals_by_log_and_by_totals(self, *arguments, program):
        both = []
        for how in (("--no-leak-scan",), ("--aggregate",)):
            self.start(*arguments, program=program, how=how).wait()
            both.append(self.show("summary")["totals"])
        return both

    def test_no_scan_finds_that_nothing_is_lost(self):
        program = self.compile("asks", ASKING_PROGRAM)
        outcome = heaptap_test.heaptap("run", "--aggregate", "--error-exitcode", "9", "--force", "-o", self.trace, "--", program)
        self.assertEqual(outcome.stdout, f"scan {errno.ENOTSUP}\n".encode())
        self.assertEqual(outcome.status, 3, outcome)
        self.assertIn(b"it is unknown whether it leaks", outcome.stderr)
        self.assertNotIn(b"no leaks", outcome.stderr)
        self.assertFalse(self.show("summary")["leaks"]["scanned"])

    def test_the_peak_of_one_thread_is_exact(self):
        log, totals = self.totals_by_log_and_by_totals("3000", "0", "deep", program=self.program)
        for name in ("peak_live_bytes", "peak_live_blocks"):
            self.assertEqual(totals[name], log[name], name)
        self.assertEqual((totals["peak_error_bytes"], totals["peak_error_blocks"]), (0, 0))
        self.assertNotIn(b"give or take", heaptap_test.heaptap("show", "summary", self.trace).stdout)

    def test_the_peak_of_several_threads_is_as_exact_as_it_says(self):
        threads = 8
        log, totals = self.totals_by_log_and_by_totals(str(threads), "2000", program=self.compile("threads", THREADS_PROGRAM))
        for name in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes"):
            self.assertEqual(totals[name], log[name], name)
        # Temporary blocks, one of each thread, may be alive at the peak of one run and not of the other.
        by_chance = threads * 3000
        self.assertAlmostEqual(totals["peak_live_bytes"], log["peak_live_bytes"], delta=totals["peak_error_bytes"] + by_chance)
        self.assertAlmostEqual(totals["peak_live_blocks"], log["peak_live_blocks"], delta=totals["peak_error_blocks"] + threads)
        self.assertGreater(totals["peak_error_bytes"], 0)
        self.assertLessEqual(totals["peak_error_bytes"], (threads + 1) * 65536)
        self.assertEqual((log["peak_error_bytes"], log["peak_error_blocks"]), (0, 0))
        self.assertIn(f"give or take {totals['peak_error_bytes']:,}".encode(), heaptap_test.heaptap("show", "summary", self.trace).stdout)
        lowest = totals["peak_live_bytes"] - totals["peak_error_bytes"]
        highest = totals["peak_live_bytes"] + totals["peak_error_bytes"]
        verdicts = [heaptap_test.heaptap("check", "--max-peak", str(limit), self.trace).status for limit in (lowest - 1, lowest, highest - 1, highest)]
        self.assertEqual(verdicts, [1, 3, 3, 0])
        doubt = heaptap_test.heaptap("check", "--max-peak", str(lowest), self.trace).stdout
        self.assertIn(f"the peak may be {totals['peak_error_bytes']:,} bytes less or more".encode(), doubt)
        self.check_that_others_say_so(totals["peak_error_bytes"])

    def check_that_others_say_so(self, error):
        """Of a trace beside itself, whose peak didn't grow by all that is known."""
        diff = json.loads(heaptap_test.heaptap("diff", "--json", self.trace, self.trace).stdout)
        self.assertEqual([recording["peak_error_bytes"] for recording in diff["recordings"]], [error] * 2)
        self.assertIn(b"before: the peak may be ", heaptap_test.heaptap("diff", self.trace, self.trace).stdout)
        limits = (2 * error - 1, 2 * error)
        verdicts = [heaptap_test.heaptap("check", "--baseline", self.trace, "--max-growth", f"peak={limit}", self.trace).status for limit in limits]
        self.assertEqual(verdicts, [3, 0])
        heaptap_test.heaptap("export", "--to", "sqlite", "-o", "peak.db", self.trace, cwd=self.directory)
        with contextlib.closing(sqlite3.connect(self.directory / "peak.db")) as database:
            told = dict(database.execute("SELECT key, value FROM meta"))
        self.assertEqual(int(told["peak_error_bytes"]), error)

    def test_threads_that_a_kill_ends_have_counted(self):
        process = self.start("8", "2000", "100000", program=self.compile("threads", THREADS_PROGRAM))
        os.kill(heaptap_test.descendants(process.pid)[-1], signal.SIGKILL)
        self.assertEqual(ended(process), 137)
        report = self.show("summary")
        held = sum(stack["live_blocks"] for stack in report["stacks"] if stack["frames"][0]["function"] == "hold")
        self.assertEqual(held, 8 * 2000)
        totals = report["totals"]
        self.assertGreaterEqual(totals["peak_live_bytes"] + totals["peak_error_bytes"], totals["live_bytes"])

    def test_a_forked_child_has_one_thread(self):
        self.start("8", "2000", "0", "fork", options=["-f"], program=self.compile("threads", THREADS_PROGRAM)).wait()
        traces = [heaptap_test.heaptap("show", "summary", "--json", path).stdout for path in self.directory.glob("*.htap") if not path.is_symlink()]
        child, parent = sorted((json.loads(trace)["totals"] for trace in traces), key=lambda totals: totals["allocations"])
        self.assertGreater(parent["peak_error_bytes"], 0)
        self.assertEqual((child["allocations"], child["peak_live_bytes"], child["peak_error_bytes"]), (2000, 2000 * 24, 0))

    def test_too_little_memory_is_refused(self):
        refused = heaptap_test.heaptap("run", "--aggregate", "--aggregate-memory", "100K", "--", "true")
        self.assertEqual(refused.status, 2)
        self.assertIn(b"at least 1M", refused.stderr)


if __name__ == "__main__":
    unittest.main()
