"""--aggregate: the totals are those of the events, outlive a killed process, and say what didn't fit."""
import os
import pathlib
import signal
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


class Aggregate(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.program = self.directory / "program"
        source = self.directory / "program.c"
        source.write_text(PROGRAM)
        subprocess.run(["cc", "-O0", "-o", self.program, source], check=True)
        self.trace = self.directory / "trace.htap"

    def start(self, *arguments, options=(), env=None):
        command = [HEAPTAP, "run", "-q", "--aggregate", *options, "-o", self.trace, "--", self.program, *arguments]
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

    def test_too_little_memory_is_refused(self):
        refused = heaptap_test.heaptap("run", "--aggregate", "--aggregate-memory", "100K", "--", "true")
        self.assertEqual(refused.status, 2)
        self.assertIn(b"at least 1M", refused.stderr)


if __name__ == "__main__":
    unittest.main()
