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
    "docs/decisions/README.md": "# Decisions\n- [1](0001-one.md) One thing.\n",
    "docs/decisions/0001-one.md": "# 1. One\n[way](../way.md), `core/log.h`\n",
    "docs/howto/use.md": "`example.cc`\n",
    "src/core/log.h": "",
    "src/core/log.cc": "",
}


class Checkout(unittest.TestCase):
    """A checkout that is sound but for the files of a test."""

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


class CheckDocs(Checkout):
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

    def with_decision(self, text, entry="- [2](0002-two.md) Two things.\n", more=""):
        """A checkout that has a second decision."""
        index = CLEAN["docs/decisions/README.md"] + entry + more
        return {"docs/decisions/0002-two.md": text, "docs/decisions/README.md": index}

    def test_a_decision_is_no_longer_than_a_page(self):
        page = "# 2. Two\n" + "word " * (check_docs.DECISION_WORDS - 3)
        self.assertEqual(self.violations({**self.with_decision(page), "docs/long.md": page * 2}), [])
        self.assert_one(self.with_decision(page + "more"), "0002-two.md", f"{check_docs.DECISION_WORDS + 1} words")

    def test_a_decision_in_place_of_several_may_be_longer(self):
        entry, two, many = "- [9](0009-nine.md) Nine.\n", "Replaces 2 and 3.", "Replaces 2, 3, 4, 5 and 6."
        for replaces, numbers, most in ((two, "2, 3", 700), (many, "2, 3, 4, 5, 6", 900)):
            with self.subTest(replaces):
                head = f"# 9. Nine\n\n{replaces}\n\n"
                page = head + "word " * (most - len(head.split()))
                index = CLEAN["docs/decisions/README.md"] + entry + f"| was | is |\n|---|---|\n| {numbers} | 9 |\n"
                files = {"docs/decisions/0009-nine.md": page, "docs/decisions/README.md": index}
                self.assertEqual(self.violations(files), [])
                self.assert_one({**files, "docs/decisions/0009-nine.md": page + "more"}, f"{most + 1} words")

    def test_a_decision_begins_with_its_number(self):
        self.assert_one(self.with_decision("# Two\n"), "0002-two.md", "heading")

    def test_the_index_has_each_decision_once_and_no_other(self):
        two, entry = "# 2. Two\n", "- [2](0002-two.md) Two things.\n"
        self.assertEqual(self.violations(self.with_decision(two)), [])
        self.assert_one(self.with_decision(two, ""), "README.md", "decision 2 0 times")
        self.assert_one(self.with_decision(two, entry, entry), "README.md", "decision 2 2 times")
        self.assert_one(self.with_decision(two, "- [2](0001-one.md) Two things.\n"), "README.md", "2 leads to 0001")
        found = self.violations(self.with_decision(two, entry, "- [3](0003-three.md) Three.\n"))
        self.assertTrue(any("there is no decision 3" in each for each in found), found)

    def test_what_is_replaced_is_gone_and_the_index_says_where_to(self):
        two = "# 2. Two\n\nReplaces 1 and 3.\n"
        found = self.violations(self.with_decision(two, more="| 1, 3 | 2 |\n"))
        self.assertEqual(len(found), 1, found)
        self.assertIn("0001-*: 2 replaces it", found[0])
        self.assert_one(self.with_decision("# 2. Two\n\nReplaces 3.\n"), "README.md", "2 replaces 3")

    def test_a_checkout_without_pages_is_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(check_docs.check_tree(pathlib.Path(folder)), ([], 0))


if __name__ == "__main__":
    unittest.main()
