# CTEST COST 30
"""Pages with live blocks at a moment without a scan: `heaptap show fragmentation --to MOMENT`, held to the program's own count and to
one of the addresses that `show blocks --json` has."""
import collections
import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import TARGETS, heaptap

# tests/targets/answers/answers_moments.c
HELD_BYTES = 104
PEAK_BYTES = 64 << 20


def counted(blocks, page_bytes):
    """Pages, their rest, and by stack its pages and its share, of blocks with an address."""
    pages = collections.defaultdict(lambda: [0, collections.Counter()])
    for block in blocks:
        begin, size = int(block["address"], 16), block["size"]
        for page in range(begin // page_bytes, (begin + max(size, 1) - 1) // page_bytes + 1):
            part = min(begin + size, (page + 1) * page_bytes) - max(begin, page * page_bytes)
            pages[page][0] += part
            pages[page][1][block["stack"]] += part
    shares, touched = collections.Counter(), collections.Counter()
    for used, stacks in pages.values():
        for stack, part in stacks.items():
            touched[stack] += 1
            shares[stack] += (page_bytes - used) * part / used if used else (page_bytes - used) / len(stacks)
    return len(pages), sum(page_bytes - used for used, _ in pages.values()), touched, shares


class MomentPages(heaptap_test.TestCase):
    def record(self, *words, options=(), server=None):
        """What the program counts; on another machine it prints that there."""
        outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / "answers_moments", *words)
        self.assertEqual(outcome.status, 0, outcome)
        printed = outcome.stdout if server is None else server.stdout.readline()
        held, pages, rest = map(int, re.fullmatch(r"held (\d+) pages (\d+) rest (\d+)\n", printed.decode()).groups())
        return {"held": held, "pages": pages, "rest": rest}

    def shown(self, *words):
        outcome = heaptap("show", *words, self.trace)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def at(self, moment, *options):
        document = json.loads(self.shown("fragmentation", "--json", "--to", moment, *options))
        for name in ("page_bytes", "arenas", "kept_bytes", "unused_page_bytes", "stack_count", "stacks"):
            self.assertIsNone(document[name], name)  # of resident pages
        return document["moment"], document

    def stack_of(self, document, function):
        heaptap_test.list_frames(document["moment"]["stacks"], document["nodes"])
        (stack,) = [stack for stack in document["moment"]["stacks"]
                    if function in [document["frames"][frame]["function"] for frame in stack["frames"]]]
        return stack

    def check_counts(self, moment, to):
        """The figures are those of the addresses that another view has."""
        blocks = json.loads(self.shown("blocks", "--json", "--to", to, "-n", "0"))["blocks"]
        placed = [block for block in blocks if block["address"] is not None]
        self.assertEqual(len(placed), moment["placed_blocks"])
        self.assertEqual(len(blocks) - len(placed), moment["unplaced_blocks"])
        self.assertEqual(sum(block["size"] for block in blocks), moment["placed_bytes"] + moment["unplaced_bytes"])
        pages, rest, touched, shares = counted(placed, moment["page_bytes"])
        self.assertEqual((moment["pages"], moment["placed_kept_bytes_at_most"]), (pages, rest))
        for stack in moment["stacks"]:
            self.assertEqual(stack["pages"], touched[stack["stack"]])
            self.assertAlmostEqual(stack["placed_kept_bytes_at_most"], shares[stack["stack"]], delta=8 * stack["pages"] + 1)

    def check_peak(self, options=(), server=None):
        own = self.record(options=options, server=server)
        moment, document = self.at("peak")
        self.assertEqual(moment["kind"], "peak")
        self.assertTrue(moment["knows_all_blocks"] and moment["knows_all_releases"])
        held = self.stack_of(document, "hold_one")
        self.assertEqual((held["placed_blocks"], held["placed_bytes"]), (own["held"], own["held"] * HELD_BYTES))
        self.assertEqual((held["unplaced_blocks"], held["pages"]), (0, own["pages"]))
        self.assertEqual(held["kept_bytes_at_most"], held["placed_kept_bytes_at_most"])
        # Other stacks' blocks may lie in the first page.
        self.assertLessEqual(held["kept_bytes_at_most"], own["rest"])
        self.assertGreaterEqual(held["kept_bytes_at_most"], own["rest"] - moment["page_bytes"])
        # The large block is freed in the frame in which it is allocated.
        self.assertEqual(self.stack_of(document, "make_peak")["unplaced_bytes"], PEAK_BYTES)
        self.assertIsNone(self.stack_of(document, "make_peak")["kept_bytes_at_most"])
        self.assertIsNone(moment["kept_bytes_at_most"])
        self.check_counts(moment, "peak")
        text = self.shown("fragmentation", "--to", "peak")
        self.assertRegex(text, r"\n64\.2 MiB in 2,34\d blocks live at the peak, after [\d.]+ m?s\n")
        self.assertRegex(text, r"\n64\.0 MiB in 1 block without an address in the trace ")
        self.assertRegex(text, r"\n +[\d.]+ MiB +238\.0 KiB +2,343 +[\d,]+ +0\s+#\d+  hold_one answers_moments\.c:\d+")

    def test_the_peak_by_the_agent(self):
        self.check_peak()

    def test_the_peak_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        own = self.record("few", options=("--via", "ptrace"))
        moment, document = self.at("peak")
        held = self.stack_of(document, "hold_one")
        self.assertEqual(held["placed_blocks"] + held["unplaced_blocks"], own["held"])
        self.check_counts(moment, "peak")

    def test_the_peak_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q", stdout=subprocess.PIPE) as server:
            self.check_peak(("-H", self.directory / "far.sock"), server)

    def test_what_is_freed_within_a_frame_has_no_place(self):
        own = self.record("few", options=("--no-leak-scan",))
        moment, document = self.at("peak")
        held = self.stack_of(document, "hold_one")
        self.assertEqual((held["placed_blocks"], held["unplaced_blocks"]), (0, own["held"]))
        self.assertIsNone(held["kept_bytes_at_most"])
        self.assertIsNone(moment["kept_bytes_at_most"])
        self.assertIsNone(moment["nearest_scan"])
        self.check_counts(moment, "peak")
        text = self.shown("fragmentation", "--to", "peak")
        self.assertRegex(text, r"\n64\.0 MiB in \d+ blocks? without an address in the trace ")
        self.assertRegex(text, r"\n +unknown +0 B +0 +0 +7\s+#\d+  hold_one ")
        self.assertNotIn("(--scan", text)

    def test_at_a_mark_all_blocks_have_their_places(self):
        own = self.record("few", "mark")
        moment, document = self.at("fragmented")
        self.assertEqual((moment["kind"], moment["unplaced_blocks"], moment["nearest_scan"]), ("mark", 0, 1))
        self.assertEqual(moment["kept_bytes_at_most"], moment["placed_kept_bytes_at_most"])
        held = self.stack_of(document, "hold_one")
        self.assertEqual((held["placed_blocks"], held["pages"]), (own["held"], own["pages"]))
        self.assertEqual(self.stack_of(document, "make_peak")["placed_bytes"], PEAK_BYTES)
        self.check_counts(moment, "fragmented")
        self.assertRegex(self.shown("fragmentation", "--to", "fragmented"), r" live at mark fragmented, after [\d.]+ m?s\n")
        # A filter chooses stacks, not pages.
        filtered, _ = self.at("fragmented", "--function", "hold_one")
        self.assertEqual((filtered["pages"], filtered["stack_count"]), (moment["pages"], 1))

    def test_the_end_has_a_scan(self):
        self.record("few")
        plain = json.loads(self.shown("fragmentation", "--json"))
        end = json.loads(self.shown("fragmentation", "--json", "--to", "end"))
        self.assertNotIn("moment", end)
        self.assertEqual(end["arenas"], plain["arenas"])

    def test_other_views_have_the_peak_too(self):
        self.record("few")
        summary = json.loads(self.shown("summary", "--json", "--to", "peak"))
        self.assertEqual(summary["totals"]["live_bytes"], summary["totals"]["peak_live_bytes"])
        self.assertEqual(summary["window"]["to"], "peak")
        self.assertRegex(self.shown("top", "--to", "peak"), r"to the peak \([\d.]+ m?s\)")
        from_peak = json.loads(self.shown("summary", "--json", "--from", "peak"))
        self.assertLess(from_peak["window"]["growth_bytes"], -PEAK_BYTES)

    def check_refused(self, said, *words):
        outcome = heaptap("show", "fragmentation", self.trace, *words)
        self.assertEqual((outcome.status, outcome.stdout), (2, b""), outcome)
        self.assertIn(said, outcome.stderr.decode())

    def test_what_cannot_be_told_is_refused(self):
        self.record("few")
        self.check_refused("--to 1h: the recording ends before, after ", "--to", "1h")
        self.check_refused("--to: 'nowhere' is not a time of the recording", "--to", "nowhere")
        self.check_refused("--scan and --to are two moments", "--to", "peak", "--scan", "1")
        self.check_refused("--from leaves out blocks", "--from", "1ms")
        self.check_refused("--thread leaves out blocks", "--thread", "1")
        self.record("few", options=("--aggregate",))
        self.check_refused("need times, which --aggregate doesn't keep", "--to", "peak")
        self.record("few", options=("--no-leak-scan",))
        outcome = heaptap("show", "fragmentation", self.trace)
        self.assertIn("`show fragmentation --to MOMENT`", outcome.stderr.decode())

    def test_a_trace_that_is_cut_has_what_was_before(self):
        self.record()
        whole = self.trace.read_bytes()
        self.trace.write_bytes(whole[:len(whole) * 3 // 4])
        moment, _ = self.at("end")
        self.assertGreater(moment["placed_blocks"] + moment["unplaced_blocks"], 0)
        self.check_refused("the trace is cut off before, after ", "--to", "1h")


if __name__ == "__main__":
    unittest.main()
