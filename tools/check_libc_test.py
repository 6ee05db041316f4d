#!/usr/bin/env python3
"""The check of what is needed of libc finds each thing that isn't so."""

import pathlib
import subprocess
import tempfile
import unittest

import check_libc as check


class CheckLibc(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def library(self, source):
        directory = pathlib.Path(self.directory.name)
        (directory / "agent.c").write_text(source)
        subprocess.run("cc -nostdlib -shared -fPIC agent.c -o agent.so".split(), check=True, cwd=directory)
        return directory / "agent.so"

    def test_a_symbol_that_is_not_listed_is_found(self):
        library = self.library("int puts(const char*); void f(void) { puts(0); }")
        found = list(check.check_agent(library, check.Needs.read("called exit")))
        self.assertIn("the agent needs puts, which isn't listed", found)
        self.assertIn("the agent needs sigaction, which isn't listed", found)

    def test_a_symbol_that_nobody_needs_is_found(self):
        found = list(check.check_agent(self.library("int x;"), check.Needs.read("called puts")))
        self.assertIn("the agent doesn't need puts", found)

    def test_a_symbol_that_libc_does_not_have_is_found(self):
        libraries = check.machine_libraries()
        self.assertEqual(list(check.check_symbols(libraries, check.Needs.read("called exit\nloader _r_debug"))), [])
        self.assertEqual(len(list(check.check_symbols(libraries, check.Needs.read("called no_such_function")))), 1)

    def test_a_symbol_that_came_later_has_to_be_said_to(self):
        libraries = check.machine_libraries()
        if not any(name == "closefrom" for name, *_ in check.dynamic_symbols(libraries["libc"])):
            self.skipTest("before glibc 2.34")
        self.assertEqual(list(check.check_symbols(libraries, check.Needs.read("called closefrom"))),
                         ["closefrom came with glibc 2.34, needed is 2.28"])
        self.assertEqual(list(check.check_symbols(libraries, check.Needs.read("called closefrom\nlater 2.34 closefrom"))), [])

    def test_a_member_that_is_elsewhere_is_found(self):
        self.assertEqual(list(check.check_public(check.Needs.read("public rlimit rlim_max 8 sys/resource.h"))), [])
        self.assertEqual(list(check.check_public(check.Needs.read("public rlimit rlim_max 4 sys/resource.h"))),
                         ["rlimit.rlim_max is not at 4"])
        self.assertEqual(len(list(check.check_public(check.Needs.read("public rlimit nothing 4 sys/resource.h")))), 1)

    def test_a_private_member_that_is_elsewhere_is_found(self):
        libraries = check.machine_libraries()
        wrong, unseen = check.check_private(libraries, check.Needs.read("private libc tcbhead_t gscope_flag 24\n"
                                                                       "distance libc malloc_state bins next 8"))
        if unseen:
            self.skipTest("libc's debugging information isn't installed")
        self.assertEqual(len(wrong), 2)


if __name__ == "__main__":
    unittest.main()
