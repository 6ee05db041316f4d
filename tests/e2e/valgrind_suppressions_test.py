"""Suppressions as users of Valgrind and LeakSanitizer have them: paths, names and frames as these tools know them."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import heaptap, summary

PROGRAM = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *in_library(void);
__attribute__((noinline)) static void lose(const char *how) {
  void *volatile lost = 0;
  void *aligned = 0;
  if (!strcmp(how, "strdup")) lost = strdup(how);
  if (!strcmp(how, "strndup")) lost = strndup(how, 4);
  if (!strcmp(how, "asprintf")) { char *text = 0; if (asprintf(&text, "%s", how) > 0) lost = text; text = 0; }
  if (!strcmp(how, "posix_memalign") && posix_memalign(&aligned, 64, 100) == 0) lost = aligned;
  if (!strcmp(how, "realloc")) { void *volatile none = 0; lost = realloc(none, 100); }
  if (!strcmp(how, "library")) lost = in_library();
  aligned = 0;
  lost = 0;
  (void)lost;
}
int main(int count, char **arguments) {
  lose(count > 1 ? arguments[1] : "");
  char wiped[4096];
  memset(wiped, 0, sizeof wiped);
  return wiped[count] != 0;
}
"""
LIBRARY = "#include <stdlib.h>\nvoid *in_library(void) { void *block = malloc(77); return block; }\n"
OWN = """
#include <stdlib.h>
const char *__lsan_default_suppressions(void) { return "leak:known_leak\\nrace:other\\n# a comment\\nleak:\\n"; }
__attribute__((noinline)) void known_leak(void) { void *volatile lost = malloc(48); lost = 0; (void)lost; }
__attribute__((noinline)) void other_leak(void) { void *volatile lost = malloc(16); lost = 0; (void)lost; }
int main(int count, char **arguments) { known_leak(); if (count > 1) other_leak(); (void)arguments; return 0; }
"""


def rule(*frames):
    return "{\n   known\n   Memcheck:Leak\n" + "".join(f"   {frame}\n" for frame in frames) + "}\n"


class Suppressed(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.real = self.directory / "real"
        self.linked = self.directory / "linked"
        self.real.mkdir()
        self.linked.symlink_to(self.real)
        self.compile(LIBRARY, self.real / "libkept.so.1.2.3", "-shared", "-fPIC", "-Wl,-soname,libkept.so.1")
        (self.real / "libkept.so.1").symlink_to("libkept.so.1.2.3")
        self.program = self.directory / "program"
        self.compile(PROGRAM, self.program, self.linked / "libkept.so.1", f"-Wl,-rpath,{self.linked}")

    def compile(self, text, output, *options):
        source = self.directory / f"{output.name}.c"
        source.write_text(text)
        subprocess.run(["cc", "-g", "-O0", "-fno-builtin", source, "-o", output, *options], check=True)

    def assert_hidden(self, how, *frames):
        file = self.directory / "known.supp"
        file.write_text(rule(*frames))
        outcome = heaptap("run", "-q", "--force", "-o", self.directory / "t.htap", "--error-exitcode", "9", "--suppressions", file,
                          "--", self.program, how, cwd=self.directory)
        self.assertEqual(outcome.status, 0, f"{how}: {frames}\n{outcome}")

    def written(self, how):
        trace = self.directory / "written.htap"
        heaptap("run", "-q", "--force", "-o", trace, "--", self.program, how, cwd=self.directory)
        return heaptap("show", "leaks", "--gen-suppressions", trace).stdout.decode()

    def test_any_name_of_a_function(self):
        for how, names in (("strdup", ("strdup", "__strdup")), ("strndup", ("strndup", "__strndup"))):
            for name in names:
                self.assert_hidden(how, "fun:malloc", f"fun:{name}", "fun:lose")
        self.assert_hidden("asprintf", "fun:malloc", "...", "fun:asprintf", "fun:lose")

    def test_the_name_that_everybody_knows_is_written(self):
        for name in ("strdup", "strndup", "asprintf"):
            self.assertIn(f"   fun:{name}\n", self.written(name))

    def test_the_path_of_the_file_and_that_of_the_loader(self):
        for path in (self.real / "libkept.so.1.2.3", self.linked / "libkept.so.1", "*/libkept.so.1.2.*"):
            self.assert_hidden("library", "fun:malloc", f"obj:{path}", "fun:lose")

    def test_the_path_of_the_file_is_written(self):
        subprocess.run(["strip", "-s", self.real / "libkept.so.1.2.3"], check=True)
        text = self.written("library")
        if "fun:in_library" not in text:
            self.assertIn(f"   obj:{self.real.resolve() / 'libkept.so.1.2.3'}\n", text)

    def test_paths_are_those_of_the_machine_that_recorded(self):
        """The trace is read where the library isn't, or is another file."""
        file = self.real.resolve() / "libkept.so.1.2.3"
        for via in ("agent", "ptrace"):
            trace = self.directory / f"{via}.htap"
            heaptap("run", "-q", f"--via={via}", "-o", trace, "--", self.program, "library", cwd=self.directory)
        (self.linked / "libkept.so.1").unlink()
        (self.linked / "libkept.so.1").symlink_to("elsewhere.so")
        known = self.directory / "known.supp"
        known.write_text(rule("fun:malloc", f"obj:{file}", "fun:lose"))
        for via in ("agent", "ptrace"):
            with self.subTest(via=via):
                outcome = heaptap("check", "--max-leaked", "0", "--suppressions", known, self.directory / f"{via}.htap")
                self.assertEqual(outcome.status, 0, outcome)

    def test_functions_that_call_each_other_in_valgrind(self):
        self.assert_hidden("posix_memalign", "fun:memalign", "fun:posix_memalign", "fun:lose")
        self.assert_hidden("posix_memalign", "fun:posix_memalign", "fun:lose")
        self.assert_hidden("realloc", "fun:malloc", "fun:lose")
        self.assert_hidden("realloc", "fun:malloc", "fun:realloc", "fun:lose")
        self.assert_hidden("realloc", "fun:realloc", "fun:lose")
        self.assertIn("   fun:memalign\n   fun:posix_memalign\n", self.written("posix_memalign"))


class OfTheProgram(heaptap_test.TestCase):
    """__lsan_default_suppressions."""

    def test_they_count_in_each_command(self):
        source = self.directory / "own.c"
        source.write_text(OWN)
        for number, options in enumerate((["-O0"], ["-O2"], ["-O2", "-no-pie"], ["-O1", "-fcf-protection=full"])):
            with self.subTest(options=options):
                program = self.directory / f"own{number}"
                subprocess.run(["cc", *options, source, "-o", program], check=True)
                trace = self.directory / f"{number}.htap"
                outcome = heaptap("run", "-o", trace, "--error-exitcode", "9", "--", program)
                self.assertEqual(outcome.status, 0, outcome)
                self.assertIn(b"suppressed 48 bytes in 1 block", outcome.stderr)
                self.assertEqual(heaptap("check", trace, "--max-leaked", "0").status, 0)
                self.assertEqual(heaptap("check", trace, "--max-leaked", "0", "--no-suppressions").status, 1)
                places = [each["place"] for each in summary(trace)["leaks"]["suppressions"]]
                self.assertEqual(len(places), 1)
                self.assertIn("__lsan_default_suppressions", places[0])
                self.assertEqual(heaptap("run", "-q", "--force", "-o", trace, "--error-exitcode", "9", "--", program, "more").status, 9)


if __name__ == "__main__":
    unittest.main()
