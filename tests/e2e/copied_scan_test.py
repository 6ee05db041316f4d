"""Leak scans of an attached process with much memory: it is copied while the program runs, and the program is paused only for what it
has written since. What is found is what a scan of the paused program finds."""
import json
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
#include <sys/syscall.h>
#include <unistd.h>
enum { kSlots = 2000, kPage = 4096 };
struct node { struct node *next; char text[40]; };
struct node *list;
char *inside;
static void *ballast[700];
static void *volatile last;
struct page { void *volatile slot; char rest[kPage - sizeof(void *)]; };
static struct page *pages;
__attribute__((noinline)) static void lose(int count, size_t size) {
  for (int i = 0; i < count; i++) {
    void **first = malloc(size), **second = malloc(200);
    memset(first, 0, size);
    memset(second, 0, 200);
    *first = second;
    last = first;
  }
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
/* Each block is held by one page, and always by another one. */
static void *hop(void *unused) {
  for (unsigned shift = 0;; shift ^= kSlots) {
    for (unsigned i = 0; i < kSlots; i++) {
      pages[i + (shift ^ kSlots)].slot = pages[i + shift].slot;
      pages[i + shift].slot = NULL;
    }
  }
  return unused;
}
int main(int count, char **arguments) {
  char line[64];
  pthread_t id;
  if (count > 1 && arguments[1][0] == 'u') syscall(SYS_userfaultfd, 1);
  grow(1000);
  lose(5, 3000);
  lose(11, 56);
  inside = (char *)malloc(500) + 100;
  for (int i = 0; i < 700; i++) memset(ballast[i] = malloc(65536), i, 65536);
  pages = aligned_alloc(kPage, 2 * kSlots * sizeof *pages);
  memset(pages, 0, 2 * kSlots * sizeof *pages);
  for (int i = 0; i < kSlots; i++) memset(pages[i].slot = malloc(88), 0, 88);
  fill_caches();
  if (count > 1 && arguments[1][0] == 'h') pthread_create(&id, NULL, hop, NULL);
  wipe();
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    syscall(SYS_userfaultfd, 1);
    puts("done");
    fflush(stdout);
  }
  return 0;
}
"""


class CopiedScan(heaptap_test.SteppedTestCase):
    WAY = "ptrace"

    @classmethod
    def setUpClass(cls):
        cls.program = cls.make_class_directory() / "large"
        subprocess.run(["gcc", "-w", "-g", "-O0", "-fno-builtin", "-pthread", "-x", "c", "-", "-o", cls.program],
                       input=PROGRAM.encode(), check=True)

    def attach(self, *arguments):
        self.process = self.start("ready", self.program, *arguments)
        self.trace = self.directory / "large.htap"
        self.attached = Attached(self, "--via", self.WAY, "-o", self.trace, self.process.pid)

    def scan(self):
        outcome = heaptap("leaks", str(self.process.pid))
        self.assertIn(outcome.status, (0, 1, 3), outcome)
        return outcome.stdout.decode()

    def report(self, *arguments):
        outcome = heaptap("show", "leaks", "--json", *arguments, self.trace)
        self.assertEqual(outcome.status, 0, outcome)
        return heaptap_test.read_report(outcome.stdout)

    def skip_where_it_is_not_copied(self, text):
        if "its memory wasn't copied: it can't make a userfaultfd" in text or "this kernel can't" in text:
            self.skipTest(text)

    @staticmethod
    def verdicts_of(report):
        """Blocks of each kind, and bytes, by stack or size."""
        verdicts = {}
        for stack in report["stacks"]:
            name = stack["earlier"] if "earlier" in stack else stack["frames"][0]["function"]
            verdicts[name] = {kind: stack["leaks"][kind] for kind in ("definite", "indirect", "possible")}
        return verdicts

    def test_verdicts_are_those_of_a_paused_scan(self):
        self.attach()
        self.skip_where_it_is_not_copied(text := self.scan())
        self.assertRegex(text, r"the memory was copied while the program ran: of \d+ bytes, \d+ were read while it was paused")
        self.process.stdin.write(b"userfaultfd\n")
        self.process.stdin.flush()
        self.assertEqual(self.next_line(self.process, "done"), "done")
        self.assertIn("paused for the whole scan, since its memory wasn't copied: it has a userfaultfd of its own", self.scan())
        self.attached.stop()
        copied, paused = (self.report("--scan", number) for number in ("1", "2"))
        self.assertEqual(copied["leaks"]["definite"]["blocks"], 16)
        self.assertEqual(copied["leaks"]["indirect"]["blocks"], 16)
        for kind in ("definite", "indirect", "possible", "reachable"):
            self.assertEqual(copied["leaks"][kind], paused["leaks"][kind], kind)
        self.assertEqual(self.verdicts_of(copied), self.verdicts_of(paused))
        for view in (["--globals"], ["--retained=type"], ["--retained=stack"]):
            one, other = (self.report("--scan", number, *view)["entries"] for number in ("1", "2"))
            self.assertEqual(one, other, view)
        lost = next(stack for stack in copied["stacks"] if stack["leaks"]["indirect"]["blocks"] != 0)
        why = [heaptap("show", "leaks", "--scan", number, "--why", f"#{lost['id']}", self.trace) for number in ("1", "2")]
        self.assertEqual(why[0].status, 0, why[0])
        self.assertEqual(why[0].stdout, why[1].stdout)

    def test_what_always_moves_is_never_lost(self):
        self.attach("hop")
        for _ in range(4):
            self.skip_where_it_is_not_copied(text := self.scan())
            self.assertIn("the memory was copied while the program ran", text)
        self.attached.stop()
        for number in range(1, 6):
            report = self.report("--scan", str(number))
            self.assertEqual(report["leaks"]["definite"]["blocks"], 16, number)
            self.assertEqual(report["leaks"]["possible"]["blocks"], 0, number)

    def test_a_command_alone_copies_as_well(self):
        self.process = self.start("ready", self.program)
        outcome = heaptap("leaks", "--duration", "1ms", str(self.process.pid))
        self.skip_where_it_is_not_copied(outcome.stdout.decode())
        self.assertIn(b"the memory was copied while the program ran", outcome.stdout)
        self.assertRegex(outcome.stdout, rb"(?m)^ *definitely lost .* in 16 blocks$")

    def test_one_with_a_userfaultfd_is_paused(self):
        self.attach("userfaultfd")
        self.assertIn("its memory wasn't copied: it has a userfaultfd of its own", self.scan())
        self.attached.stop()
        self.assertEqual(self.report()["leaks"]["definite"]["blocks"], 16)


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class CopiedScanByAgent(CopiedScan):
    WAY = "agent"


if __name__ == "__main__":
    unittest.main()
