"""Blocks from before an attach: a leak scan finds them in glibc's own data. What was lost before is told as lost, a variable that holds
them is named, and what a thread is just taking or giving back is no block."""
import pathlib
import platform
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from attach_test import Attached
from heaptap_test import heaptap

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node { struct node *next; char text[40]; };
struct node *list;
char *inside;
static void *volatile last;
__attribute__((noinline)) static void lose(int count, size_t size) {
  for (int i = 0; i < count; i++) memset(last = malloc(size), 0, size);
  last = NULL;
}
__attribute__((noinline)) static void grow(int count) {
  for (int i = 0; i < count; i++) {
    struct node *node = calloc(1, sizeof *node);
    node->next = list;
    list = node;
  }
}
__attribute__((noinline)) static void fill_caches(void) {
  void *volatile some[300];
  for (int i = 0; i < 300; i++) some[i] = malloc(16 + i * 8);
  for (int i = 0; i < 300; i += 2) free(some[i]);
  for (int i = 1; i < 300; i += 2) free(some[i]);
  memset((void *)some, 0, sizeof some);
}
__attribute__((noinline)) static void wipe(void) { volatile char stack[16384]; memset((void *)stack, 0, sizeof stack); }
static void *thread(void *unused) {
  grow(200);
  lose(7, 100);
  fill_caches();
  wipe();
  *(volatile int *)unused = 1;
  for (;;) pause();
}
static void *storm(void *unused) {
  void *own[64] = {0};
  for (unsigned i = 1;; i = i * 1664525 + 1013904223) {
    void **place = &own[i >> 16 & 63];
    free(*place);
    *place = malloc(i >> 8 & 2047);
  }
  return unused;
}
int main(int count, char **arguments) {
  static volatile int is_ready;
  char line[64];
  pthread_t id;
  grow(1000);
  lose(5, 3000);
  lose(11, 56);
  inside = (char *)malloc(500) + 100;
  fill_caches();
  if (count > 1 && !strcmp(arguments[1], "damaged")) ((size_t *)list)[-1] = 0x1234567;
  pthread_create(&id, NULL, thread, (void *)&is_ready);
  while (!is_ready) usleep(1000);
  if (count > 1 && !strcmp(arguments[1], "storm"))
    for (int i = 0; i < 3; i++) pthread_create(&id, NULL, storm, NULL);
  wipe();
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    struct node *first = list;
    list = first->next;  // which no release follows at "lose"
    if (line[0] == 'f') free(first);
    first = NULL;
    free(malloc(20));
    wipe();
    puts("done");
    fflush(stdout);
  }
  return 0;
}
"""
LOST = {"104 bytes": 7, "2049-4096 bytes": 5, "56 bytes": 11}


class EarlierBlocks(heaptap_test.SteppedTestCase):
    WAY = "ptrace"

    @classmethod
    def setUpClass(cls):
        cls.program = cls.make_class_directory() / "grows"
        subprocess.run(["gcc", "-w", "-g", "-O0", "-fno-builtin", "-pthread", "-x", "c", "-", "-o", cls.program],
                       input=PROGRAM.encode(), check=True)

    def attach(self, *arguments):
        self.process = self.start("ready", self.program, *arguments)
        self.trace = self.directory / "grows.htap"
        self.attached = Attached(self, "--via", self.WAY, "-o", self.trace, self.process.pid)

    def tell(self, word):
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()
        self.assertEqual(self.next_line(self.process, "done"), "done")

    def scan(self):
        outcome = heaptap("leaks", str(self.process.pid))
        self.assertIn(outcome.status, (0, 1, 3), outcome)

    def report(self, *arguments):
        outcome = heaptap("show", "leaks", "--json", *arguments, self.trace)
        self.assertEqual(outcome.status, 0, outcome)
        return heaptap_test.read_report(outcome.stdout)

    @staticmethod
    def lost_in(report):
        lost = {}
        for stack in report["stacks"]:
            if stack["leaks"]["definite"]["blocks"] == 0:
                continue
            name = stack["earlier"] if "earlier" in stack else stack["frames"][0]["function"]
            lost[name] = stack["leaks"]["definite"]["blocks"]
        return lost

    def test_what_was_lost_before_is_lost(self):
        self.attach()
        self.scan()
        self.tell("lose")
        self.tell("free")
        self.tell("free")
        self.attached.stop()
        report = self.report()
        self.assertEqual(self.lost_in(report), {**LOST, "56 bytes": 12})
        self.assertEqual(report["leaks"]["possible"]["blocks"], 0, "what points into a block may point behind its header")
        earlier = self.report("--scan", "1")
        self.assertEqual(self.lost_in(earlier), LOST)
        text = heaptap("show", "leaks", self.trace).stdout
        self.assertIn(b"blocks in ", text)
        self.assertIn(b"from before the recording", text)
        self.assertIn(b"before the recording, each of 104 bytes", text)

    def test_they_are_a_verdict_where_nothing_else_was_seen(self):
        self.process = self.start("ready", self.program)
        outcome = heaptap("leaks", "--duration", "1ms", str(self.process.pid))
        self.assertEqual(outcome.status, 0, outcome)
        self.assertRegex(outcome.stdout, rb"(?m)^ *definitely lost .* in 23 blocks$")
        self.assertNotIn(b"unknown: no allocation was seen", outcome.stdout)

    def test_the_variable_that_holds_them_is_named(self):
        self.attach()
        self.attached.stop()
        report = self.report("--globals")
        held = {entry["variable"]["name"]: entry["retained"]["blocks"] for entry in report["entries"] if entry["variable"]}
        self.assertGreaterEqual(held["list"], 1200)
        self.assertEqual(held["inside"], 1)

    def test_a_heap_that_makes_no_sense_is_no_list_of_blocks(self):
        self.attach("damaged")
        self.attached.stop()
        report = self.report()
        self.assertEqual(report["leaks"]["definite"]["blocks"], 0)
        self.assertIn("not all blocks are known", " ".join(heaptap_test.notes_of(report, 1)))

    def test_what_a_thread_takes_or_gives_back_is_no_leak(self):
        self.attach("storm")
        for _ in range(5):
            self.scan()
        self.attached.stop()
        for number in range(1, 7):
            report = self.report("--scan", str(number))
            self.assertEqual(self.lost_in(report), LOST, number)


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class EarlierBlocksByAgent(EarlierBlocks):
    WAY = "agent"

    # Where the log was full, not all blocks are known any more.
    def test_what_a_thread_takes_or_gives_back_is_no_leak(self):
        self.attach("storm")
        for _ in range(2):
            self.scan()
        self.attached.stop()
        for number in ("1", "2", "3"):
            report = self.report("--scan", number)
            notes = " ".join(heaptap_test.notes_of(report, int(number)))
            self.assertEqual(self.lost_in(report), {} if "not all blocks are known" in notes else LOST, f"{number}: {notes}")


if __name__ == "__main__":
    unittest.main()
