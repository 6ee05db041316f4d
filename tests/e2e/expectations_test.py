"""The language of expectations itself: an expectation that doesn't hold is noticed."""
import copy
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import leak_expectations
from heaptap_test import TARGET_SOURCES, TARGETS


def stack(number, function, frames, **numbers):
    counts = dict.fromkeys(("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "peak_bytes", "temporary_allocations"), 0)
    return {"id": number, "function": function, "threads": [1], "frames": [{"function": name} for name in frames], **counts, **numbers}


REPORT = {
    "totals": {"allocations": 3, "frees": 1, "allocated_bytes": 60, "live_blocks": 2, "live_bytes": 50, "temporary_allocations": 0,
               "peak_live_bytes": 60, "peak_live_blocks": 3, "mapped_live_bytes": 4096, "mapped": {"private": {"live_bytes": 4096}}, "unknown_frees": 0, "bad_frees": 0,
               "double_frees": 0},
    "errors": [{"kind": "double", "function": "free", "frames": [{"function": "again(void*)"}], "count": 2,
                "allocated": {"function": "malloc", "frames": [{"function": "make"}]}, "released": {"frames": [{"function": "first"}]}}],
    "stacks": [stack(1, "malloc", ["leaf(int)", "main"], allocations=2, frees=1, allocated_bytes=30, live_blocks=1, live_bytes=20, peak_bytes=30),
               stack(2, "operator new", ["Tree<int>::make()", "plant() [clone .cold]", "main"], allocations=1, allocated_bytes=30,
                     live_blocks=1, live_bytes=30, peak_bytes=30),
               stack(3, "mmap", ["main"], allocations=1, allocated_bytes=4096, live_blocks=1, live_bytes=4096, mapped={"private": 4096})],
}


def leaky_stack(line, **kinds):
    """A stack of a leak scan, from a line of lib.c or program.c, with (blocks, bytes) of each kind."""
    counts = [dict(zip(("blocks", "bytes"), kinds.get(kind, (0, 0)))) for kind in leak_expectations.KINDS]
    frames = [{"file": None, "line": None}, {"file": "/lib/lib.c", "line": 7}]
    if line:
        frames += [{"file": "/home/program.c", "line": line}, {"file": "program.c", "line": 999}]
    return {"id": line, "function": "malloc", "frames": frames, "leaks": dict(zip(leak_expectations.LOST, counts)),
            "live_blocks": sum(count["blocks"] for count in counts), "live_bytes": sum(count["bytes"] for count in counts)}


def leak_report(*stacks):
    totals = {kind: {unit: sum(stack["leaks"][kind][unit] for stack in stacks) for unit in ("blocks", "bytes")}
              for kind in leak_expectations.LOST}
    return {"target": {"arch": "x86_64"}, "leaks": {"scanned": True, **totals}, "stacks": list(stacks)}


class LeakExpectations(unittest.TestCase):
    def problems(self, program, *stacks, arguments=(), **changes):
        with tempfile.TemporaryDirectory() as directory:
            source = pathlib.Path(directory) / "program.c"
            source.write_text(program)
            leaks = leak_expectations.read(source)
        report = leak_report(*stacks)
        report["leaks"].update(changes)
        return leak_expectations.check(leaks, list(arguments), report)

    def test_what_holds(self):
        for program, stacks in (("a;  // LEAK definite 1 32", [leaky_stack(1, definite=(1, 32))]),
                                ("a;  // LEAK definite 1 *", [leaky_stack(1, definite=(1, 77))]),
                                ("a;\nb;  // LEAK definite 1 8, indirect 2 16", [leaky_stack(2, definite=(1, 8)), leaky_stack(2, indirect=(2, 16))]),
                                ("a;  // LEAK reachable 2 9", [leaky_stack(1, reachable=(2, 9))]),
                                ("a;  // LEAK definite 1 8", [leaky_stack(1, definite=(1, 8), reachable=(3, 9))]),
                                ("a;  // LEAK definite 1 8 | possible 1 8", [leaky_stack(1, possible=(1, 8))]),
                                ("  // LEAK definite 1 8\n  // LEAK x: definite 1 9\na;", [leaky_stack(3, definite=(1, 8))]),
                                ("// CLEAN", [leaky_stack(0, reachable=(1, 8)), leaky_stack(5, reachable=(1, 8))])):
            self.assertEqual(self.problems(program, *stacks), [], program)

    def test_what_does_not_hold(self):
        right = leaky_stack(1, definite=(1, 32))
        for program, stacks in (("a;  // LEAK definite 2 32", [right]), ("a;  // LEAK definite 1 31", [right]), ("a;  // LEAK definite 1 32", []),
                                ("a;\nb;  // LEAK reachable 0 0", [right]), ("a;  // LEAK definite 1 32", [right, leaky_stack(2, possible=(1, 8))]),
                                ("a;  // LEAK definite 1 32", [right, leaky_stack(0, indirect=(1, 8))]),
                                ("a;  // LEAK definite 1 32", [leaky_stack(1, definite=(1, 32), possible=(1, 8))]),
                                ("a;  // LEAK reachable 1 8 | possible 1 8", [right]), ("a;  // LEAK reachable 0 0", [right]),
                                ("// CLEAN", [right]), ("// CLEAN", [leaky_stack(0, possible=(1, 8))])):
            self.assertNotEqual(self.problems(program, *stacks), [], (program, stacks))

    def test_cases_for_arguments(self):
        program = "a;  // LEAK held: reachable 1 8; dropped+now: definite 1 8; dropped: indirect 1 8"
        for arguments, kind in (("held", "reachable"), ("dropped", "indirect"), ("dropped now", "definite"), ("now dropped", "definite")):
            for found in leak_expectations.KINDS:
                problems = self.problems(program, leaky_stack(1, **{found: (1, 8)}), arguments=arguments.split())
                self.assertEqual(problems == [], found == kind, (arguments, found))
        self.assertNotEqual(self.problems(program, leaky_stack(1, definite=(1, 8)), arguments=["other"]), [])

    def test_a_missing_scan_is_noticed(self):
        for environment, expected in (({"HEAPTAP_NO_LEAK_SCAN": "1"}, 0), ({"HEAPTAP_NO_LEAK_SCAN": "0"}, 1), ({}, 1)):
            with mock.patch.dict(os.environ, environment):
                if not environment:
                    os.environ.pop("HEAPTAP_NO_LEAK_SCAN", None)
                self.assertEqual(len(self.problems("// CLEAN", scanned=False)), expected)
                self.assertEqual(self.problems("a;", scanned=False), [])  # says nothing of leaks
                self.assertNotEqual(self.problems("// CLEAN", leaky_stack(1, definite=(1, 8))), [])

    def test_conservation(self):
        lost = leaky_stack(1, definite=(1, 32))
        self.assertNotEqual(self.problems("a;  // LEAK definite 1 32", lost, definite={"blocks": 2, "bytes": 32}), [])
        lost["live_bytes"] = 31
        self.assertNotEqual(self.problems("a;  // LEAK definite 1 32", lost), [])

    def test_comments_that_mean_nothing(self):
        for program in ("a;  // LEAK lost 1 32", "a;  // LEAK definite 1", "a;  // LEAK definite one 3", "// LEAK definite 1 3",
                        "// CLEAN\na;  // LEAK definite 1 3"):
            self.assertRaises(ValueError, self.problems, program)


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
            file.write("// A program.\n// OPTIONS --sanity -f\n// LEVELS -O2 -O3\n// REPEAT 5\n// STDIN a\\nb\n// EXPECT totals.frees == 1\n// RUN one \"two words\"\n"
                       "// EXPECT exit 3\n// RUN-LONG many\n// EXPECT signal SIGKILL\nint x;\n// EXPECT exit 9\n")
            file.flush()
            target = expectations.read(pathlib.Path(file.name), TARGETS)
        self.assertEqual([(run.arguments, run.status, run.long) for run in target.runs], [(["one", "two words"], 3, False), (["many"], 137, True)])
        self.assertEqual((target.levels, target.repeat), (["-O2", "-O3"], 5))
        self.assertEqual((target.options, target.stdin), (["--sanity", "-f"], b"a\nb"))
        self.assertEqual(target.runs[1].expectations, ["totals.frees == 1"])

    def test_every_target_program_can_be_read(self):
        sources = list(TARGET_SOURCES.values())
        self.assertGreater(len(sources), 80)
        for source in sources:
            target = expectations.read(source, TARGETS)
            if source.name.startswith("leak_") and target.trace == "":
                self.assertTrue(target.leaks, f"{source.name} says nothing of its leaks")
            for run in target.runs:
                for text in run.expectations:
                    try:
                        expectations.check(text, REPORT)
                    except KeyError:
                        pass  # a total that this report hasn't got


if __name__ == "__main__":
    unittest.main()
