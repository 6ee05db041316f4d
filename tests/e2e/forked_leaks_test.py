"""Leaks of forked children: what they have from their parents is in no trace of theirs, but holds their blocks."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import heaptap_test  # noqa: E402


class ForkedLeaks(unittest.TestCase):
    def test_a_parents_block_holds_a_childs(self):
        with tempfile.TemporaryDirectory() as directory:
            outcome = heaptap_test.heaptap("run", "-q", "-f", "--", heaptap_test.built("leak_inherited_holder"), cwd=pathlib.Path(directory))
            self.assertEqual(outcome.status, 0, str(outcome))
            reports = [heaptap_test.summary(trace) for trace in pathlib.Path(directory).glob("heaptap.leak_inherited_holder.*.htap")]
        child = next(report for report in reports if report["totals"]["live_blocks"] == 2)
        self.assertEqual(len(reports), 2)
        self.assertEqual(child["leaks"]["definite"], {**child["leaks"]["definite"], "blocks": 1, "bytes": 33})
        self.assertEqual(child["leaks"]["reachable"]["blocks"], 1)
        self.assertIn("not all blocks are known", " ".join(heaptap_test.notes_of(child, scan=1)))


if __name__ == "__main__":
    unittest.main()
