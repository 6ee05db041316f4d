"""Several processes: what is followed, what the end says of all of them, and the gate over their traces."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, heaptap


class Gate(heaptap_test.TestCase):
    """`heaptap check` of several traces, and of a folder."""

    def setUp(self):
        super().setUp()
        self.clean, self.leaky = self.folder / "a.htap", self.folder / "b.htap"
        for trace, program in ((self.clean, "fork_followed"), (self.leaky, "leak_shop")):
            outcome = heaptap("run", "-q", "-o", trace, "--", built(program), cwd=self.folder)
            self.assertEqual(outcome.status, 0, str(outcome))

    def check(self, *arguments, status):
        outcome = heaptap("check", *arguments, "--max-leaked", "0", cwd=self.folder)
        self.assertEqual(outcome.status, status, str(outcome))
        return outcome.stdout.decode()

    def test_each_trace_is_judged_and_the_worst_counts(self):
        self.check(self.clean, self.clean, status=0)
        text = self.check(self.clean, self.leaky, status=1)
        self.assertLess(text.index(f"{self.clean}:\nok: leaked 0 B"), text.index(f"{self.leaky}:\nFAIL: leaked 224 B"))
        self.check(self.leaky, self.clean, status=1)

    def test_one_trace_is_as_before(self):
        self.assertEqual(self.check(self.clean, status=0), "ok: leaked 0 B, limit 0 B\n")
        self.assertEqual(json.loads(self.check(self.leaky, "--json", status=1))["format"], "heaptap-check")

    def test_a_folder_is_its_traces_each_once(self):
        self.assertTrue((self.folder / "heaptap.latest.htap").is_symlink())
        self.assertEqual(self.check(self.folder, status=1).count("leaked"), 2)
        self.assertEqual(self.check(self.folder, self.leaky, "--json", status=1).count('"heaptap-check"'), 2)

    def test_what_cannot_be_read_does_not_pass(self):
        (self.folder / "c.htap").write_text("no trace")
        found = json.loads(self.check(self.clean, self.folder / "c.htap", "--json", status=125))
        self.assertFalse(found["passed"])
        self.assertEqual([entry["trace"] for entry in found["failed"]], [str(self.folder / "c.htap")])
        self.check(self.folder, status=1)  # a limit that is broken is certain
        empty = self.folder / "empty"
        empty.mkdir()
        self.check(empty, status=125)


if __name__ == "__main__":
    unittest.main()
