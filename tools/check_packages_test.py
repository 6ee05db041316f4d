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
"""
        found = set(check_packages.python_commands(text))
        self.assertLessEqual({"one", "mount", "four", "five", "sh"}, found)
        self.assertNotIn("six", found)

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


if __name__ == "__main__":
    unittest.main()
