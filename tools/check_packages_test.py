#!/usr/bin/env python3
"""What check_packages.py finds in scripts, tests and the list of packages."""

import unittest

import check_packages


class Commands(unittest.TestCase):
    def test_of_a_script(self):
        text = """
# comment with | words
one --option x | two >file && three "text with four; $(five -n)" 'six; seven' || ! eight
for name in "$@"; do nine "$name"; done
case $1 in
  eleven | twelve) thirteen "$1" ;;
esac
list=(fourteen fifteen) value=sixteen
cat <<'END'
seventeen eighteen
END
if ! nineteen; then exec twenty; fi
"""
        self.assertEqual(check_packages.script_commands(text) - check_packages.shell_words(),
                         {"one", "two", "three", "five", "eight", "nine", "thirteen", "cat", "nineteen", "twenty"})

    def test_of_python(self):
        text = """
subprocess.run(["one", "-x"], check=True)
run([built("two"), "three"])
outcome = heaptap("run", "sh", "-c", "mount x && four y")
shutil.which("five"); print("six")
run("python3", "-c", "import os; print(1)")
"""
        found = set(check_packages.python_commands(text))
        self.assertLessEqual({"one", "mount", "four", "five", "sh"}, found)
        self.assertTrue({"six", "import"}.isdisjoint(found), found)

    def test_of_a_page_are_those_that_a_test_runs(self):
        page = "```\n$ one\n```\n\n<!-- checked -->\n```\n$ two x | three\nfour\n```\n"
        self.assertEqual(check_packages.page_commands(page), {"two", "three"})

    def test_cmake_calls_make_unless_another_is_named(self):
        for text, expected in (("cmake -S a -B b", True), ("run(['cmake', *step], ['-S', 'a'])", True), ("cmake -G Ninja -S a", False),
                               ("cmake --install b", False)):
            self.assertEqual("make" in check_packages.with_what_is_called({"cmake"}, text), expected, text)
        self.assertEqual(check_packages.with_what_is_called({"g++"}, "g++ -S a.cc"), {"g++"})

    def test_what_a_script_defines_is_no_command(self):
        self.assertLessEqual({"mine", "nosuchname"}, check_packages.defined_names(["mine() {\n  local nosuchname=1\n}\n"]))


class Packages(unittest.TestCase):
    def test_groups_of_the_list(self):
        self.assertEqual(check_packages.read_packages("# x\nbuild: a b\ntest@amd64: c\nbuild: d\n"), {"build": {"a", "b", "d"}, "test": {"c"}})

    def test_a_package_brings_what_it_depends_on(self):
        found = check_packages.with_dependencies({"g++"})
        self.assertIn("libc6-dev", found)
        self.assertNotIn("zstd", check_packages.with_dependencies(set()))

    def test_a_header_that_nobody_brings_is_found(self):
        self.assertTrue(any("<fmt/format.h>" in line for line in check_packages.check_headers({"build": {"g++"}})))

    def test_a_command_that_nobody_brings_is_found(self):
        self.assertTrue(any("cmake" in line for line in check_packages.check_commands({"build": {"g++"}})))

    def test_tests_have_what_their_groups_bring(self):
        listed = {"build": {"g++", "cmake"}, "test": {"python3"}, "package": {"dpkg-dev"}}
        self.assertTrue(any(" make " in line and "build, test" in line for line in check_packages.check_commands(listed)))

    def test_a_package_that_another_one_provides_counts_as_installed(self):
        name = next(iter(check_packages.dependencies()[2]))
        self.assertTrue(check_packages.are_installed({"test": {name}}, {"test"}))
        self.assertFalse(check_packages.are_installed({"test": {"no-such-package"}}, {"test"}))


if __name__ == "__main__":
    unittest.main()
