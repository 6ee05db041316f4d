#!/usr/bin/env python3
"""The check for paths of the checkout finds those, and nothing that only looks like one."""

import pathlib
import subprocess
import tempfile
import unittest

import check_source_path


class CheckSourcePath(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name, "heaptap")
        (self.root / "src").mkdir(parents=True)

    def found(self, text):
        return list(check_source_path.paths_of(self.root, text))

    def test_a_path_is_found_wherever_it_begins(self):
        path = f"{self.root}/src/main.cc"
        for text in (path, f"in {path}", f'"{path}"', f"file={path}:12", f"({path}", f"other\n{path}\nother"):
            self.assertEqual([found.rstrip(")") for found in self.found(text)], [path], text)
        self.assertEqual(self.found(f"{path} {path}"), [path, path])

    def test_a_part_of_another_path_is_none(self):
        for before in ("/usr/share", "..", "~", "a", "/", "-", "{}"):
            self.assertEqual(self.found(f"{before}{self.root}/src/main.cc"), [], before)

    def test_what_the_checkout_does_not_have_is_none(self):
        self.assertEqual(self.found(f"{self.root}/history"), [])
        self.assertEqual(self.found(f"{self.root}-agent/src {self.root} {self.root}/"), [])

    def test_of_a_program_the_loaded_strings_count(self):
        program = self.root / "program"
        source = f'const char* volatile path = "{self.root}/src/main.cc";\nint main(void) {{ return *path == 0; }}\n'
        for text, expected in ((source, [f"{self.root}/src/main.cc"]), ("int main(void) { return 0; }\n", [])):
            (self.root / "src/main.c").write_text(text)
            subprocess.run(["cc", "-g", "-o", program, self.root / "src/main.c"], check=True)
            self.assertEqual(list(check_source_path.paths_of(self.root, check_source_path.strings_of(program))), expected)


if __name__ == "__main__":
    unittest.main()
