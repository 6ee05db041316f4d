#!/usr/bin/env python3
"""Tests of the comparison of two benchmark runs."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from suite import against  # noqa: E402


def samples(work, *rounds):
    """Samples of each round: CPU time alone, of the target under heaptap, of heaptap."""
    for number, (bare, target, helpers) in enumerate(rounds):
        yield {"work": work, "variant": "bare", "round": number, "target_cpu_s": bare, "helpers_cpu_s": 0}
        yield {"work": work, "variant": "heaptap", "round": number, "target_cpu_s": target, "helpers_cpu_s": helpers}


class Against(unittest.TestCase):
    def test_a_machine_of_half_the_speed_changes_nothing(self):
        rows = against.compare([*samples("churn", (1, 1.5, 0.5))], [*samples("churn", (2, 3, 1))])
        self.assertEqual([row.change for row in rows], [0, 0])

    def test_what_costs_more_is_worse_by_its_ratio(self):
        target, everything = against.compare([*samples("churn", (1, 1.5, 0.5))], [*samples("churn", (1, 1.8, 0.2))])
        self.assertAlmostEqual(target.change, 0.2)
        self.assertEqual(everything.change, 0)

    def test_the_median_of_the_rounds_counts(self):
        rounds = (1, 1.5, 0), (1, 1.5, 0), (1, 9, 0)
        self.assertEqual(against.ratios([*samples("churn", *rounds)])["churn", "target"], 1.5)

    def test_works_of_one_run_alone_and_such_that_cost_nothing_have_no_row(self):
        self.assertEqual(against.compare([*samples("a", (1, 2, 0))], [*samples("b", (1, 2, 0))]), [])
        self.assertEqual(against.compare([*samples("a", (0.01, 2, 0))], [*samples("a", (1, 2, 0))]), [])


if __name__ == "__main__":
    unittest.main()
