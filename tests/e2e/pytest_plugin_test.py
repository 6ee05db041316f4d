"""The pytest plugin share/heaptap/pytest_heaptap.py: tests fail where the programs that they run leak, and where that isn't known."""
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import ROOT, build
from heaptap_test import HEAPTAP, run

PYTEST = "/usr/bin/pytest-3"
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* kept;
static void known(void) { memset(malloc(20), 1, 20); }
static void fresh(void) { memset(malloc(30), 1, 30); }
int main(int count, char** words) {
  kept = malloc(10);
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "known") == 0) known();
    if (strcmp(words[i], "fresh") == 0) fresh();
    if (strcmp(words[i], "fail") == 0) return 99;
    if (strcmp(words[i], "abort") == 0) abort();
  }
  puts("out");
  fputs("err", stderr);
  return getchar() == 'x' ? 4 : 0;
}
"""
TESTS = """\
import pathlib
import pytest

PROGRAM = pathlib.Path(__file__).parent / "program"

def test_clean(heaptap_run):
    done = heaptap_run([PROGRAM, "a", "b"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\\n", "err")
    assert done.args == [PROGRAM, "a", "b"]

def test_own_status(heaptap_run, tmp_path):
    assert heaptap_run([PROGRAM], input="x").returncode == 4
    assert heaptap_run([PROGRAM, "fail"]).returncode == 99
    assert heaptap_run(["sh", "-c", "exit 3"]).returncode == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["heaptap-1", "heaptap-2", "heaptap-3"]
    assert (tmp_path / "heaptap-3/trace.htap").is_file()

def test_signal(heaptap_run):
    assert heaptap_run([PROGRAM, "abort"]).returncode == -6

def test_leaks(heaptap_run):
    heaptap_run([PROGRAM, "fresh"])
    raise AssertionError("not reached")

def test_leaks_and_fails(heaptap_run):
    heaptap_run([PROGRAM, "fresh", "fail"])

@pytest.mark.heaptap(suppressions=[pathlib.Path(__file__).parent / "known.supp"])
def test_known(heaptap_run):
    heaptap_run([PROGRAM, "known"])

@pytest.mark.heaptap(suppressions=[pathlib.Path(__file__).parent / "known.supp"])
def test_known_and_another(heaptap_run):
    heaptap_run([PROGRAM, "known", "fresh"])

def test_unknown(heaptap_run):
    heaptap_run([PROGRAM], options=["--aggregate"])

def test_unknown_and_fails(heaptap_run):
    heaptap_run([PROGRAM, "fail"], options=["--aggregate"])

def test_unseen_children(heaptap_run):
    heaptap_run(["sh", "-c", f"{PROGRAM} fresh; exit 2"])

@pytest.mark.heaptap(options=["-f"])
def test_children(heaptap_run):
    assert heaptap_run(["sh", "-c", f"{PROGRAM}; exit 2"]).returncode == 2

@pytest.mark.heaptap(options=["-f"])
def test_children_leak(heaptap_run):
    heaptap_run(["sh", "-c", f"{PROGRAM} fresh; exit 2"])

@pytest.mark.heaptap(ptrace=True)
def test_ptrace(heaptap_run):
    heaptap_run([PROGRAM])

@pytest.mark.heaptap(ptrace=True)
def test_ptrace_leaks(heaptap_run):
    heaptap_run([PROGRAM, "fresh"])

def test_releases_are_not_asked_for(heaptap_run):
    heaptap_run([MISMATCHED])

def test_sanity(heaptap_run):
    heaptap_run([MISMATCHED], sanity=True)

@pytest.mark.heaptap(sanity=True)
def test_sanity_of_the_clean(heaptap_run):
    heaptap_run([PROGRAM])

def test_no_such_program(heaptap_run):
    heaptap_run(["/nowhere/program"])

def test_without_a_scan(heaptap_run):
    heaptap_run([PROGRAM], options=["--no-leak-scan"])

MISMATCHED = PROGRAM.parent / "mismatched"
"""
# Memory that Python has freed, or never wrote, may have a word that happens to point to where a block is: those that are lost here have none.
LOSES = """\
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { TRIES = 64 };
static uintptr_t tried[TRIES];  /* with all bits inverted */
static char maps[1 << 18];
static uintptr_t window[1 << 13];
static int has_pointer_there(int memory, uintptr_t begin, uintptr_t end, uintptr_t inverted, size_t size) {
  for (; begin < end; begin += sizeof window) {
    const size_t bytes = end - begin < sizeof window ? end - begin : sizeof window;
    const ssize_t got = pread(memory, window, bytes, (off_t)begin);  /* what is mapped may be unreadable all the same */
    for (ssize_t i = 0; i < got / (ssize_t)sizeof *window; ++i)
      if (window[i] - ~inverted < size) return 1;
  }
  return 0;
}
static int has_pointer(uintptr_t inverted, size_t size) {
  int file = open("/proc/self/maps", O_RDONLY), memory = open("/proc/self/mem", O_RDONLY), found = 0;
  size_t used = 0;
  for (ssize_t got; (got = read(file, maps + used, sizeof maps - 1 - used)) > 0;) used += got;
  close(file);
  maps[used] = 0;
  for (char* line = maps; *line != 0 && !found; line = strchr(line, '\\n') + 1) {
    uintptr_t begin, end;
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3 || strcmp(rights, "rw-p") != 0) continue;
    if ((uintptr_t)&begin >= begin && (uintptr_t)&begin < end) continue;  /* this stack */
    found = has_pointer_there(memory, begin, end, inverted, size);
  }
  close(memory);
  memset(window, 0, sizeof window);
  return found;
}
static void find_block(size_t size) {
  int last = -1;
  do tried[++last] = ~(uintptr_t)malloc(size);
  while (last + 1 < TRIES && has_pointer(tried[last], size));  /* with --aggregate the recorder always has one */
  memset((void*)~tried[last], 1, size);
  for (int i = 0; i < last; ++i) free((void*)~tried[i]);
}
static void forget(void) { char frames[1 << 17]; memset(frames, 0, sizeof frames); }  /* copies of the pointer */
void lose(int size) { find_block(size); forget(); }
void keep_nothing(int size) { free(malloc(size)); }
"""
NATIVE_TESTS = """\
import ctypes
import pathlib
import pytest

LIBRARY = ctypes.CDLL(str(pathlib.Path(__file__).parent / "libloses.so"))
LIBRARY.lose.restype = None  # a result would be the block's address, which stays in Python's memory

def test_clean():
    LIBRARY.keep_nothing(1000)
    assert len([str(number) for number in range(10000)]) == 10000

def test_leaks():
    LIBRARY.lose(333)

def test_behind_a_leak():
    LIBRARY.keep_nothing(10)

def test_leaks_and_fails():
    LIBRARY.lose(30)
    raise AssertionError("its own")

@pytest.fixture
def careless():
    yield
    LIBRARY.lose(40)

def test_fixture(careless):
    pass

@pytest.fixture
def failing():
    yield
    LIBRARY.lose(60)
    raise AssertionError("its own")

def test_fixture_that_fails(failing):
    pass

def test_behind_a_failure():
    pass

@pytest.mark.heaptap(leaks=True)
def test_may_leak():
    LIBRARY.lose(50)

def test_last():
    pass
"""
PASS = {"clean", "own_status", "signal", "known", "children", "ptrace", "releases_are_not_asked_for", "sanity_of_the_clean"}
RESULT = re.compile(r"^tests\.py::test_(\w+) (PASSED|FAILED|SKIPPED|ERROR)", re.MULTILINE)


class Plugin(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        if not pathlib.Path(PYTEST).exists():
            heaptap_test.skip_what_is_missing("pytest-3 is not installed")

    def results(self, tests, *options, before=(), **environment):
        (self.directory / "tests.py").write_text(tests)
        env = {**os.environ, "PYTHONPATH": str(ROOT / "share/heaptap"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        done = run([*before, PYTEST, "-v", "-p", "pytest_heaptap", "-p", "no:cacheprovider", "--strict-markers", f"--basetemp={self.directory}/base",
                    *options, "tests.py"], env=env, cwd=self.directory)
        output = done.stdout.decode()
        return dict(RESULT.findall(output)), output + done.stderr.decode()

    def test_tests_fail_where_programs_leak_or_that_is_unknown(self):
        (self.directory / "program.c").write_text(PROGRAM)
        (self.directory / "mismatched.cc").write_text("#include <cstdlib>\nint main() { std::free(new int(1)); }\n")
        (self.directory / "known.supp").write_text("leak:known\n")
        build("gcc -g -O0 -fno-builtin", self.directory / "program.c", "-o", self.directory / "program")
        build("g++ -g -O0 -w", self.directory / "mismatched.cc", "-o", self.directory / "mismatched")
        results, output = self.results(TESTS, f"--heaptap={HEAPTAP}")
        self.assertEqual(len(results), TESTS.count("\ndef test_"), output)
        self.assertEqual({name for name, result in results.items() if result == "PASSED"}, PASS, output)
        self.assertEqual({result for name, result in results.items() if name not in PASS}, {"FAILED"}, output)
        self.assertNotIn("not reached", output)
        reasons = dict(re.findall(r"^_+ test_(\w+) _+\n(.*?)(?=^[_=]{10,})", output, re.MULTILINE | re.DOTALL))
        for name in ("leaks", "leaks_and_fails", "known_and_another", "children_leak", "ptrace_leaks"):
            self.assertRegex(reasons[name], r"the program leaks\n(.*\n)*.*leaked 30 B, limit 0 B\n.*30 B in 1 block.*\n.*fresh program\.c:6")
            self.assertNotIn("Traceback", reasons[name])
        for name in ("unknown", "unknown_and_fails", "unseen_children"):
            self.assertIn("it isn't known whether the program leaks", reasons[name])
        self.assertIn("invalid releases", reasons["sanity"])
        self.assertIn("mismatched.cc:2", reasons["sanity"])
        self.assertIn("/nowhere/program: No such file", reasons["no_such_program"])
        self.assertIn("nothing is known of leaks", reasons["without_a_scan"])

    def test_without_heaptap_tests_are_skipped_unless_it_was_named(self):
        test = "def test_one(heaptap_run):\n    heaptap_run(['true'])\n"
        results, output = self.results(test, "-rs", PATH="/usr/bin:/bin")
        self.assertEqual(results, {"one": "SKIPPED"}, output)
        self.assertIn("there is no program heaptap", output)
        results, output = self.results(test, "--heaptap=/nowhere/heaptap")
        self.assertNotIn("SKIPPED", output)
        self.assertNotIn("PASSED", output)
        self.assertIn("--heaptap=/nowhere/heaptap: there is no such program", output)

    def native_results(self, *options):
        """Of NATIVE_TESTS, in a pytest that runs under heaptap."""
        (self.directory / "loses.c").write_text(LOSES)
        build("gcc -g -O0 -fno-builtin -shared -fPIC", self.directory / "loses.c", "-o", self.directory / "libloses.so")
        return self.results(NATIVE_TESTS, before=[HEAPTAP, "run", "-q", "--force", "-o", self.directory / "t.htap", *options, "--"])

    def test_under_heaptap_tests_fail_that_lose_native_memory(self):
        results, output = self.native_results()
        # A function's leak is an error of its fixtures' end where a stale pointer hid it before.
        bad = {name for name, result in results.items() if result in ("FAILED", "ERROR")}
        self.assertEqual(bad, {"leaks", "leaks_and_fails", "fixture", "fixture_that_fails"}, output)
        self.assertEqual(results.keys() - bad, {"clean", "behind_a_leak", "behind_a_failure", "may_leak", "last"}, output)
        for size in (333, 30, 40):
            self.assertIn(f"1 block is definitely lost ({size} bytes)", output)
        shown = run([HEAPTAP, "show", "leaks", "--from", "tests.py::test_leaks", "--to", "end of tests.py::test_leaks", self.directory / "t.htap"])
        self.assertRegex(shown.stdout.decode(), r"333 B in 1 block definitely lost at find_block loses\.c:39")
        self.assertNotIn("30 B", shown.stdout.decode())

    def test_under_heaptap_what_is_not_known_fails(self):
        results, output = self.native_results("--aggregate")
        self.assertEqual({name for name, result in results.items() if result == "PASSED"}, {"may_leak"}, output)
        self.assertIn("it isn't known whether this test leaks", output)

    def test_by_ptrace_nothing_is_judged(self):
        results, output = self.native_results("--via", "ptrace")
        self.assertEqual({name for name, result in results.items() if result != "PASSED"}, {"leaks_and_fails", "fixture_that_fails"}, output)


if __name__ == "__main__":
    unittest.main()
