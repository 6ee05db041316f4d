"""The listener of include/heaptap/gtest.h: the tests that leak fail, with their leaks, and no others; without heaptap it does nothing."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from api_building import INCLUDE, SOURCES, STUBS, build
from heaptap_test import heaptap, run

FAILED = re.compile(r"^\[  FAILED  \] (\w+\.\w+)(?:$| \()", re.MULTILINE)
USUAL = "--gtest_filter=-Off.*"
LEAKING = {"Leaks.OneBlock", "Leaks.AList", "Leaks.OfAThread", "Mislays.Loses"}


class Listener(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.make_class_directory()
        cls.program, cls.stubbed = place / "tests", place / "stubbed"
        warnings = "-std=c++14 -O1 -g -Wall -Wextra -Wshadow -Wconversion -Werror"
        build("g++", warnings, "-I", INCLUDE, SOURCES / "leaks_gtest.cc", "-o", cls.program, "-lgtest_main -lgtest -pthread")
        build("gcc -O2 -fPIC -shared -nostdlib -Wl,-soname,libheaptap.so.1 -I", INCLUDE, STUBS, "-o", place / "libheaptap.so.1")
        build("g++", warnings, "-DHEAPTAP_STUBS -I", INCLUDE, SOURCES / "leaks_gtest.cc", place / "libheaptap.so.1", "-Wl,-rpath,$ORIGIN -o",
              cls.stubbed, "-lgtest_main -lgtest -pthread")

    def recorded(self, *options, program=None, words=(USUAL,)):
        done = heaptap("run", "-q", "--force", "-o", self.trace, *options, "--", program or self.program, *words, cwd=self.directory)
        return done.status, done.stdout.decode()

    def test_without_heaptap_no_test_fails_by_it(self):
        for program in (self.program, self.stubbed):
            done = run([program])
            self.assertEqual((done.status, set(FAILED.findall(done.stdout.decode()))), (1, {"Fails.AsEver"}), str(done))
            self.assertNotIn(b"heaptap", done.stdout.split(b"Failure", 1)[0])

    def test_the_tests_that_leak_fail(self):
        for options, program in (((), self.program), (("--via", "ptrace"), self.stubbed)):
            with self.subTest(options=options):
                status, output = self.recorded(*options, program=program)
                self.assertEqual((status, set(FAILED.findall(output))), (1, {"Fails.AsEver", *LEAKING}), output)
                self.assertIn("1 block is definitely lost (30 bytes). Stacks", output)
                self.assertIn("1 block is definitely lost (8 bytes), 1 block indirectly. Stacks", output)
                self.assertIn("1 block is definitely lost (40 bytes). Stacks", output)
                self.assertEqual(output.count("definitely lost"), len(LEAKING))

    def test_the_command_that_a_failure_names_shows_the_leaks_of_that_test_alone(self):
        _, output = self.recorded()
        commands = re.findall(r"^  heaptap (show leaks .*) TRACE$", output, re.MULTILINE)
        self.assertEqual(len(commands), len(LEAKING))
        shown = {}
        for found in commands:
            words = re.findall(r"'([^']*)'|(\S+)", found)
            done = heaptap(*(quoted or plain for quoted, plain in words), self.trace)
            self.assertEqual(done.status, 0, str(done))
            shown[words[3][0]] = done.stdout.decode()
        self.assertEqual(set(shown), LEAKING)
        self.assertRegex(shown["Leaks.OneBlock"], r"#\d+  30 B in 1 block definitely lost at .*lose\(unsigned long\) leaks_gtest\.cc:\d+")
        self.assertRegex(shown["Leaks.AList"], r"#\d+  16 B \(8 B direct, 8 B indirect\) in 2 blocks definitely lost at .*lose_list\(\)")
        for name in ("Leaks.OneBlock", "Leaks.AList", "Leaks.OfAThread"):
            self.assertEqual(len(re.findall("definitely lost at", shown[name])), 1, shown[name])
        self.assertNotIn("definitely lost at", shown["Mislays.Loses"])  # an earlier test allocated it

    def test_known_leaks_fail_no_test(self):
        (self.directory / "known.supp").write_text("leak:lose(unsigned long)\n")
        status, output = self.recorded("--suppressions", self.directory / "known.supp", words=("--gtest_filter=Leaks.*",))
        self.assertEqual((status, set(FAILED.findall(output))), (1, {"Leaks.AList"}), output)

    def test_each_round_has_its_own_marks(self):
        _, output = self.recorded(words=("--gtest_filter=Leaks.OneBlock", "--gtest_repeat=2"))
        self.assertIn("--from 'Leaks.OneBlock' --to 'end of Leaks.OneBlock'", output)
        marks = heaptap("show", "leaks", "--from", "Leaks.OneBlock, round 2", "--to", "end of Leaks.OneBlock, round 2", self.trace)
        self.assertEqual(marks.status, 0, str(marks))

    def test_what_is_not_known_fails(self):
        status, output = self.recorded(words=("--gtest_filter=Off.*",))
        self.assertEqual((status, set(FAILED.findall(output))), (1, {"Off.IsUnknown"}), output)
        self.assertIn("isn't known whether this test leaks: it ended with heaptap's recording switched off", output)
        status, output = self.recorded("--aggregate", words=("--gtest_filter=Clean.*",))
        self.assertEqual((status, len(set(FAILED.findall(output)))), (1, 3), output)
        self.assertIn("isn't known whether this test leaks: heaptap records no blocks here (--aggregate)", output)


if __name__ == "__main__":
    unittest.main()
