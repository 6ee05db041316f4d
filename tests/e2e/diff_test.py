# CTEST COST 35
"""`heaptap diff`: two builds of a program, two runs of a real one, a series, two moments of one trace."""
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import heaptap

# Each @ is a place where the changed source differs: another number of lines, a function in place of its text, a new leak.
PROGRAM = """
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
@ABOVE@
static @INLINE@ void* make_record(size_t bytes) { return memset(malloc(bytes), 1, bytes); }

struct Cache { std::vector<std::string> names; void** records; };

__attribute__((noinline)) void fill(Cache& cache, int count) {
  cache.records = (void**)calloc(count, sizeof(void*));
  @WITHIN@
  for (int i = 0; i < count; ++i) cache.records[i] = make_record(100);
  for (int i = 0; i < count; ++i) cache.names.push_back("a name that is longer than a short string " + std::to_string(i));
}
__attribute__((noinline)) void forget(int count) {
  for (int i = 0; i < count; ++i) {
    volatile char* lost = (char*)malloc(48);
    lost[0] = 1;
  }
}
@LEAK@
// What is left of pointers below the stack's end.
__attribute__((noinline)) void clear_stack() {
  volatile char stack[8192];
  for (int i = 0; i < 8192; ++i) stack[i] = 0;
}
int main(int argc, char** argv) {
  static Cache cache;
  fill(cache, atoi(argv[1]));
  forget(10);
  @CALL@
  for (int i = 0; i < 5; ++i) free(malloc(1000 + argc));
  clear_stack();
  return 0;
}
"""
NOTHING = {"ABOVE": "", "INLINE": "__attribute__((noinline))", "WITHIN": "", "LEAK": "", "CALL": ""}
NEW_LEAK = {"LEAK": "__attribute__((noinline)) void leak_more() { volatile char* lost = (char*)malloc(3000); lost[0] = 1; }",
            "CALL": "leak_more();"}
MOVED = {"ABOVE": "// one\n// two\n// three\n", "WITHIN": "// one more\n"}
FIGURES = ("live_bytes", "live_blocks", "peak_bytes", "allocated_bytes", "allocations", "frees", "temporary_allocations")


