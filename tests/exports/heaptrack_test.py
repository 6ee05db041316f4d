"""The format of heaptrack, read by heaptrack_print."""
import re

import exported
from exported import heaptap

UNITS = {"B": 1, "K": 1000, "M": 1000 ** 2, "G": 1000 ** 3}


class Heaptrack(exported.TestCase):
    def printed(self, trace):
        """What heaptrack_print says: exact numbers by stack where it prints them for a flame graph, and its totals."""
        file = self.export(trace, "heaptrack", ".gz")
        return file, self.read_by("heaptrack_print", "-f", file, "-a", "0", "-p", "0", "-T", "0", "-l", "0")

    def flame_total(self, file, cost):
        text = self.directory / "flame"
        self.read_by("heaptrack_print", "-f", file, "-F", text, "--flamegraph-cost-type", cost, "-a", "0", "-p", "0", "-T", "0", "-l", "0")
        return sum(int(line.rsplit(" ", 1)[1]) for line in text.read_text().splitlines())

    def check(self, target, *arguments):
        trace = self.record(target, *arguments)
        totals = self.report(trace)["totals"]
        file, printed = self.printed(trace)
        self.assertEqual(int(re.search(r"calls to allocation functions: (\d+)", printed)[1]), totals["allocations"])
        for label, key in (("peak heap memory consumption", "peak_live_bytes"), ("total memory leaked", "live_bytes")):
            number, unit = re.search(rf"{label}: ([\d.]+)([BKMG])", printed).groups()
            self.assertAlmostEqual(float(number) * UNITS[unit], totals[key], delta=0.006 * UNITS[unit])
        self.assertEqual(self.flame_total(file, "allocations"), totals["allocations"])
        self.assertEqual(self.flame_total(file, "leaked"), totals["live_bytes"])
        self.assertEqual(self.flame_total(file, "peak"), totals["peak_live_bytes"])

    def test_totals_are_those_of_the_report(self):
        self.check("leak_shop")

    def test_deep_stacks(self):
        self.check("recursion", "100", "1")

    def test_reallocations_that_fail_are_none(self):
        self.check("failed_calls")

    def test_blocks_that_other_threads_release(self):
        self.check("producer_consumer")

    def test_inlined_frames_have_their_names_and_the_order_that_heaptrack_gives_them(self):
        trace = self.record("inlined_frames")
        text = self.directory / "flame"
        self.read_by("heaptrack_print", "-f", self.export(trace, "heaptrack", ".gz"), "-F", text)
        self.assertRegex(text.read_text(), r"main \(.*\);inlined_inner \(.*\);inlined_outer \(.*\);holder \(.*\); 20\n")

    def test_a_trace_of_totals_is_refused_with_its_cure(self):
        trace = self.record("leak_shop", options=["--aggregate"])
        outcome = heaptap("export", "--to", "heaptrack", "-o", self.directory / "refused", trace)
        self.assertNotEqual(outcome.status, 0)
        self.assertIn(b"record without it", outcome.stderr)
        self.assertEqual(list(self.directory.glob("refused*")), [])


if __name__ == "__main__":
    exported.main()
