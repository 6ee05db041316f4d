"""What the tests of formats for CI and data share: real traces, their totals as heaptap says them, and the made-up hostile report
of hostile_report.cc."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
sys.path.insert(0, str(CHECKOUT / "tests/support"))
import heaptap_test
from heaptap_test import built, heaptap

HOSTILE_REPORT = os.environ["HOSTILE_REPORT"]
HOSTILE_NAMES = 13
HOSTILE_BYTES = 2 ** HOSTILE_NAMES - 1
# As base::safe_text has the names of hostile_report.cc.
SAFE_NAMES = [
    "quotes\"'`<tag>&amp;", "two\\x0alines\\x0d\\x0aand\\x09tabs", "cdata]]>--><!--", "100%25 of%0A::error::x", "::set-output name=a::b",
    "a,b;c|d", '=HYPERLINK("x")', "@SUM(1)", "invalid\\xff\\xc3( utf-8", "control\\x01\\x1b[31m",
    "not characters \ufffe\uffff \\xe2\\x80\\xae", "back\\slash \\n \\l {x|y}", "S" * 10000 + "<end>"]


LOST = """#include <stdlib.h>
#include <string.h>
struct node { struct node* next; };
static void lose(void) {
  struct node* node = malloc(64);
  node->next = malloc(32);
  free(malloc(8));
}
static void forget(void) {
  char space[4096];
  memset(space, 1, sizeof space);
  __asm__ volatile("" : : "r"(space) : "memory");
}
int main(void) {
  lose();
  forget();
  return 0;
}
"""


class TestCase(heaptap_test.TestCase):
    def record(self, name, *options, arguments=(), statuses=(0,)):
        outcome = heaptap("run", "-q", *options, "-o", self.trace, "--force", "--", built(name), *arguments, cwd=self.directory)
        self.assertIn(outcome.status, statuses, str(outcome))
        return heaptap_test.summary(self.trace)

    def record_source(self):
        """Of a program that is built here, from src/lost.c in the test's directory."""
        source = self.directory / "src/lost.c"
        source.parent.mkdir(exist_ok=True)
        source.write_text(LOST)
        self.read_by("gcc", "-g", "-O0", "-o", self.directory / "lost", source)
        outcome = heaptap("run", "-q", "-o", self.trace, "--force", "--", self.directory / "lost", cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return heaptap_test.summary(self.trace)

    def export(self, name, *options, cwd=None):
        outcome = heaptap("export", "--to", name, *options, self.trace, cwd=cwd or self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome.stdout

    def refusal(self, name):
        outcome = heaptap("export", "--to", name, self.trace, cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
        return outcome.stderr.decode()

    def hostile(self, name, how=None):
        outcome = heaptap_test.run([HOSTILE_REPORT, name] + ([how] if how else []))
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome.stdout

    def read_by(self, *command, stdin=b"", cwd=None):
        outcome = heaptap_test.run(command, stdin=stdin, cwd=cwd)
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome.stdout


def lost_by_kind(report):
    return {kind: (report["leaks"][kind]["blocks"], report["leaks"][kind]["bytes"]) for kind in ("definite", "indirect", "possible")}


def bad_releases(report):
    totals = report["totals"]
    return totals["bad_frees"] + totals["double_frees"] + totals["mismatched_frees"]