class Diff(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="heaptap-test-")))

    def build(self, name, changes=(), options=("-O0", "-g")):
        """Compiled once for all tests: the compiler takes longer than what is tested."""
        text = PROGRAM
        for place, replacement in {**NOTHING, **dict(changes)}.items():
            text = text.replace(f"@{place}@", replacement)
        key = hashlib.sha256(repr((text, options)).encode()).hexdigest()
        kept = self.built / key / "program"
        if not kept.exists():
            kept.parent.mkdir()
            source = kept.with_suffix(".cc")
            source.write_text(text)
            outcome = heaptap_test.run(["g++", "-w", "-fno-builtin", *options, source, "-o", kept])
            self.assertEqual(outcome.status, 0, str(outcome))
        program = self.directory / name / "program"
        program.parent.mkdir()
        shutil.copy2(kept, program)
        return program

    def record(self, program, *arguments, name=None, options=(), **more):
        trace = self.directory / f"{name or program.parent.name}.htap"
        outcome = heaptap("run", "-q", "-o", trace, *options, "--", program, *arguments, cwd=self.directory, **more)
        self.assertEqual(outcome.status, 0, str(outcome))
        return trace

    def text(self, *arguments, status=0):
        outcome = heaptap(*arguments, cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        return (outcome.stderr if status == 2 else outcome.stdout).decode()

    def diff(self, *arguments):
        """The comparison, with whole frames; every figure is checked against `show` of each trace, and with each other."""
        comparison = json.loads(self.text("diff", "--json", "--unchanged", *arguments))
        self.assertEqual((comparison["format"], comparison["version"]), ("heaptap-diff", 3))
        heaptap_test.list_frames(comparison["stacks"], comparison["nodes"])
        for stack in comparison["stacks"]:
            stack["names"] = [comparison["frames"][index]["function"] for index in stack["frames"]]
            stack["lines"] = [comparison["frames"][index]["line"] for index in stack["frames"]]
        self.check_change(comparison["totals"])
        for stack in comparison["stacks"]:
            self.check_change(stack)
        return comparison

    def check_change(self, entry):
        for figure, change in entry["change"].items():
            before, after = entry["before"][figure], entry["after"][figure]
            self.assertEqual(change, None if before is None or after is None else after - before, (figure, entry))

    def check_against_show(self, comparison, side, trace):
        """The stacks of one side are those of the trace, each once, with its figures."""
        shown = {stack["id"]: stack for stack in heaptap_test.summary(trace)["stacks"]}
        seen = [number for stack in comparison["stacks"] for number in stack[side]["ids"]]
        self.assertEqual(sorted(seen), sorted(shown))
        for stack in comparison["stacks"]:
            own = [shown[number] for number in stack[side]["ids"]]
            for figure in FIGURES:
                self.assertEqual(stack[side][figure], sum(entry[figure] for entry in own), (figure, stack))
            if own and not stack["mapping"]:
                lost = sum(entry["leaks"][kind]["bytes"] for entry in own for kind in ("definite", "indirect"))
                self.assertEqual(stack[side]["leaked_bytes"], lost)
        totals = heaptap_test.summary(trace)["totals"]
        for figure in ("live_bytes", "live_blocks", "allocated_bytes", "allocations", "frees", "temporary_allocations"):
            self.assertEqual(comparison["totals"][side][figure], totals[figure])
        self.assertEqual(comparison["totals"][side]["peak_bytes"], totals["peak_live_bytes"])

    def compare(self, before, after, *options):
        comparison = self.diff(before, after, *options)
        if not options:
            self.check_against_show(comparison, "before", before)
            self.check_against_show(comparison, "after", after)
        return comparison

    def of(self, comparison, *functions):
        """The one stack whose program frames begin with these functions."""
        found = []
        for stack in comparison["stacks"]:
            own = [name for name in stack["names"] if name]
            if all(any(name.startswith(function) for name in own[:len(functions) + 8]) for function in functions):
                found.append(stack)
        self.assertEqual(len(found), 1, (functions, [(stack["state"], stack["names"]) for stack in found]))
        return found[0]

    def states(self, comparison):
        return {state: count for state, count in comparison["stack_count"].items()
                if state in ("new", "gone", "grown", "shrunk", "unknown") and count}

    def test_the_same_program_at_other_addresses_is_the_same(self):
        program = self.build("app", options=("-O2", "-g", "-pie", "-fPIE"))
        comparison = self.compare(self.record(program, "50", name="one"), self.record(program, "50", name="two"))
        self.assertEqual(self.states(comparison), {})
        self.assertEqual(comparison["stack_count"]["moved"], 0)
        self.assertIn("no stack changed", self.text("diff", self.directory / "one.htap", self.directory / "two.htap"))

    def test_more_data_makes_the_same_stacks_grow(self):
        program = self.build("app")
        comparison = self.compare(self.record(program, "50", name="one"), self.record(program, "70", name="two"))
        record = self.of(comparison, "make_record")
        self.assertEqual((record["state"], record["moved"]), ("grown", False))
        self.assertEqual((record["change"]["live_bytes"], record["change"]["live_blocks"]), (2000, 20))
        self.assertEqual(self.states(comparison).get("new"), None)

    def test_text_lists_what_changed_in_the_sort_figure_with_the_programs_own_frame(self):
        program = self.build("app")
        before, after = self.record(program, "50", name="one"), self.record(program, "70", name="two")
        comparison = self.diff(before, after)
        for figure, key in (("live", "live_bytes"), ("frees", "frees"), ("allocations", "allocations")):
            changed = [stack for stack in comparison["stacks"] if stack["change"][key] != 0]
            text = self.text("diff", before, after, "--sort", figure, "-n", "0")
            heading, rows = text.split(f"Stacks by change of {figure}")[1].split("\n", 1)
            counts = {word: int(number) for number, word in re.findall(r"(\d+) (new|gone|grown|shrunk|unchanged)", heading)}
            self.assertEqual(counts.pop("unchanged", 0), len(comparison["stacks"]) - len(changed), text)
            self.assertEqual(sum(counts.values()), len(changed), text)
            listed = [re.search(r"\((\d+) stacks:", line) for line in re.findall(r"^ .*#\d+  .*$", rows, re.MULTILINE)]
            self.assertEqual(sum(int(more[1]) if more else 1 for more in listed), len(changed), text)
            for hidden in ("__libc_start", "_start", "std::", "operator new", " same "):
                self.assertNotIn(hidden, rows)
        text = self.text("diff", before, after, "-n", "1")
        self.assertRegex(text, r"\n +\+2\.0 KiB +4\.9 KiB +6\.8 KiB +#\d+  make_record program\.cc:\d+ < fill program\.cc:\d+.*\n\n\(\d+ stacks? more: -n N shows more")
        self.assertIn("fill", self.text("diff", before, after, "--skip", "make_record", "-n", "1"))
        self.assertNotIn("make_record", self.text("diff", before, after, "--skip", "make_record"))

    def test_memory_of_system_libraries_is_one_line(self):
        before = self.record(heaptap_test.built("answers_trifle"), name="before")
        after = self.record(heaptap_test.built("leak_shop"), name="after")
        text = self.text("diff", before, after)
        told = r"\+7[15]\.0 KiB live in [12] stacks? of system libraries: .*libstdc\+\+'s emergency pool for exceptions"  # and a file's buffer
        self.assertRegex(text, rf"\n\({told}; --unchanged lists all\)\n")
        self.assertNotRegex(text, r"(?m)^ .*emergency pool")
        self.assertRegex(self.text("diff", "--unchanged", before, after), r"(?m)^ .*emergency pool")
        self.text("diff", "--html", "-o", "diff.html", before, after)
        document = heaptap_test.document_of((self.directory / "diff.html").read_text())
        changes = [finding["text"] for finding in document["verdict"] if finding["kind"] == "change"]
        self.assertIn("fill_table", changes[0])
        self.assertRegex(changes[-1], rf"^{told}\.$")
        self.assertNotIn("1.0 KiB live, new", "".join(changes[:-1]))
        self.assertIn(sum(document["stacks"]["of_libraries"]), (1, 2))

    def test_a_moved_line_is_no_new_stack(self):
        before = self.record(self.build("before"), "50")
        after = self.record(self.build("after", MOVED), "50")
        comparison = self.compare(before, after)
        self.assertEqual(self.states(comparison), {})
        record = self.of(comparison, "make_record")
        self.assertTrue(record["moved"])
        lines = [comparison["frames"][index]["line"] for index in record["frames_before"]]
        self.assertEqual([now - then for now, then in zip(record["lines"], lines) if now and then][:3], [3, 4, 4])

    def test_a_new_leak_is_the_only_new_stack(self):
        before = self.record(self.build("before"), "50")
        after = self.record(self.build("after", {**MOVED, **NEW_LEAK}), "50")
        comparison = self.compare(before, after, "--sort", "leaked")
        self.assertEqual(comparison["stack_count"]["new"], 1)
        self.assertEqual(comparison["stack_count"]["gone"], 0)
        leak = comparison["stacks"][0]
        self.assertEqual((leak["state"], leak["names"][0], leak["change"]["leaked_bytes"]), ("new", "leak_more()", 3000))
        text = self.text("diff", before, after, "--sort", "leaked")
        self.assertRegex(text, r"\n +\+2\.9 KiB +new +2\.9 KiB +#\d+  leak_more program\.cc:\d+ < main program\.cc:\d+\n")
        self.assertLessEqual(max(len(line) for line in text.splitlines()[2:]), 80)
        whole = self.text("diff", before, after, "--sort", "leaked", "--full-stacks")
        self.assertRegex(whole, r"\+2\.9 KiB leaked  new  malloc  #\d+\n")
        self.assertRegex(whole, r"\n +leak_more\(\)  program\.cc:\d+\n +main  program\.cc:\d+\n(.*\n)* +_start  ")
        self.assertEqual(self.of(self.compare(after, before), "leak_more")["state"], "gone")

    def test_an_optimised_build_has_the_same_stacks(self):
        before = self.record(self.build("before"), "50")
        inlining = {"INLINE": "inline __attribute__((always_inline))"}
        after = self.record(self.build("after", inlining, ("-O2", "-g")), "50")
        comparison = self.compare(before, after)
        record = self.of(comparison, "make_record", "fill")
        self.assertEqual(record["change"]["live_bytes"], 0)
        self.assertNotEqual(record["state"], "new")
        for function in ("forget", "fill"):
            for stack in comparison["stacks"]:
                if stack["names"][0] and stack["names"][0].startswith(function) and stack["function"] in ("malloc", "calloc"):
                    self.assertEqual(stack["state"], "same", stack["names"])

    def test_stripped_builds_of_one_program_are_compared_by_offsets(self):
        program = self.build("app", options=("-O2",))
        before = self.record(program, "50", name="named")
        stripped = self.directory / "stripped"
        stripped.mkdir()
        subprocess.run(["strip", "-o", stripped / "program", program], check=True)
        after = self.record(stripped / "program", "60")
        comparison = self.compare(before, after)
        self.assertEqual({state: count for state, count in self.states(comparison).items() if state in ("new", "gone")}, {})

    def test_other_builds_without_names_are_said_to_match_nothing(self):
        before = self.record(self.build("before", options=("-O2", "-s")), "50")
        after = self.record(self.build("after", {**MOVED, **NEW_LEAK}, ("-O1", "-s")), "50")
        comparison = self.compare(before, after)
        self.assertEqual(comparison["unmatched_modules"], ["program"])
        self.assertIn("! program differs between the recordings", self.text("diff", before, after))

    def test_without_a_leak_scan_leaks_are_unknown(self):
        program = self.build("app")
        before = self.record(program, "50", name="one", options=("--no-leak-scan",))
        after = self.record(program, "50", name="two")
        comparison = self.diff(before, after)
        self.assertEqual((comparison["totals"]["before"]["leaked_bytes"], comparison["totals"]["change"]["leaked_bytes"]), (None, None))
        self.assertEqual(comparison["totals"]["after"]["leaked_bytes"], 480)
        self.assertTrue(all(stack["change"]["leaked_bytes"] is None for stack in comparison["stacks"]))
        text = self.text("diff", before, after)
        self.assertIn("! before: no leak scan", text)
        self.assertRegex(text, r"leaked +unknown +480 B +unknown")

    def test_a_trace_that_was_cut_off_is_said(self):
        program = self.build("app")
        before = self.record(program, "50", name="one")
        after = self.record(program, "5000", name="two")
        data = after.read_bytes()
        after.write_bytes(data[:len(data) * 3 // 4])
        self.assertIn("! after: the trace is cut off", self.text("diff", before, after))
        self.assertTrue(self.diff(before, after)["recordings"][1]["capture"]["truncated"])

    def test_filters_and_the_floor_narrow_what_is_compared(self):
        program = self.build("app")
        before = self.record(program, "50", name="one")
        after = self.record(program, "70", name="two")
        comparison = self.diff(before, after, "--function", "make_record")
        self.assertEqual({stack["names"][0] for stack in comparison["stacks"]}, {"make_record(unsigned long)"})
        self.assertEqual(comparison["totals"]["change"]["live_bytes"], 2000)
        listed = json.loads(self.text("diff", "--json", before, after, "--min-bytes", "1999"))
        self.assertEqual(min(abs(stack["change"]["live_bytes"]) for stack in listed["stacks"]), 2000)
        self.assertGreater(listed["stack_count"]["below_floor"], 0)
        self.assertNotIn("\x1b", self.text("diff", before, after))
        self.assertIn("\x1b[31m", self.text("diff", before, after, "--color", "always"))

    def test_a_series_marks_what_grows_in_each(self):
        program = self.build("app")
        traces = [self.record(program, str(count), name=f"night{count}") for count in (50, 60, 55, 80)]
        comparison = self.diff(*traces)
        record = self.of(comparison, "make_record")
        self.assertEqual([value["live_bytes"] for value in record["values"]], [5000, 6000, 5500, 8000])
        self.assertFalse(record["growing"])
        growing = self.diff(traces[0], traces[1], traces[3])
        self.assertTrue(self.of(growing, "make_record")["growing"])
        text = self.text("diff", traces[0], traces[1], traces[3])
        self.assertRegex(text, r"\+2\.9 KiB +4\.9 KiB +5\.9 KiB +7\.8 KiB\n +#\d+  make_record program\.cc:\d+ < fill .*  \(grows in each\)\n")

    def test_two_moments_of_one_trace(self):
        program = self.directory / "moments.cc"
        program.write_text("""
            #include <stdlib.h>
            void* kept[100];
            void one() { for (int i = 0; i < 40; ++i) kept[i] = malloc(100); }
            void two() { for (int i = 40; i < 100; ++i) kept[i] = malloc(10); for (int i = 0; i < 30; ++i) free(kept[i]); }
            void between() { for (int i = 0; i < 100000; ++i) free(malloc(5000)); }
            int main() { one(); between(); two(); }""")
        built = program.with_suffix("")
        self.assertEqual(heaptap_test.run(["g++", "-w", "-g", "-O0", program, "-o", built]).status, 0)
        trace = self.record(built, name="moments")
        blocks = heaptap_test.read_report(self.text("show", "blocks", "--json", trace))["blocks"]
        first = min(block["allocated_at_ns"] for block in blocks if block["size"] == 10)
        moment = f"{first - 1}ns"
        comparison = self.diff(trace, "--from", moment, "--to", "end")
        one, two = (self.of(comparison, name) for name in ("one()", "two()"))
        self.assertEqual((one["change"]["live_bytes"], one["change"]["freed_bytes"], one["change"]["allocated_bytes"]), (-3000, 3000, 0))
        self.assertEqual((two["state"], two["change"]["live_bytes"], two["change"]["allocations"]), ("new", 600, 60))
        self.assertEqual(comparison["totals"]["change"]["leaked_bytes"], None)
        self.assertEqual(comparison["totals"]["change"]["live_bytes"], sum(stack["change"]["live_bytes"] for stack in comparison["stacks"] if not stack["mapping"]))
        whole = self.diff(trace, "--from", "start")
        self.assertEqual(whole["totals"]["after"]["live_bytes"], heaptap_test.summary(trace)["totals"]["live_bytes"])
        self.assertRegex(self.text("diff", trace, "--from", moment), r"\n +-2\.9 KiB +3\.9 KiB +1000 B +#\d+  one moments\.cc:4 < main moments\.cc:7\n")
        self.assertIn("is later than", self.text("diff", trace, "--from", "end", "--to", "0", status=2))
        self.assertIn("is not a time of the recording", self.text("diff", trace, "--from", "noon", status=2))

    def test_the_end_of_a_trace_that_was_cut_off_is_its_last_event(self):
        trace = self.record(self.build("app"), "5000")
        duration_ns = heaptap_test.summary(trace)["capture"]["duration_ns"]
        trace.write_bytes(trace.read_bytes()[:-200])
        cut = heaptap_test.summary(trace)
        self.assertTrue(cut["capture"]["truncated"])
        comparison = self.diff(trace, "--from", "0", "--to", "end")
        end_ns = comparison["recordings"][1]["at_ns"]
        self.assertTrue(0 < end_ns <= duration_ns, comparison["recordings"])
        self.assertEqual(comparison["totals"]["after"]["live_bytes"], cut["totals"]["live_bytes"])
        self.assertNotRegex(self.text("diff", trace, "--from", "0"), r"\d+ min|\d{3,}\.\d+ s")
        self.assertIn("is later than", self.text("diff", trace, "--from", "100h", "--to", "end", status=2))
        self.assertIn("the trace ends before, after", self.text("diff", trace, "--from", "0", "--to", "100h"))

    def test_a_real_program_with_two_scripts(self):
        script = "create table t(a, b); with recursive n(i) as (select 1 union all select i+1 from n where i < {}) insert into t select i, 'x' || i from n;"
        traces = []
        for count in (100, 20000):
            database = self.directory / f"{count}.sql"
            database.write_text(script.format(count))
            traces.append(self.record("sqlite3", ":memory:", ".read " + str(database), name=f"sqlite{count}"))
        comparison = self.compare(*traces)
        both = sum(1 for stack in comparison["stacks"] if stack["before"]["ids"] and stack["after"]["ids"])
        self.assertGreater(both, len(comparison["stacks"]) // 2)
        self.assertGreater(comparison["totals"]["change"]["peak_bytes"], 0)

    def check(self, before, after, *options, status):
        outcome = heaptap("check", after, "--baseline", before, *options, cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        return outcome.stdout.decode()

    def test_the_gate_fails_where_a_figure_grew_by_too_much_and_says_where(self):
        before = self.record(self.build("before"), "50")
        after = self.record(self.build("after", {**MOVED, **NEW_LEAK}), "50")
        text = self.check(before, after, "--max-growth", "leaked=0", status=1)
        self.assertRegex(text, r"^FAIL: leaked: \+2\.9 KiB \(3,000 bytes\) \(480 B -> 3\.4 KiB\), limit \+0 B\n"
                               r"  new  0 B -> 2\.9 KiB by malloc from leak_more\(\) at program\.cc:\d+\n")
        self.assertIn("ok: leaked", self.check(before, after, "--max-growth", "leaked=3000", status=0))
        self.check(before, after, "--max-growth", "leaked=2999", status=1)
        self.assertIn("limit +625% of it: +2.9 KiB (3,000 bytes)", self.check(before, after, "--max-growth", "leaked=625%", status=0))
        self.check(before, after, "--max-growth", "leaked=624.9%", status=1)
        self.check(before, after, "--max-growth", "allocations=1", status=0)
        self.check(before, after, "--max-growth", "allocations=0", status=1)
        self.check(after, before, "--max-growth", "0", status=0)
        self.check(before, before, "--max-growth", "0", "--max-growth", "stack-peak=0,stack-allocations=0", status=0)

    def test_the_gate_holds_each_stack_to_its_limit(self):
        program = self.build("app")
        before = self.record(program, "50", name="one")
        after = self.record(program, "70", name="two")
        report = json.loads(self.check(before, after, "--json", "--max-growth", "stack-live=1999", status=1))
        self.assertEqual((report["passed"], report["baseline"]), (False, str(before)))
        growth = report["growth"][0]
        self.assertEqual((growth["limit"], growth["each_stack"], growth["broken"]), ("live", True, True))
        self.assertGreater(growth["growth"], 1999)
        self.assertTrue(all(stack["after"] - stack["before"] > 1999 for stack in growth["stacks"]))
        self.check(before, after, "--max-growth", f"stack-live={growth['growth']}", status=0)

    def test_the_gate_never_passes_what_is_not_known(self):
        program = self.build("app")
        whole = self.record(program, "50", name="whole")
        unscanned = self.record(program, "50", name="unscanned", options=("--no-leak-scan",))
        totals = self.record(program, "50", name="totals", options=("--aggregate",))
        cut = self.directory / "cut.htap"
        cut.write_bytes(whole.read_bytes()[:-60])
        for before, after, limit in ((unscanned, whole, "leaked=1G"), (whole, unscanned, "leaked=1G"), (whole, unscanned, "1G"),
                                     (whole, totals, "stack-peak=1G"), (totals, whole, "stack-peak=1G"),
                                     (cut, whole, "live=1G"), (whole, cut, "live=1G"), (cut, whole, "peak=1G"), (whole, cut, "allocations=1000")):
            with self.subTest(before=before.name, after=after.name, limit=limit):
                text = self.check(before, after, "--max-growth", limit, status=3)
                self.assertIn("UNKNOWN: ", text)
                self.assertIn("! ", text)
                json_text = self.check(before, after, "--json", "--max-growth", limit, status=3)
                self.assertFalse(json.loads(json_text)["passed"])
                self.check(before, after, "--max-growth", limit, "--allow-incomplete", status=0)
        self.check(unscanned, whole, "--max-growth", "peak=0,live=0", status=0)

    def test_stacks_that_match_nothing_are_not_judged(self):
        before = self.record(self.build("before", options=("-O2", "-s")), "50")
        after = self.record(self.build("after", MOVED, ("-O1", "-s")), "50")
        text = self.check(before, after, "--max-growth", "stack-live=10", status=3)
        self.assertIn("! program differs from the baseline's", text)
        self.check(before, after, "--max-growth", "live=10", status=0)

    def test_several_traces_are_compared_with_one_baseline_or_with_that_of_their_program(self):
        app, other = self.build("app"), self.build("other", NEW_LEAK)
        other = other.rename(other.with_name("other"))
        old = self.record(app, "50", name="old")
        same, more = self.record(app, "50", name="same"), self.record(app, "900", name="more")
        text = self.check(old, same, more, "--max-growth", "live=1K", status=1)
        self.assertRegex(text, r"same\.htap:\nok: live: [\s\S]*more\.htap:\nFAIL: live: ")
        another = self.record(other, "50", name="another")
        outcome = heaptap("check", same, another, "--baseline", old, "--max-growth", "0", cwd=self.directory)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertRegex(outcome.stderr.decode(), r"another\.htap' is a trace of other, for which '\S*old\.htap' has no baseline: record one there")
        directory = self.directory / "baselines"
        directory.mkdir()
        for number, (program, count) in enumerate([(app, "50"), (app, "900"), (other, "50")]):
            self.record(program, count, name=f"baselines/{number}")
        self.check(directory, same, more, another, "--max-growth", "0", status=0)
        self.check(directory, more, "--max-growth", "0", status=0)
        outcome = heaptap("check", self.record(app, "60", name="sixty"), "--baseline", directory, "--max-growth", "0", cwd=self.directory)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"has 2 baselines: compare it with one of them, such as", outcome.stderr)

    def test_limits_of_growth_that_mean_nothing_are_refused(self):
        program = self.build("app")
        trace = self.record(program, "50")
        for options in (("--max-growth", "5%"), ("--baseline", trace), ("--baseline", trace, "--max-growth", "size=5"),
                        ("--baseline", trace, "--max-growth", "x%"), ("--baseline", trace, "--max-growth", "-5%"),
                        ("--baseline", trace, "--max-growth", "0", "--possible"), (trace.parent, "--baseline", trace, "--max-growth", "0")):
            with self.subTest(options=options):
                self.text("check", trace, *options, status=2) if options[0] != trace.parent else None
        self.assertEqual(heaptap("check", trace, "--baseline", "none.htap", "--max-growth", "0", cwd=self.directory).status, 125)

    def html(self, *arguments):
        """The data of the file that is written, and its text."""
        file = self.directory / "diff.html"
        outcome = heaptap("diff", *arguments, "--html", "-o", file, "--force", cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (0, b""), str(outcome))
        text = file.read_text()
        return heaptap_test.document_of(text), text

    def assert_same_numbers(self, document, comparison):
        """All that `diff --json` says of each stack, of the totals and of how many there are."""
        difference, strings = document["difference"], document["strings"]
        count = len(comparison["recordings"])
        for index, recording in enumerate(difference["recordings"]):
            totals = (comparison["totals"].get("values") or [comparison["totals"]["before"], comparison["totals"]["after"]])[index]
            self.assertEqual(recording["totals"], totals)
            self.assertEqual(recording["at_ns"], comparison["recordings"][index]["at_ns"])
        self.assertEqual(difference["stack_count"], comparison["stack_count"])
        self.assertEqual(difference["unmatched_modules"], comparison["unmatched_modules"])
        self.assertEqual(len(difference["state"]), len(comparison["stacks"]))
        for row, stack in enumerate(comparison["stacks"]):
            sides = stack.get("values") or [stack["before"], stack["after"]]
            for index in range(count):
                own = {"ids": difference["ids"][index][row], **{key: values[row] for key, values in difference["values"][index].items()}}
                self.assertEqual(own, sides[index])
            self.assertEqual((difference["state"][row], difference["moved"][row]), (stack["state"], int(stack["moved"])))
            self.assertEqual(difference["growing"][row], int(stack.get("growing", False)))
            self.assertEqual(difference["frames_before"].get(str(row)), stack.get("frames_before"))
            self.assertEqual(strings[document["stacks"]["function"][row]], stack["function"])
            frames, node = [], document["stacks"]["node"][row]
            while node >= 0:
                frames.append(document["nodes"]["frame"][node])
                node = document["nodes"]["parent"][node]
            self.assertEqual(frames, stack["frames"])

    def test_the_html_file_has_the_numbers_of_the_json(self):
        before = self.record(self.build("one"), "20")
        after = self.record(self.build("two", {**NEW_LEAK, **MOVED}), "50")
        last = self.record(self.build("three", NEW_LEAK), "70")
        for arguments in ([before, after], [before, after, last], [before, after, "--sort", "allocations", "--min-bytes", "1K"],
                          [before, after, "--unchanged"], [before, before], [after, "--from", "start", "--to", "end"]):
            comparison = json.loads(self.text("diff", "--json", *arguments))
            heaptap_test.list_frames(comparison["stacks"], comparison["nodes"])
            document, html = self.html(*arguments)
            self.assert_same_numbers(document, comparison)
            self.assertIn("default-src 'none'", html)
        document, html = self.html(before, after)
        texts = [finding["text"] for finding in document["verdict"]]
        self.assertRegex(texts[0], r"^live: .* before, .* after: \+")
        self.assertTrue(any("leak_more" in text and "new" in text for text in texts), texts)
        self.assertIn("leak_more", html, "for browsers without scripts")

    def test_the_html_file_is_named_after_the_last_trace_and_replaces_nothing(self):
        before, after = self.record(self.build("one"), "20"), self.record(self.build("two"), "30")
        self.text("diff", before, after, "--html")
        self.assertTrue((self.directory / "two.diff.html").exists())
        outcome = heaptap("diff", before, after, "--html", cwd=self.directory)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertIn(b"--force", outcome.stderr)
        self.assertIn("--html", self.text("diff", before, after, "-o", "x.html", status=2))
        self.assertIn("--json", self.text("diff", before, after, "--json", "--html", status=2))

    def test_what_is_no_comparison_is_refused(self):
        self.assertIn("expected two traces", self.text("diff", status=2))
        self.assertIn("expected two traces", self.text("diff", "one.htap", status=2))
        self.assertIn("moments of one trace", self.text("diff", "a", "b", "--from", "1s", status=2))
        self.assertIn("not one of live, blocks", self.text("diff", "a", "b", "--sort", "size", status=2))
        self.assertEqual(heaptap("diff", "none.htap", "none.htap", cwd=self.directory).status, 125)


if __name__ == "__main__":
    unittest.main()
