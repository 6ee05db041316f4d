"""heaptap_add_leak_test of find_package(heaptap): tests of a project pass and fail exactly, and what isn't known isn't passed."""
import os
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import ROOT
from heaptap_test import HEAPTAP, run, summary

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void* kept;
static void known(void) { memset(malloc(20), 1, 20); }
static void fresh(void) { memset(malloc(30), 1, 30); }
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "known") == 0) known();
    if (strcmp(words[i], "fresh") == 0) fresh();
    if (strcmp(words[i], "keep") == 0) kept = malloc(10);
    if (strcmp(words[i], "here") == 0 && fopen("here", "r") == NULL) return 6;
    if (strcmp(words[i], "fail") == 0) return 5;
    if (strcmp(words[i], "-q") == 0) puts("its own option");
  }
  return 0;
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(user C CXX)
enable_testing()
find_package(heaptap REQUIRED)
add_executable(program program.c)
target_compile_options(program PRIVATE -g -O0 -fno-builtin)
add_executable(mismatched mismatched.cc)
target_compile_options(mismatched PRIVATE -g -O0)
"""
MISMATCHED = "#include <cstdlib>\nint main() { int* volatile number = new int(1); std::free(number); }\n"
TESTS = """\
heaptap_add_leak_test(NAME clean COMMAND program keep)
heaptap_add_leak_test(NAME fails COMMAND program keep fail)
heaptap_add_leak_test(NAME leaks COMMAND program fresh)
heaptap_add_leak_test(NAME fails.and.leaks COMMAND program fresh fail)
heaptap_add_leak_test(NAME known COMMAND program known SUPPRESSIONS known.supp)
heaptap_add_leak_test(NAME known/and.another COMMAND program known fresh SUPPRESSIONS known.supp none.supp)
heaptap_add_leak_test(NAME unsuppressed COMMAND program known)
heaptap_add_leak_test(NAME unscanned COMMAND program keep OPTIONS --aggregate)
heaptap_add_leak_test(NAME leaks.children COMMAND sh -c "'$<TARGET_FILE:program>' fresh; true" OPTIONS -f)
heaptap_add_leak_test(NAME unseen.children COMMAND sh -c "'$<TARGET_FILE:program>' fresh; true")
heaptap_add_leak_test(NAME leaks.configured COMMAND program fresh WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/configured")
heaptap_add_leak_test(NAME clean.ptrace COMMAND program keep PTRACE)
heaptap_add_leak_test(NAME leaks.ptrace COMMAND program fresh PTRACE)
heaptap_add_leak_test(NAME own.option COMMAND program -q keep)
heaptap_add_leak_test(NAME in.directory COMMAND program here keep WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/place")
heaptap_add_leak_test(NAME no.program COMMAND /nowhere/program)
heaptap_add_leak_test(NAME mismatched COMMAND mismatched)
heaptap_add_leak_test(NAME mismatched.sanity COMMAND $<TARGET_FILE:mismatched> SANITY)
"""
PASS = {"clean", "known", "clean.ptrace", "own.option", "in.directory", "mismatched"}


class Project(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = cls.make_class_directory()
        cls.prefix = cls.place / "prefix"
        done = run(["cmake", "--install", BUILD, "--component", "api", "--prefix", cls.prefix])
        assert done.status == 0, done
        cls.built = cls.place / "built"
        source = cls.place / "source"
        (source / "place").mkdir(parents=True)
        (source / "place/here").touch()
        (source / "configured").mkdir()
        (source / "configured/.heaptap").write_text("[run]\nno-leak-scan\n")
        for name, text in (("program.c", PROGRAM), ("mismatched.cc", MISMATCHED), ("CMakeLists.txt", PROJECT + TESTS),
                           ("known.supp", "{\n  known\n  Memcheck:Leak\n  ...\n  fun:known\n}\n"), ("none.supp", "")):
            (source / name).write_text(text)
        for step in (cls.configuration(source, cls.built), ["--build", cls.built]):
            done = run(["cmake", *step])
            assert done.status == 0, done

    @classmethod
    def configuration(cls, source, built, heaptap=HEAPTAP):
        return ["-S", source, "-B", built, f"-DCMAKE_PREFIX_PATH={cls.prefix}", f"-DHEAPTAP_EXECUTABLE={heaptap}"]

    def results(self):
        """(passed, output) of each test. They run at once: none may be in another's way."""
        report = self.directory / "report.xml"
        done = run(["ctest", "--test-dir", self.built, "-j", "4", "--output-junit", report])
        self.assertTrue(report.is_file(), str(done))
        cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
        return {case.get("name"): (case.get("status") == "run", case.findtext("system-out")) for case in cases}

    def test_tests_pass_where_nothing_is_lost_and_fail_otherwise(self):
        results = self.results()
        self.assertEqual(len(results), TESTS.count("NAME"), results.keys())
        self.assertEqual({name for name, (passed, _) in results.items() if passed}, PASS,
                         "\n".join(f"{name}: {output}" for name, (_, output) in results.items()))
        for name in ("leaks", "leaks.ptrace", "fails.and.leaks"):
            self.assertIn("30 bytes in 1 block  #", results[name][1])
            self.assertIn("fresh program.c:6", results[name][1])
        self.assertNotIn("LEAKED", results["fails"][1])
        self.assertIn("fresh program.c:6", results["known/and.another"][1])
        self.assertNotIn("known program.c:5", results["known/and.another"][1])
        self.assertIn("it is unknown whether it leaks", results["unscanned"][1])
        self.assertIn("it is unknown whether it leaks", results["unseen.children"][1])
        self.assertIn("mismatched", results["mismatched.sanity"][1])
        self.assertIn("its own option", results["own.option"][1])

        with self.subTest("each test's trace is kept, and replaced when it runs again"):
            traces = self.built / "heaptap"
            self.assertEqual(summary(traces / "leaks.htap")["leaks"]["definite"], {"blocks": 1, "bytes": 30})
            # Those of children have numbers of processes in their names. no.program has none.
            kept = {f"{name.replace('/', '_')}.htap" for name in PASS | {"leaks", "mismatched.sanity", "leaks.ptrace"}}
            self.assertEqual(kept - {path.name for path in traces.iterdir()}, set())
            self.assertEqual({name for name, (passed, _) in self.results().items() if passed}, PASS)

        with self.subTest("they are found by their label"):
            listed = run(["ctest", "--test-dir", self.built, "-N", "-L", "heaptap"]).stdout.decode()
            self.assertIn(f"Total Tests: {len(results)}", listed)

    def refusal(self, tests, heaptap=HEAPTAP, built="built"):
        """What cmake says of a project with these tests."""
        for name, text in (("program.c", PROGRAM), ("mismatched.cc", MISMATCHED), ("CMakeLists.txt", PROJECT + tests)):
            (self.directory / name).write_text(text)
        done = run(["cmake", *self.configuration(self.directory, self.directory / built, heaptap)])
        self.assertNotEqual(done.status, 0, str(done))
        return " ".join(done.stderr.decode().split())

    def test_a_test_that_nothing_would_judge_is_refused(self):
        call = "heaptap_add_leak_test(NAME one COMMAND program)"
        self.assertIn("there is no program heaptap", self.refusal(call, heaptap=""))
        self.assertIn("NAME and COMMAND are needed", self.refusal("heaptap_add_leak_test(NAME one)"))
        self.assertIn("unknown arguments: SANE", self.refusal("heaptap_add_leak_test(SANE NAME one COMMAND program)"))
        self.assertIn("nothing would be judged", self.refusal(f"{call[:-1]} OPTIONS --no-leak-scan)"))
        self.assertIn("has a percent sign", self.refusal(call, built="100%p"))
        self.assertIn("'one two': names of tests have", self.refusal("heaptap_add_leak_test(NAME \"one two\" COMMAND program)"))


if __name__ == "__main__":
    unittest.main()
