"""The format of massif, read by ms_print, which refuses a tree whose nodes have more or fewer callers than they say."""
import re

import exported
from exported import heaptap


class Massif(exported.TestCase):
    def snapshots(self, file):
        found = re.findall(r"snapshot=(\d+)\n#-*\ntime=(\d+)\nmem_heap_B=(\d+)\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=(\w+)\n", file.read_text())
        self.assertEqual([int(number) for number, *_ in found], list(range(len(found))))
        return [(int(time), int(size), tree) for _, time, size, tree in found]

    def check(self, trace):
        file = self.export(trace, "massif", ".massif")
        totals = self.report(trace)["totals"]
        snapshots = self.snapshots(file)
        times = [time for time, *_ in snapshots]
        self.assertEqual(times, sorted(times))
        self.assertEqual([size for _, size, tree in snapshots if tree == "peak"], [totals["peak_live_bytes"]])
        self.assertEqual(snapshots[-1][1:], (totals["live_bytes"], "detailed"))
        self.assertEqual(max(size for _, size, _ in snapshots), totals["peak_live_bytes"])
        printed = self.read_by("ms_print", "--threshold=0", file)
        roots = re.findall(r"^\d+\.\d+% \(([\d,]+)B\) \(heap allocation functions\)", printed, re.MULTILINE)
        self.assertEqual([int(size.replace(",", "")) for size in roots], [totals["peak_live_bytes"], totals["live_bytes"]])
        return printed

    def test_the_peak_and_the_end_are_those_of_the_report(self):
        printed = self.check(self.record("leak_shop"))
        self.assertRegex(printed, r"->\d+\.\d+% \([\d,]+B\) 0x[0-9A-F]+: strdup|->\d+\.\d+% \([\d,]+B\) 0x[0-9A-F]+: .*take_order")

    def test_deep_stacks(self):
        self.check(self.record("recursion", "100", "1"))

    def test_a_trace_of_totals_is_refused(self):
        trace = self.record("leak_shop", options=["--aggregate"])
        outcome = heaptap("export", "--to", "massif", trace)
        self.assertNotEqual(outcome.status, 0)
        self.assertIn(b"record without it", outcome.stderr)


if __name__ == "__main__":
    exported.main()
