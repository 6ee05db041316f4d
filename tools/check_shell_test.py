#!/usr/bin/env python3
"""What check_shell.py finds in a checkout."""

import pathlib
import tempfile
import unittest

import check_shell

SHELL = "<head><meta content=\"default-src 'none'\"><title>{{title}}</title></head>{{noscript}}{{data}}"
CLEAN = {
    "web/build.mjs": "build()\n",
    "web/package.json": "{}",
    "web/package-lock.json": '{"packages": {}}',
    "web/src/main.jsx": "start();\n",
    "web/src/data/decode.js": "export const one = 1;\n",
    "src/views/html/shell.html": SHELL,
}


class CheckShell(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        for name, text in CLEAN.items():
            self.write(name, text)
        self.note()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def note(self):
        self.write("src/views/html/shell.sha256", check_shell.hash_lines(self.root))

    def assert_one(self, word):
        found = list(check_shell.violations(self.root))
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_a_shell_of_its_sources_has_no_violation(self):
        self.assertEqual(list(check_shell.violations(self.root)), [])

    def test_a_changed_source_is_seen(self):
        self.write("web/src/data/decode.js", "export const one = 2;\n")
        self.assert_one("isn't made of")

    def test_a_new_source_is_seen(self):
        self.write("web/src/more.js", "")
        self.assert_one("isn't made of")

    def test_a_shell_that_was_edited_is_seen(self):
        self.write("src/views/html/shell.html", SHELL + " ")
        self.assert_one("isn't made of")

    def test_a_missing_place_is_seen(self):
        self.write("src/views/html/shell.html", SHELL.replace("{{data}}", ""))
        self.note()
        self.assert_one("{{data}} 0 times")

    def test_a_large_shell_is_seen(self):
        self.write("src/views/html/shell.html", SHELL + "x" * check_shell.MOST_BYTES)
        self.note()
        self.assert_one("more than")

    def test_a_policy_that_permits_more_is_seen(self):
        self.write("src/views/html/shell.html", SHELL.replace("'none'", "'none' 'unsafe-inline'"))
        self.note()
        self.assert_one("policy")

    def test_hosts_of_packages_are_seen(self):
        self.write("web/package-lock.json", '{"resolved": "https://host/x"}')
        self.note()
        self.assert_one("hosts")


if __name__ == "__main__":
    unittest.main()
