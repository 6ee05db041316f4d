#!/usr/bin/env python3
"""What check_docs.py finds in a checkout."""

import pathlib
import tempfile
import unittest

import check_docs

CLEAN = {
    "README.md": "# tool\n[decisions](docs/decisions) · [way](docs/way.md#in-the-target-core) · [site](https://example.org/x)\n",
    "docs/way.md": "# Way\n## In the target: `core`\nThe room `core/` has `core/log.h` and `log.cc`, `core/*.h`, `src/core`.\n"
                   "What isn't ours: `malloc.h>`, `t.json`, `other/thing`, `FILE.1`, `core/NAME.cc`, [here](#way).\n"
                   "```\n[no](link.md) `core/none.h`\n```\n",
    "docs/decisions/0001-one.md": "# 1. One\n[way](../way.md), `core/log.h`\n",
    "docs/howto/use.md": "`example.cc`\n",
    "src/core/log.h": "",
    "src/core/log.cc": "",
}


class CheckDocs(unittest.TestCase):
    def violations(self, files=None):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**CLEAN, **(files or {})}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_docs.check_tree(root)[0]

    def assert_one(self, files, *words):
        found = self.violations(files)
        self.assertEqual(len(found), 1, found)
        for word in words:
            self.assertIn(word, found[0])

    def test_a_sound_checkout_has_no_violation(self):
        self.assertEqual(self.violations(), [])

    def test_a_link_that_leads_nowhere_is_found_with_its_line(self):
        self.assert_one({"docs/more.md": "# More\n\nsee [it](decisions/0002-two.md)\n"}, "docs/more.md:3", "0002-two.md")

    def test_a_link_is_relative_to_its_page(self):
        self.assert_one({"docs/howto/more.md": "[way](way.md)\n"}, "docs/howto/more.md:1", "way.md")

    def test_an_anchor_without_a_heading_is_found(self):
        self.assert_one({"docs/more.md": "[way](way.md#in-the-target)\n"}, "docs/more.md:1", "in-the-target")

    def test_files_and_folders_that_are_not_there_are_found(self):
        for name in ("core/none.h", "src/none/log.h", "none.cc", "src/gone", "core/gone/", "core/*.S", "docs/none.md"):
            with self.subTest(name):
                self.assert_one({"docs/more.md": f"# More\n`{name}`\n"}, "docs/more.md:2", name.rstrip("/"))

    def test_what_a_build_made_is_no_file_of_the_checkout(self):
        self.assert_one({"build/CMakeCache.txt": "", "build/made.cc": "", "docs/more.md": "`made.cc`\n"}, "made.cc")

    def test_a_decision_is_no_longer_than_a_page(self):
        page = "word " * check_docs.DECISION_WORDS
        self.assertEqual(self.violations({"docs/decisions/0002-two.md": page, "docs/long.md": page * 2}), [])
        self.assert_one({"docs/decisions/0002-two.md": page + "more"}, "0002-two.md", f"{check_docs.DECISION_WORDS + 1} words")

    def test_a_checkout_without_pages_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check_docs.check_tree(pathlib.Path(folder)), ([], 0))


if __name__ == "__main__":
    unittest.main()
