"""Address space is never told as memory: what a program only reserves stands apart, in each view and each format."""
import csv
import io
import json
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import TARGETS, heaptap, summary

RESERVED = 1 << 30  # by map_protection, of which some pages become memory
MEMORY = 6 * 4096
GIBIBYTES = re.compile(r"\b1(\.0*)? ?G|\b1024(\.0*)? ?M|\b107\d{7}\b")
MARKED = re.compile(r"reserved|addresses|PROT_NONE|in 1 call of mmap")


class AddressSpace(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        recorded = heaptap("run", "-q", "-o", self.trace, "--", TARGETS / "map_protection")
        self.assertEqual(recorded.status, 0, recorded)

    def text(self, *words):
        done = heaptap(*words)
        self.assertEqual(done.status, 0, done)
        return done.stdout.decode()

    def test_views_say_it_apart(self):
        for view in ("summary", "top", "tree", "stats", "timeline", "sizes", "blocks"):
            for lines in (self.text("show", view, self.trace), self.text("console", "-x", f"show {view}", self.trace)):
                told = [line for line in lines.splitlines() if GIBIBYTES.search(line)]
                self.assertEqual([line for line in told if not MARKED.search(line)], [], view)
        self.assertRegex(self.text("show", "top", self.trace), r"24\.0 KiB +1 +0 B +44\.0 KiB +1 +0 +mmap\n.*reserve.*besides 1\.0 GiB only reserved")
        summary_text = self.text("show", "summary", self.trace)
        self.assertRegex(summary_text, r"24\.0 KiB in \d+ blocks? not freed \(besides 1\.0 GiB only reserved\)")

    def test_top_says_it_apart(self):
        for width, mark in ((72, "[+1.00G] "), (140, "[+1.00G reserved] reserve map_protection.c")):
            outcome = heaptap("top", "--once", self.trace, env={**os.environ, "COLUMNS": str(width)})
            [row] = [line for line in outcome.stdout.decode().splitlines() if mark in line]
            self.assertRegex(row, r"^ +24\.0K ")
        stacks = json.loads(self.text("top", "--json", self.trace))["stacks"]
        [reserve] = [stack for stack in stacks if "reserved_bytes" in stack]
        self.assertEqual((reserve["live_bytes"], reserve["reserved_bytes"]), (MEMORY, RESERVED - MEMORY - 5 * 4096))

    def test_moments_are_compared_by_memory(self):
        for words in (("diff", "--from", "0s", "--to", "end", self.trace), ("diff", self.trace, self.trace, "--unchanged")):
            told = [line for line in self.text(*words).splitlines() if GIBIBYTES.search(line)]
            self.assertEqual([line for line in told if not MARKED.search(line)], [])

    def test_exports_leave_it_out_or_say_what_it_is(self):
        for form in ("folded", "callgrind", "massif", "dhat", "speedscope", "firefox", "dot"):
            self.assertNotRegex(self.text("export", "--to", form, self.trace), r"\b107\d{7}\b", form)
        rows = list(csv.DictReader(io.StringIO(self.text("export", "--to", "csv", self.trace))))
        [reserve] = [row for row in rows if int(row["live_bytes"] or 0) > RESERVED // 2]
        self.assertEqual((reserve["mapping"], int(reserve["reserved_bytes"])), ("1", RESERVED - MEMORY - 5 * 4096))
        stacks = [stack for stack in summary(self.trace)["stacks"] if stack["live_bytes"] > RESERVED // 2]
        self.assertEqual([stack["mapped"]["reserved"] for stack in stacks], [RESERVED - MEMORY - 5 * 4096])


if __name__ == "__main__":
    os.environ.pop("HEAPTAP_PAGER", None)
    unittest.main()
