"""A program with very many distinct call stacks: its report, views, exports and comparisons fit into memory."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, summary

STACKS = 60_000
# Of the readers' own memory. A list of frames with each stack would take three times as much for the report.
MOST_BYTES = 1 << 30


class ManyStacks(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        recorded = heaptap("run", "-q", "-o", self.trace, "--", built("many_stacks"), STACKS)
        self.assertEqual(recorded.status, 0, str(recorded))

    def read(self, *words):
        outcome = heaptap_test.run(["prlimit", f"--data={MOST_BYTES}", HEAPTAP, *words], cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome

    def test_report_views_exports_and_comparisons_fit_into_memory(self):
        self.read("report", "-o", "report.html", self.trace)
        self.assertIn(b"</html>", (self.directory / "report.html").read_bytes()[-100:])
        for words in (["show", "tree"], ["show", "leaks"], ["export", "--to", "pprof", "-o", "stacks.pb.gz"],
                      ["export", "--to", "heaptrack", "-o", "stacks.gz"]):
            with self.subTest(" ".join(words)):
                self.read(*words, self.trace)
        self.assertIn(b"no stack changed", self.read("diff", self.trace, self.trace).stdout)

    def test_no_stack_is_cut(self):
        """The table of stacks grows, here to five times its size at first."""
        recorded = heaptap("run", "--no-leak-scan", "-o", self.directory / "more.htap", "--", built("many_stacks"), 900_000)
        self.assertEqual(recorded.status, 0, str(recorded))
        shown = heaptap("show", "summary", self.directory / "more.htap").stdout.decode()
        self.assertNotIn("table of call stacks", shown)

    def test_all_of_them_are_listed(self):
        made = [[frame["function"] for frame in stack["frames"]] for stack in summary(self.trace)["stacks"]
                if stack["function"] == "malloc" and "::allocate(" in (stack["frames"][0]["function"] or "")]
        self.assertEqual(len(made), STACKS)
        self.assertEqual({frames.index("main") for frames in made}, {95})


if __name__ == "__main__":
    unittest.main()
