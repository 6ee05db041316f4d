# CTEST PROCESSORS 2
"""Recorded call stacks are exact: each is compared, frame by frame, with what libgcc's unwinder saw at the same allocation.

A program runs under heaptap with libstack_oracle.so behind the agent. Both number the allocations in the same way, so a
block's number says which stacks belong together; sizes are compared too, so that a shift in the numbers would be seen.
The comparison leaves nothing out: both walks begin with the caller of the hook and end with the program's first frame.

HEAPTAP_LONG=1: each stack of the compiler and of a Python program that runs longer, two millions of each.

Environment: HEAPTAP (the program), TARGETS (directory of the target programs), VERIFY (directory of oracle and dump_stacks). For another
CPU also COMPILER (the words that compile C++ for it), STACK_ORACLE (the oracle), LOADER (its dynamic loader's file), WITHOUT (target
programs that can't run there).
"""
import collections
import itertools
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

HEAPTAP = os.environ["HEAPTAP"]
TARGETS = pathlib.Path(os.environ["TARGETS"])
VERIFY = pathlib.Path(os.environ["VERIFY"])
ORACLE = os.environ.get("STACK_ORACLE", VERIFY / "libstack_oracle.so")
COMPILER = shlex.split(os.environ.get("COMPILER", "g++"))
WITHOUT = os.environ.get("WITHOUT", "").split()
LOADER = pathlib.Path(os.environ.get("LOADER", "/lib64/ld-linux-x86-64.so.2"))
HEAD_BYTES = 64
SHOWN_DIFFERENCES = 3
IS_LONG = os.environ.get("HEAPTAP_LONG", "0") not in ("", "0")


def loader_start():
    """What return addresses into the first instructions of the dynamic loader look like (name+offset)."""
    entry = int.from_bytes(LOADER.read_bytes()[24:32], "little")  # e_entry
    return {f"{LOADER.name}+{address:x}" for address in range(entry + 1, entry + 64)}


LOADER_START = loader_start()

CPP = """
#include <iostream>
#include <map>
#include <regex>
struct Counter {
  std::map<std::string, std::map<int, std::string>> words;
  void add(const std::string& line) {
    static const std::regex word("(\\\\w+)[- ]?(\\\\d*)");
    for (std::sregex_iterator i(line.begin(), line.end(), word), end; i != end; ++i) {
      words[(*i)[1].str()][int(words.size())] += (*i)[2].str();
    }
  }
};
int main() {
  Counter counter;
  for (std::string line; std::getline(std::cin, line);) counter.add(line);
  for (const auto& [word, places] : counter.words) {
    std::cout << std::regex_replace(word, std::regex("a+"), "b") << ' ' << places.size() << std::endl;
  }
}
"""

PYTHON = r"""
import json, re
def tree(depth, width=3):
    return {f"n{i}": tree(depth - 1) if depth else [i, str(i) * 5, i / 7, None] for i in range(width)}
def count(node):
    return sum(count(child) for child in node.values()) if isinstance(node, dict) else len(node)
for depth in range(1, 6):
    value = tree(depth)
    text = json.dumps(value, indent=depth % 3 or None, sort_keys=True)
    assert json.loads(text) == value and count(json.loads(text)) == count(value)
    text = re.sub(r"n(\d)", lambda match: match.group(1) * 2, text)
    sorted(re.findall(r"(\d+)[.,]?(\d*)", text), key=lambda pair: pair[::-1])
def nested(depth):
    return [nested(depth - 1)] if depth else []
print(len(json.dumps(nested(60))), len(repr(nested(150))))
"""

SQL = """
create table t(a integer primary key, b text, c real);
create index t_b on t(b, c);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000)
  insert into t select i, 'row ' || (i * 7919 % 4001), i / 3.0 from n;
select b, count(*), group_concat(a) from t group by substr(b, 1, 6) order by 2 desc, 1 limit 3;
select count(*) from t x join t y on x.b = y.b and x.a < y.a + 10 where x.b like '%7%';
update t set b = upper(b) where a % 3 = 0;
create view v as select a, json_object('b', b, 'c', json_array(c, a)) j from t;
select sum(length(j)), max(json_extract(j, '$.c[1]')) from v;
delete from t where a in (select a from t order by c desc limit 500);
pragma integrity_check;
"""

PERL = r"""
use strict; use Data::Dumper;
sub build { my $d = shift; return $d ? { map { ("k$_" => build($d - 1)) } 1 .. 3 } : [1, "two", 3.5] }
sub walk { my $n = shift; return ref $n eq 'HASH' ? eval join '+', map { walk($_) } values %$n : scalar @$n }
$Data::Dumper::Sortkeys = 1;
for my $depth (1 .. 5) {
  my $text = Dumper(build($depth));
  my $again = eval "no strict; my $text";
  my %seen; $seen{$1}++ while $text =~ /(k\d|two)/g;
  my @sorted = sort { $seen{$a} <=> $seen{$b} || $a cmp $b } keys %seen;
  (my $copy = $text) =~ s/(\w+)/sprintf "%s", lc $1/ge;
  print walk(build($depth)), " @sorted ", length $copy, "\n";
}
"""


