"""Folded stacks, read as flamegraph.pl reads them: what stands before the last space is a stack, behind it its count."""
import collections
import re

import exported
from exported import heaptap, name_of

KEYS = {"live": "live_bytes", "live-blocks": "live_blocks", "peak": "peak_bytes", "allocated": "allocated_bytes",
        "allocations": "allocations", "temporary": "temporary_allocations"}


def read(file):
    stacks = collections.Counter()
    for line in file.read_text().splitlines():
        stack, count = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line).groups()  # as in flamegraph.pl
        stacks[tuple(stack.split(";"))] += int(count)
    return stacks


class Folded(exported.TestCase):
    def test_each_metric_sums_up_to_what_the_report_says(self):
        trace = self.record("leak_shop")
        for metric, key in KEYS.items():
            expected = collections.Counter()
            for stack in self.stacks(trace):
                if stack[key]:
                    names = [name_of(frame) for frame in reversed(stack["frames"])]
                    expected[tuple(name.replace(";", ":") for name in [*names, stack["function"]])] += stack[key]
            self.assertEqual(read(self.export(trace, "folded", ".folded", "--metric", metric)), expected, metric)
        totals = self.report(trace)["totals"]
        self.assertEqual(read(self.export(trace, "folded", ".folded")).total(), totals["live_bytes"])
        self.assertEqual(read(self.export(trace, "folded", ".folded", "--metric", "peak")).total(), totals["peak_live_bytes"])

    def test_leaks_are_those_of_the_scan(self):
        trace = self.record("leak_shop")
        leaks = self.report(trace)["leaks"]
        self.assertEqual(read(self.export(trace, "folded", ".folded", "--metric", "leaked")).total(),
                         leaks["definite"]["bytes"] + leaks["indirect"]["bytes"])
        self.assertGreater(leaks["definite"]["bytes"], 0)

    def test_what_is_not_known_is_refused_with_its_cure(self):
        trace = self.record("leak_shop", options=["--aggregate", "--no-leak-scan"])
        for metric, cure in (("peak", b"record without it"), ("leaked", b"--leak-scan")):
            file = self.directory / "refused"
            outcome = heaptap("export", "--to", "folded", "--metric", metric, "-o", file, trace)
            self.assertNotEqual(outcome.status, 0)
            self.assertIn(cure, outcome.stderr)
            self.assertFalse(file.exists())

    def test_a_metric_is_for_formats_that_show_one(self):
        outcome = heaptap("export", "--to", "callgrind", "--metric", "peak", "x.htap")
        self.assertEqual(outcome.status, 2, str(outcome))
        self.assertIn(b"--metric", outcome.stderr)


if __name__ == "__main__":
    exported.main()
