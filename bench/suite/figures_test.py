#!/usr/bin/env python3
"""Tests of the figures beside other tools: what a table has, and where it goes."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from suite import figures  # noqa: E402


def sample(variant, target, helpers=0.0):
    return {"work": "perl", "variant": variant, "target_cpu_s": target, "helpers_cpu_s": helpers}


class Figures(unittest.TestCase):
    def test_other_processes_are_told_apart(self):
        samples = [sample("bare", 2), sample("bare", 1), sample("heaptap", 2.5, 0.5), sample("heaptap", 1.2, 0.3), sample("Memcheck", 60)]
        self.assertEqual(list(figures.recording_rows(samples, ["perl"])),
                         [("perl", ["CPU time of `perl`, recorded (alone: 1×)", "1.2× / 1.5×", "–", "30×", "–"])])

    def test_a_scan_without_the_other_one(self):
        scan = {"blocks": 1_000_000, "bytes": 8e8, "index_s": 0.1, "collect_s": 0.3, "resolve_s": 0.05, "classify_s": 0.05}
        name = "CPU time to scan 1,000,000 blocks, 0.8 GB, for leaks (0.5 s)"
        self.assertEqual(figures.leaks_row([{"leak_scan": scan, "leak_scan_lsan": {"total_s": 2.0}}]), [name, "1×", "–", "–", "4.0×"])
        self.assertEqual(figures.leaks_row([{"leak_scan": scan, "leak_scan_lsan": None}]), [name, "1×", "–", "–", "–"])

    def test_reading(self):
        replays = {"heaptap": [{"cpu_s": 0.5}, {"cpu_s": 0.5}], "heaptrack": [{"cpu_s": 5}, {"cpu_s": 6}]}
        self.assertEqual(figures.reading_row("perl", replays)[1:3], ["1×", "11×"])

    def test_the_first_ones(self):
        groups = {"recording": {"perl": ["a"], "cc1plus": ["b"], "python3": ["c"]}, "leaks": {"leak scan": ["d"]}, "reading": {"python3": ["e"]}}
        rows = figures.table(figures.first_of(groups)).splitlines()[2:]
        self.assertEqual([row.split(" | ")[0] for row in rows], ["| b", "| c", "| d"])

    def test_the_place_in_the_page(self):
        page = f"a\n{figures.BEGIN}old\n{figures.END}\nb\n"
        once = figures.replaced(page, "| new |")
        self.assertEqual(once, f"a\n{figures.BEGIN}\n| new |\n{figures.END}\nb\n")
        self.assertEqual(figures.replaced(once, "| new |"), once)
        with self.assertRaises(ValueError):
            figures.replaced("no marks", "")


if __name__ == "__main__":
    unittest.main()
