"""How much of the stacks of releases is recorded: the caller, all of it with --sanity, or as --release-stacks says; by each way of
capturing. Errors are found and told whatever is recorded."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import built, heaptap, summary

LIMITED = "limit of the recording (--depth; of releases --release-stacks)"


def functions(stack):
    return [frame["function"] for frame in stack["frames"]]


class ReleaseStacks(heaptap_test.TestCase):
    def errors_of(self, program, *options, via="agent"):
        trace = self.directory / "trace.htap"
        outcome = heaptap("run", "-q", "--force", "--via", via, "-o", trace, *options, "--", built(program))
        self.assert_no_crash(outcome, allowed=range(256))
        return summary(trace)

    def double_free(self, *options, via="agent"):
        report = self.errors_of("bad_free_double", *options, via=via)
        self.assertEqual(report["totals"]["double_frees"], 1)
        (error,) = report["errors"]
        self.assertEqual(functions(error["allocated"])[:2], ["make", "main"], "allocations have all of theirs")
        self.assertNotIn("ends_early", error["allocated"])
        self.assertEqual([note for note in report["notes"] if "deeper" in note], [], "no stack was too deep")
        return error

    def test_the_caller_alone(self):
        for via in ("agent", "ptrace"):
            for options in ((), ("--release-stacks", "caller"), ("--sanity", "--release-stacks", "caller")):
                with self.subTest(via=via, options=options):
                    error = self.double_free(*options, via=via)
                    self.assertEqual(functions(error), ["second_release"])
                    self.assertEqual(functions(error["released"]), ["first_release"])
                    self.assertEqual(error["frames"][0]["line"], 11)
                    self.assertEqual((error["ends_early"], error["released"]["ends_early"]), (LIMITED, LIMITED))
                    shown = heaptap("show", "summary", "--sanity", self.directory / "trace.htap").stdout
                    self.assertIn(b"of releases only the caller was recorded", shown)

    def test_all_frames(self):
        for via in ("agent", "ptrace"):
            for option in ("--sanity", "--release-stacks=full"):
                with self.subTest(via=via, option=option):
                    error = self.double_free(option, via=via)
                    self.assertEqual(functions(error)[:2], ["second_release", "main"])
                    self.assertEqual(functions(error["released"])[:2], ["first_release", "main"])
                    self.assertNotIn("ends_early", error)
                    shown = heaptap("show", "summary", "--sanity", self.directory / "trace.htap").stdout
                    self.assertNotIn(b"of releases only the caller", shown)

    def test_none(self):
        for via in ("agent", "ptrace"):
            with self.subTest(via=via):
                error = self.double_free("--release-stacks=none", via=via)
                self.assertEqual((functions(error), functions(error["released"])), ([], []))
                self.assertEqual(error["ends_early"], LIMITED)

    def test_mismatched_and_invalid_ones(self):
        for via in ("agent", "ptrace"):
            for part in ("caller", "none"):
                with self.subTest(via=via, part=part):
                    report = self.errors_of("mismatched", f"--release-stacks={part}", via=via)
                    self.assertEqual(report["totals"]["mismatched_frees"], 7)
                    if part == "caller":
                        self.assertLessEqual({"malloc_delete", "new_free", "new_delete_array", "calloc_delete_array"},
                                             {functions(error)[0].removesuffix("()") for error in report["errors"]})
                    report = self.errors_of("bad_free_stack", f"--release-stacks={part}", via=via)
                    self.assertEqual(report["totals"]["bad_frees"], 1)

    def test_limited_depth_beside(self):
        for via in ("agent", "ptrace"):
            for depth in ("1", "2"):
                with self.subTest(via=via, depth=depth):
                    trace = self.directory / "trace.htap"
                    heaptap("run", "-q", "--force", "--via", via, "-o", trace, "-d", depth, "--", built("bad_free_double"))
                    (error,) = summary(trace)["errors"]
                    self.assertEqual(functions(error), ["second_release"])
                    self.assertEqual(functions(error["allocated"]), ["make", "main"][:int(depth)])

    # A depth limit is another reason for a short stack, which --sanity doesn't lift.
    def test_whole_stacks_of_a_limited_depth(self):
        self.errors_of("bad_free_double", "--sanity", "-d", "2")
        shown = heaptap("show", "summary", "--sanity", self.directory / "trace.htap").stdout
        self.assertIn(b"double free of", shown)
        self.assertNotIn(b"only the caller was recorded", shown)

    def test_unknown_part(self):
        outcome = heaptap("run", "--release-stacks", "half", "--", built("one_leak"), cwd=self.directory)
        self.assertEqual(outcome.status, 2, str(outcome))
        for word in (b"half", b"full", b"caller", b"none"):
            self.assertIn(word, outcome.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
