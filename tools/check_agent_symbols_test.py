#!/usr/bin/env python3
"""The agent check finds each thing that must not be in the library, in small libraries made for the purpose."""

import pathlib
import subprocess
import tempfile
import unittest

import check_agent_symbols as check

QUIET = "-nostdlib -shared -fPIC -ffreestanding -fvisibility=hidden".split()


class CheckAgentSymbols(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.allowed = check.Allowed("needs dlsym\nexports version\n")

    def library(self, source, *flags):
        directory = pathlib.Path(self.directory.name)
        (directory / "agent.c").write_text(source)
        subprocess.run(["cc", *QUIET, *flags, "agent.c", "-o", "agent.so"], check=True, cwd=directory)
        return directory / "agent.so"

    def exporting(self, names):
        export = '__attribute__((visibility("default")))'
        return "\n".join(f"{export} void {name}(void) {{}}" for name in sorted(names))

    def test_a_library_with_just_what_is_allowed_passes(self):
        source = self.exporting(check.interposed_functions() | {"version"})
        library = self.library(source + "\nvoid* dlsym(void); __attribute__((used)) static void* f(void) { return dlsym(); }",
                               "-fno-builtin")
        found = [*check.check_symbols(library, self.allowed), *check.check_dynamic_section(library, self.allowed),
                 *check.check_segments(library), *check.check_relocations(library)]
        self.assertEqual(found, [])

    def test_a_symbol_that_it_needs_is_found(self):
        library = self.library("void puts(char*); __attribute__((used)) static void f(void) { puts(0); }")
        self.assertIn("needs puts", list(check.check_symbols(library, self.allowed)))

    def test_a_symbol_too_many_or_too_few_is_found(self):
        found = list(check.check_symbols(self.library(self.exporting({"helper"})), self.allowed))
        self.assertIn("exports helper", found)
        self.assertIn("does not export malloc", found)
        self.assertIn("does not export version", found)

    def test_a_library_that_it_needs_is_found(self):
        library = self.library("", "-Wl,--no-as-needed", "-lm")
        self.assertEqual(list(check.check_dynamic_section(library, self.allowed)), ["needs the library libm.so.6"])

    def test_versions_of_other_libraries_are_found(self):
        calls = self.library("int puts(char*); __attribute__((used)) static int f(void) { return puts(0); }", "-Wl,--no-as-needed", "-lc")
        self.assertEqual(list(check.check_versions(calls)), ["needs the version GLIBC_2.2.5"])
        source = "static int place; __attribute__((visibility(\"default\"), used)) int* at = &place;"
        self.assertEqual(list(check.check_versions(self.library(source))), [])
        self.assertEqual([text.split(",")[0] for text in check.check_versions(self.library(source, "-Wl,-z,pack-relative-relocs"))],
                         ["has packed relocations (DT_RELR)"])

    def test_a_second_constructor_is_found(self):
        one = "__attribute__((constructor)) static void f{}(void) {{}}\n"
        self.assertEqual(list(check.check_dynamic_section(self.library(one.format(1)), self.allowed)), [])
        two = self.library(one.format(1) + one.format(2))
        self.assertEqual(list(check.check_dynamic_section(two, self.allowed)), ["has 2 constructors; one is allowed"])

    def test_an_executable_stack_is_found(self):
        library = self.library("", "-Wl,-z,execstack")
        self.assertEqual(list(check.check_segments(library)), ["wants an executable stack"])

    def test_lazy_thread_local_storage_is_found_and_initial_exec_is_not(self):
        source = '__thread int state; __attribute__((visibility("default"))) int* f(void) { return &state; }'
        self.assertEqual(list(check.check_relocations(self.library(source, "-ftls-model=initial-exec"))), [])
        self.assertTrue(list(check.check_relocations(self.library(source, "-ftls-model=global-dynamic"))))

    def test_a_function_with_a_large_frame_is_found_unless_it_is_listed(self):
        objects = pathlib.Path(self.directory.name) / "src" / "agent"
        objects.mkdir(parents=True)
        (objects / "a.su").write_text("a.cc:1:6:void f()\t600\tstatic\na.cc:2:6:void g(int)\t16\tdynamic\n")
        build = pathlib.Path(self.directory.name)
        found = list(check.check_stack(build, self.allowed))
        self.assertEqual(len(found), 2)
        self.assertIn("600 bytes", found[0])
        self.assertIn("unbounded", found[1])
        self.assertEqual(len(list(check.check_stack(build, check.Allowed("stack f() 640\n")))), 1)


if __name__ == "__main__":
    unittest.main()
