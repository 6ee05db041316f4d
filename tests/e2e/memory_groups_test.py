"""A program in a memory group (cgroup) with little room is not killed because it is recorded: the log is charged to heaptap's
group, it has little memory where there is little, and gives back what it doesn't use. Where there is no memory controller, or no
right to make groups, this says so and isn't run."""
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, summary
from memory_group import MemoryGroup
from waiting import ended, read_until

MIB = 1 << 20

# Four threads that do nothing but allocate, over so many MiB that are in use; then what of the log is this process's memory.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void* work(void* nothing) {
  void* ring[64] = {0};
  for (int i = 0; i < 500000; i++) {
    free(ring[i & 63]);
    ring[i & 63] = malloc(16 + (i & 127));
  }
  for (int i = 0; i < 64; i++) free(ring[i]);
  return nothing;
}
static long say_shared(void) {
  char line[200];
  long kilobytes = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) {
    if (sscanf(line, "RssShmem: %ld", &kilobytes) == 1) fputs(line, stdout);
  }
  fclose(status);
  fflush(stdout);
  return kilobytes;
}
int main(int count, char** arguments) {
  size_t bytes = (size_t)atoi(arguments[1]) << 20;
  char* used = malloc(bytes);
  pthread_t threads[4];
  if (bytes) memset(used, 1, bytes);
  if (count > 2 && !strcmp(arguments[2], "line")) {
    puts("ready");
    fflush(stdout);
    getchar();
  }
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  say_shared();
  if (count > 2 && !strcmp(arguments[2], "waits")) {
    for (int i = 0; i < 2500 && say_shared() > 1500; i++) usleep(100000);
  }
  free(used);
  puts("done");
  return 0;
}
"""


class MemoryGroups(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        source = self.directory / "program.c"
        source.write_text(PROGRAM)
        self.program = self.directory / "program"
        subprocess.run(["gcc", "-O1", "-w", "-pthread", "-o", self.program, source], check=True)

    def group(self, limit_bytes):
        group = MemoryGroup(limit_bytes)
        self.addCleanup(group.remove)
        return group

    def check(self, outcome):
        self.assertEqual((outcome.status, outcome.stdout.splitlines()[-1:]), (0, [b"done"]), outcome)
        self.assertEqual(summary(self.trace)["capture"]["lost_events"], 0)

    def test_program_with_little_room(self):
        group = self.group(24 * MIB)
        self.check(heaptap("run", "-q", "-o", self.trace, "--", *group.joining(self.program, "0")))

    def test_program_that_needs_nearly_all_of_it(self):
        group = self.group(24 * MIB)
        self.check(heaptap("run", "-q", "-o", self.trace, "--", *group.joining(self.program, "18")))

    def test_program_and_heaptap_in_one_group(self):
        group = self.group(64 * MIB)
        self.check(heaptap_test.run(group.joining(HEAPTAP, "run", "-q", "-o", self.trace, "--", self.program, "20")))

    def test_a_program_that_needs_nearly_all_of_it_beside_a_stopped_heaptap(self):
        shown = self.overflow(self.group(24 * MIB), "18")
        self.assertLess(int(re.search(rb"RssShmem:\s+(\d+)", shown).group(1)), 3000, "the log is the program's memory")

    def test_what_is_lost_there_is_said_with_its_cause(self):
        group = self.group(24 * MIB)
        self.overflow(group, "12")
        cause = f"the memory group (cgroup) /{group.name} had little left of its limit of 24.0 MiB"
        shown = heaptap("show", "summary", self.trace)
        self.assertIn(cause, " ".join(shown.stdout.decode().split()), shown)
        report = summary(self.trace)
        self.assertGreater(report["capture"]["lost_events"], 0)
        self.assertIn("log_without_room", [note["kind"] for note in report["notes"]])
        self.assertTrue(any(cause in note for note in heaptap_test.notes_of(report)), report["notes"])

    def overflow(self, group, mebibytes):
        """The program with so much memory in use, and a log that is full for sure. Returns its output."""
        errors = self.directory / "errors"
        with errors.open("wb") as stderr:
            recorded = subprocess.Popen([HEAPTAP, "run", "--on-overflow", "drop", "--no-leak-scan", "-o", self.trace, "--",
                                         *group.joining(self.program, mebibytes, "line")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        self.addCleanup(recorded.communicate)
        self.addCleanup(heaptap_test.end, recorded)
        program = recorded.stdout
        read_until(program.fileno(), "ready", lambda text: b"ready" in text, state=[recorded, errors])
        recorded.send_signal(signal.SIGSTOP)  # so that the log is full for sure
        recorded.stdin.write(b"\n")
        recorded.stdin.flush()
        shown = read_until(program.fileno(), "done", lambda text: b"done" in text, state=[recorded, errors])
        recorded.send_signal(signal.SIGCONT)
        self.assertEqual(ended(recorded), 0, errors.read_text())
        return shown

    def test_what_is_not_used_is_given_back(self):
        outcome = heaptap("run", "-q", "-o", self.trace, "--", self.program, "0", "waits")
        self.check(outcome)
        busy, *idle = (int(kilobytes) for kilobytes in re.findall(rb"RssShmem:\s+(\d+)", outcome.stdout))
        self.assertLess(idle[-1], 1500, f"it was {busy}")


if __name__ == "__main__":
    unittest.main()