def run(command, directory, environment=None, stdin=""):
    result = subprocess.run([str(word) for word in command], cwd=directory, env=environment, input=stdin.encode(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=1800 if IS_LONG else 120, check=False)
    return result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace")


class Comparison:
    """What both witnesses say about one run."""

    def __init__(self, oracle_file, trace, with_modules):
        self.compared = self.without_table = 0
        self.differences = []
        self.ends, self.depths = collections.Counter(), collections.Counter()
        self.stacks, self.callers = set(), set()
        numbers = oracle_file.with_suffix(".numbers")
        with open(numbers, "w", encoding="ascii") as file:
            file.writelines(line.split(" ", 1)[0] + "\n" for line in self.samples(oracle_file))
        command = [VERIFY / "dump_stacks", *(["--modules"] if with_modules else []), trace]
        with open(numbers, "rb") as stdin, subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE) as dump:
            head = dump.stdout.readline().split()
            self.recorded_allocations, self.lost, self.truncated = (int(number, 16) for number in head)
            for expected, recorded in itertools.zip_longest(self.samples(oracle_file), dump.stdout):
                assert expected is not None and recorded is not None, "not as many stacks recorded as expected"
                self.compare(expected.split(), recorded.decode().split())
        assert dump.returncode == 0, dump.returncode

    def samples(self, oracle_file):
        with open(oracle_file, "rb") as file:
            head = file.read(HEAD_BYTES).split()
            self.allocations, left = int(head[0], 16), int(head[1], 16)
            while left > 0:
                line = file.readline()
                left -= len(line)
                yield line.decode()

    def compare(self, expected, recorded):
        self.compared += 1
        self.ends[recorded[3]] += 1
        self.depths[len(expected) - 3] += 1
        self.without_table += expected[2] != "complete"
        self.stacks.add(hash(tuple(expected[3:])))
        self.callers.add(expected[3] if len(expected) > 3 else None)
        if not self.is_same(expected, recorded):
            self.differences.append((expected, recorded))

    @staticmethod
    def is_same(expected, recorded):
        number, size, end, *frames = expected
        recorded_number, recorded_size, function, recorded_end, *recorded_frames = recorded
        # The C++ library asks malloc for a byte where none is wanted, and for whole alignments.
        rounded = function.startswith("_Zn") and (recorded_size == "0" or "align_val_t" in function)
        if number != recorded_number or (size != recorded_size and not rounded):
            return False
        # The loader's first instructions have no table; heaptap knows their address, libgcc finds nothing there.
        if frames and end == "no-table" and frames[-1] in LOADER_START:
            end = "complete"
        return (end, frames) == (recorded_end, recorded_frames)

    def only_lengths_differ(self, recorded_ends):
        """Whether each pair that differs has all frames in common that both have, and the recorded one says why it ends."""
        for expected, recorded in self.differences:
            pairs = list(zip(expected[3:], recorded[4:]))
            if recorded[3] not in recorded_ends or any(left != right for left, right in pairs):
                return False
        return True

    @property
    def distinct(self):
        return len(self.stacks)

    def describe(self, name):
        middle = sorted(self.depths.elements())[self.compared // 2]
        ends = ", ".join(f"{count} {end}" for end, count in self.ends.most_common())
        return (f"{name}: {self.compared} stacks of {self.allocations} allocations compared, {self.distinct} distinct, "
                f"{len(self.callers)} callers, {middle} frames deep (at most {max(self.depths)}); {len(self.differences)} "
                f"differ; recorded ends: {ends}; {self.without_table} where the oracle finds no first frame")

    def first_differences(self):
        text = ""
        for expected, recorded in self.differences[:SHOWN_DIFFERENCES]:
            text += (f"\nallocation {int(expected[0], 16)}, size {int(expected[1], 16)} (recorded: allocation "
                     f"{int(recorded[0], 16)}, size {int(recorded[1], 16)}, {recorded[2]})\n"
                     f"  {'end:':6}{expected[2]:34}{recorded[3]}\n")
            frames, recorded_frames = expected[3:], recorded[4:]
            for i in range(max(len(frames), len(recorded_frames))):
                pair = [list_[i] if i < len(list_) else "-" for list_ in (frames, recorded_frames)]
                text += f"  {'' if pair[0] == pair[1] else '>>':6}{pair[0]:34}{pair[1]}\n"
        return text


class StacksVerify(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="heaptap-verify-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def record(self, name, command, every=1, modules=False, stdin="", **variables):
        trace, oracle_file = self.directory / "trace.htap", self.directory / "oracle"
        for leftover in (trace, oracle_file):
            leftover.unlink(missing_ok=True)
        variables.update(LD_PRELOAD=ORACLE, STACK_ORACLE_OUT=oracle_file, STACK_ORACLE_EVERY=every)
        if modules:
            variables["STACK_ORACLE_MODULES"] = 1
        settings = [word for variable, value in variables.items() for word in ("-E", f"{variable}={value}")]
        status, out, errors = run([HEAPTAP, "run", "-q", "--no-leak-scan", "-o", trace, *settings, "--", *command],
                                  self.directory, stdin=stdin)
        self.assertEqual(status, 0, out[-1000:] + errors)
        comparison = Comparison(oracle_file, trace, modules)
        print(comparison.describe(name), flush=True)
        self.assertEqual(comparison.lost, 0)
        self.assertEqual(comparison.truncated, 0)
        self.assertEqual(comparison.recorded_allocations, comparison.allocations, "the two don't count the same")
        return comparison

    def assert_exact(self, name, command, fewest=1, ends=frozenset({"complete"}), **options):
        """Every sampled stack is the same, whole, and there are at least so many distinct ones."""
        comparison = self.record(name, command, **options)
        self.assertFalse(comparison.differences, comparison.first_differences())
        self.assertEqual(set(comparison.ends), ends)
        self.assertGreaterEqual(comparison.distinct, fewest)

    def compiler(self):
        answers = [subprocess.run(["g++", option], capture_output=True, text=True, check=True).stdout.strip()
                   for option in ("-print-prog-name=cc1plus", "-print-multiarch")]
        return [answers[0], "-quiet", "-imultiarch", answers[1]]

    def test_a_compiler(self):
        source = self.directory / "source.cc"
        source.write_text(CPP)
        command = [*self.compiler(), "-D_GNU_SOURCE", "-std=c++17", "-O1", source, "-o", "source.s"]
        self.assert_exact("cc1plus", command, every=1 if IS_LONG else 20, fewest=1000)

    def test_a_program_of_the_standard_library(self):
        source, program = self.directory / "source.cc", self.directory / "program"
        source.write_text(CPP)
        for level in ("-O0", "-O2"):
            with self.subTest(level):
                subprocess.run([*COMPILER, "-std=c++17", level, source, "-o", program], check=True)
                self.assert_exact(f"standard library {level}", [program], modules=True, stdin=CPP, fewest=40)

    def test_an_interpreter(self):
        program = f"for _ in range(16):\n exec({PYTHON!r})" if IS_LONG else PYTHON
        self.assert_exact("python3", ["/usr/bin/python3", "-s", "-S", "-c", program], every=1 if IS_LONG else 20, fewest=500,
                          PYTHONMALLOC="malloc", PYTHONHASHSEED="0")

    def test_a_database(self):
        self.assert_exact("sqlite3", [self.program("sqlite3"), ":memory:"], every=2, stdin=SQL, fewest=200)

    def test_another_interpreter(self):
        self.assert_exact("perl", [self.program("perl"), "-e", PERL], every=10, fewest=300, PERL_HASH_SEED="0")

    def test_target_programs(self):
        for name, *arguments in (["changed_caller"], ["constructors"], ["coroutines"], ["deep_leaf"], ["dlopen_loop"],
                                 ["exceptions"], ["inlined_frames"], ["large_frames"], ["longjmp_frames"], ["malloc_family"],
                                 ["no_frame_pointers"], ["operator_new"], ["qsort_callback"], ["realigned_frames"], ["realloc_rules"],
                                 ["recursion", "1000", "1"], ["siglongjmp_altstack"], ["signal_raise"], ["stack_maze", "20000"],
                                 ["tail_calls"]):
            with self.subTest(name):
                if name in WITHOUT:
                    self.skipTest("not there")
                self.assert_exact(name, [self.target(name), *arguments], modules=True)

    def test_contexts_on_stacks_of_their_own(self):
        """A context's first frame returns to the first byte of __start_context; the byte before it has no table."""
        self.assert_exact("ucontext_stacks", [self.target("ucontext_stacks")], modules=True, ends={"complete", "no-table"})

    def test_code_that_one_of_the_two_cannot_follow(self):
        """Frames described by a register that heaptap doesn't follow; code without tables, which libgcc can't follow."""
        for name, recorded_ends in (("assembly_frame", ["unsupported-rule"]),
                                    ("assembly_without_cfi", ["no-table", "complete"]),
                                    ("frame_pointers_come_and_go", ["no-table", "complete"]),
                                    ("frame_pointers_only", ["no-table", "complete"])):
            with self.subTest(name):
                comparison = self.record(name, [self.target(name)], modules=True)
                self.assertTrue(comparison.only_lengths_differ(recorded_ends), comparison.first_differences())

    def target(self, name):
        self.assertTrue((TARGETS / name).exists(), f"{name} was not built")
        return TARGETS / name

    def program(self, name):
        path = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
        if path is None:
            self.skipTest(f"{name} is not installed")
        return path


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
