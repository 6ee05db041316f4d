"""The language of expectations itself: an expectation that doesn't hold is noticed."""
import copy
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
from heaptap_test import TARGET_SOURCES, TARGETS


def stack(number, function, frames, **numbers):
    counts = dict.fromkeys(("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary_allocations"), 0)
    return {"id": number, "function": function, "threads": [1], "frames": [{"function": name} for name in frames], **counts, **numbers}


REPORT = {
    "totals": {"allocations": 3, "frees": 1, "allocated_bytes": 60, "live_blocks": 2, "live_bytes": 50, "temporary_allocations": 0,
               "peak_live_bytes": 60, "peak_live_blocks": 3, "mapped_live_bytes": 4096, "unknown_frees": 0, "bad_frees": 0,
               "double_frees": 0},
    "errors": [{"kind": "double", "function": "free", "frames": [{"function": "again(void*)"}], "count": 2,
                "allocated": {"function": "malloc", "frames": [{"function": "make"}]}, "released": {"frames": [{"function": "first"}]}}],
    "stacks": [stack(1, "malloc", ["leaf(int)", "main"], allocations=2, frees=1, allocated_bytes=30, live_blocks=1, live_bytes=20, peak_bytes=30),
               stack(2, "operator new", ["Tree<int>::make()", "plant() [clone .cold]", "main"], allocations=1, allocated_bytes=30,
                     live_blocks=1, live_bytes=30, peak_bytes=30),
               stack(3, "mmap", ["main"], allocations=1, allocated_bytes=4096, live_blocks=1, live_bytes=4096)],
}


class Expectations(unittest.TestCase):
    def test_what_holds(self):
        for text in ("totals.allocations == 3", "errors.length == 1", "stack function=malloc caller=leaf allocations=2 live_bytes=20",
                     'stack function="operator new" path=Tree::make<plant<main allocations=1', "stack through=main allocations=4 stacks=3",
                     "stack through=nowhere allocations=0", "stack through=main threads=1 allocations>=2",
                     "error kind=double function=free caller=again allocated=malloc allocated_in=make released_in=first count=2"):
            self.assertEqual(expectations.check(text, REPORT), [], text)

    def test_what_does_not_hold(self):
        for text in ("totals.allocations == 4", "errors.length == 0", "stack caller=leaf allocations=3", "stack caller=main function=malloc allocations=2",
                     "stack path=leaf<other allocations=2", "stack path=main allocations=2", "stack caller=leaf allocations=2 frees=0",
                     "error kind=bad count=1", "error kind=double released_in=make count=2"):
            self.assertEqual(len(expectations.check(text, REPORT)), 1, text)

    def test_words_that_mean_nothing(self):
        for text in ("stack no_such_key=1", "stack function>=malloc"):
            self.assertRaises(ValueError, expectations.check, text, REPORT)

    def test_conservation(self):
        self.assertEqual(list(expectations.conservation(REPORT)), [])
        for path in (("totals", "allocations"), ("totals", "live_bytes"), ("totals", "peak_live_bytes"), ("totals", "mapped_live_bytes"),
                     ("totals", "frees"), ("stacks", 0, "frees"), ("stacks", 1, "live_blocks"), ("stacks", 0, "temporary_allocations")):
            broken = copy.deepcopy(REPORT)
            where = broken
            for part in path[:-1]:
                where = where[part]
            where[path[-1]] += 7
            self.assertNotEqual(list(expectations.conservation(broken)), [], path)

    def test_names(self):
        for name, expected in (("make(int, char)", "make"), ("Global::~Global()", "Global::~Global"), ("operator new(unsigned long)", "operator new"),
                               ("std::map<int, std::pair<a, b> >::find(int const&)", "std::map::find"), ("f(int) [clone .constprop.0]", "f"),
                               ("malloc@@GLIBC_2.2.5", "malloc"), (None, "?"), ("Tree::operator()(int) const", "Tree::operator()"),
                               ("void run<int>(int)", "run")):
            self.assertEqual(expectations.plain(name), expected)

    def test_runs(self):
        with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
            file.write("// A program.\n// OPTIONS --sanity -f\n// STDIN a\\nb\n// EXPECT totals.frees == 1\n// RUN one \"two words\"\n"
                       "// EXPECT exit 3\n// RUN-LONG many\n// EXPECT signal SIGKILL\nint x;\n// EXPECT exit 9\n")
            file.flush()
            target = expectations.read(pathlib.Path(file.name), TARGETS)
        self.assertEqual([(run.arguments, run.status, run.long) for run in target.runs], [(["one", "two words"], 3, False), (["many"], 137, True)])
        self.assertEqual((target.options, target.stdin), (["--sanity", "-f"], b"a\nb"))
        self.assertEqual(target.runs[1].expectations, ["totals.frees == 1"])

    def test_every_target_program_can_be_read(self):
        sources = [*TARGET_SOURCES.glob("*.c"), *TARGET_SOURCES.glob("*.cc")]
        self.assertGreater(len(sources), 80)
        for source in sources:
            target = expectations.read(source, TARGETS)
            for run in target.runs:
                for text in run.expectations:
                    try:
                        expectations.check(text, REPORT)
                    except KeyError:
                        pass  # a total that this report hasn't got


if __name__ == "__main__":
    unittest.main()
