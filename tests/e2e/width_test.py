"""Nothing that people read is wider than their terminal: every view of traces with long names, long paths and many processes."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import terminal
from heaptap_test import built, heaptap

WIDTHS = (80, 200)
VIEWS = [("summary",), ("leaks",), ("top",), ("tree",), ("tree", "--bottom-up"), ("stats",), ("sizes",), ("lifetimes",), ("timeline",),
         ("blocks",), ("leaks", "--why", "#1"), ("leaks", "--retained"), ("leaks", "--retained=stack"), ("leaks", "--retained=type"),
         ("leaks", "--globals"), ("leaks", "--scans"), ("top", "--sort", "peak"), ("summary", "--function", "the_first_of_many")]
FULL = [("summary", "--full-names", "--full-paths"), ("leaks", "--full-names", "--full-paths", "--full-stacks"), ("top", "--full-names")]
COMMANDS = ("run", "attach", "show", "leaks", "check", "diff", "export", "report", "doctor", "completions", "console", "top", "mark",
            "connect", "discover", "pair", "symbols")

LONG_NAMES = """
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace a_library_with_a_long_name::its_implementation_details {
template <typename Key, typename Value, typename Policy> struct storage_of_many_things {
  std::map<Key, std::vector<Value>> things;
  __attribute__((noinline)) void the_first_of_many_functions_that_allocate(const Key& key, int count) {
    for (int i = 0; i < count; ++i) things[key].push_back(Value(200 + i, 'x'));
    new std::vector<std::map<Key, Value>>(1000 + count);
  }
};
struct the_policy_that_nobody_needs_to_know {};
}
using namespace a_library_with_a_long_name::its_implementation_details;
using Storage = storage_of_many_things<std::string, std::string, the_policy_that_nobody_needs_to_know>;
std::shared_ptr<Storage> a_global_variable_with_a_rather_long_name_that_holds_a_lot_of_memory_through_several_pointers;
int main() {
  a_global_variable_with_a_rather_long_name_that_holds_a_lot_of_memory_through_several_pointers = std::make_shared<Storage>();
  for (int i = 0; i < 30; ++i)
    a_global_variable_with_a_rather_long_name_that_holds_a_lot_of_memory_through_several_pointers->the_first_of_many_functions_that_allocate(
        "a key that does not fit into the string itself " + std::to_string(i), 10 + i);
  char* wrong = new char[33];
  free(wrong);
  return 0;
}
"""


class Width(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.deep = self.directory / "a directory with a name that is long and has spaces in it" / "目录" / ("deep" * 10)
        self.deep.mkdir(parents=True)

    def record(self, *command, options=(), name="t.htap"):
        trace = self.deep / name
        outcome = heaptap("run", "-q", "--force", "-o", trace, *options, "--", *command, cwd=self.deep)
        self.assertNotIn(outcome.status, (2, 125, 126, 127), str(outcome))
        return trace

    def build_long_names(self):
        program = self.deep / "程序_with_a_long_name"
        source = self.deep / "source_file_with_a_long_name.cc"
        source.write_text(LONG_NAMES)
        outcome = heaptap_test.run(["g++", "-w", "-g", "-O0", "-o", program, source])
        self.assertEqual(outcome.status, 0, str(outcome))
        return program

    def check(self, *arguments, statuses=(0,), stderr=False):
        for columns in WIDTHS:
            text, errors, status = terminal.on_terminal(*arguments, columns=columns, stderr=stderr, cwd=self.deep)
            self.assertIn(status, statuses, text + errors)
            self.assertNotEqual(text, "", arguments)
            self.assertEqual(terminal.too_wide(text, columns), [], f"{arguments}, {columns} columns")

    def check_views(self, trace, views=VIEWS):
        for view in views:
            # A view that this trace hasn't says so.
            _, errors, status = terminal.on_terminal("show", *view, trace, columns=80, HEAPTAP_PAGER="")
            if status != 0:
                self.assertRegex(errors, "^heaptap: ", view)
                self.assertIn(status, (2, 125), view)
                continue
            self.check("show", *view, "--no-pager", trace)

    def test_long_names_and_paths(self):
        program = self.build_long_names()
        words = ["an argument with words", "--option=" + "x" * 20, *["another argument"] * 8]
        trace = self.record(program, *words, options=["--sanity"])
        self.check_views(trace, VIEWS + FULL)

    def test_ends_of_runs(self):
        program = self.build_long_names()
        for command in ([program, "an argument", *["more"] * 40], [built("leak_shop")], [built("leak_clean_aligned")]):
            self.check("run", "--force", "--sanity", "-o", self.deep / "end.htap", "--", *command, stderr=True)

    def test_many_processes(self):
        self.record("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do " + f"'{built('leak_shop')}'; done; true", options=["-f"], name="%p.htap")
        index, = self.deep.glob("*.run")
        self.check_views(index, [*VIEWS[:4], ("summary", "--by", "process"), ("summary", "--by", "program"), ("leaks",)])
        self.check("check", index, "--max-leaked", "0", statuses=(1,))
        self.check("run", "--force", "-f", "-o", "again.%p.htap", "--", "sh", "-c", f"'{built('leak_shop')}'; '{built('leak_shop')}'; true", stderr=True)

    def test_incomplete_traces(self):
        trace = self.record(built("leak_shop"))
        cut = self.deep / "cut.htap"
        cut.write_bytes(trace.read_bytes()[:-200])
        self.check_views(cut)
        self.check_views(self.record(built("leak_shop"), options=["--aggregate"], name="totals.htap"))
        self.check_views(self.record(built("leak_shop"), options=["--no-leak-scan"], name="unscanned.htap"))

    def test_comparisons_and_gates(self):
        program = self.build_long_names()
        first = self.record(program, name="first with a name of its own.htap")
        second = self.record(built("leak_shop"), options=["--sanity"], name="second with a name of its own.htap")
        for arguments in ((first, second), (second, first, second), ("--unchanged", first, first), (first, "--from", "0", "--to", "end")):
            self.check("diff", *arguments)
        self.check("check", first, second, "--max-leaked", "0", "--max-peak", "1K", "--max-allocations", "3", statuses=(1,))
        self.check("check", second, "--baseline", first, "--max-growth", "0,stack-live=0", statuses=(1, 3))
        self.check("check", first, "--baseline", second, "--max-growth", "0,stack-live=0", statuses=(1, 3))

    def test_doctor_and_help(self):
        self.check("doctor", statuses=(0, 1))
        self.check("doctor", built("leak_shop"), statuses=(0, 1))
        self.check("--help")
        for command in COMMANDS:
            self.check("help", command)

    def test_help_is_folded_where_there_is_no_terminal(self):
        plain = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        for environment, columns in ((plain, 80), ({**plain, "COLUMNS": "60"}, 60)):
            for words in (["help"], *(["help", command] for command in COMMANDS)):
                text = heaptap(*words, env=environment).stdout.decode()
                self.assertEqual(terminal.too_wide(text, columns), [], words)
        folded = [line for line in heaptap("help", "run", env=plain).stdout.decode().splitlines() if line.startswith(" " * 28)]
        self.assertGreater(len(folded), 10)
        text = heaptap_test.run([pathlib.Path(heaptap_test.HEAPTAP).parent / "heaptap-target", "--help"]).stdout.decode()
        self.assertEqual(terminal.too_wide(text, 80), [])

    def test_completions_are_not_folded(self):
        text, _, status = terminal.on_terminal("completions", "fish", columns=80)
        self.assertEqual((text, status), (heaptap("completions", "fish").stdout.decode(), 0))

    def test_columns_fold_elsewhere_too_and_without_them_nothing_is_folded(self):
        trace = self.record(self.build_long_names())
        for view in ("summary", "leaks"):
            plain = heaptap("show", view, trace, env={name: value for name, value in os.environ.items() if name != "COLUMNS"})
            narrow = heaptap("show", view, trace, env={**os.environ, "COLUMNS": "60"})
            self.assertEqual((plain.status, narrow.status), (0, 0))
            self.assertEqual(terminal.too_wide(narrow.stdout.decode(), 60), [])
            title = plain.stdout.decode().splitlines()[0]
            self.assertEqual(terminal.too_wide(title, 80), [title])
            self.assertTrue("".join(narrow.stdout.decode().split()).startswith("".join(title.split())))


if __name__ == "__main__":
    unittest.main()
