#!/usr/bin/env python3
"""What check_docs.py finds in a checkout."""

import pathlib
import tempfile
import unittest
import unittest.mock

import check_docs
import doc_facts

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
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
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


@unittest.mock.patch.object(doc_facts, "NUMBERS", ())
@unittest.mock.patch.object(doc_facts, "FACTS", ())
class CheckDocs(Checkout):
    def test_a_sound_checkout_has_no_violation(self):
        self.assertEqual(self.violations(), [])

    def test_a_link_that_leads_nowhere_is_found_with_its_line(self):
        self.assert_one({"docs/more.md": "# More\n\nsee [it](decisions/0002-two.md)\n"}, "docs/more.md:3", "0002-two.md")

    def test_a_link_is_relative_to_its_page(self):
        self.assert_one({"docs/howto/more.md": "[way](way.md)\n"}, "docs/howto/more.md:1", "way.md")

    def test_an_anchor_without_a_heading_is_found(self):
        self.assert_one({"docs/more.md": "[way](way.md#in-the-target)\n"}, "docs/more.md:1", "in-the-target")

    def test_files_and_directories_that_are_not_there_are_found(self):
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

    def test_words_that_the_sources_may_not_have_are_found_in_pages_but_not_in_code(self):
        layers = {"tools/layers.txt": 'refused-text "stands? still" "whoever": is stopped, anyone who\n'}
        self.assertEqual(self.violations(layers), [])
        self.assert_one({**layers, "docs/howto/use.md": "`whoever`\nIt stands\nstill.\n"}, "docs/howto/use.md:2", "is stopped")
        self.assert_one({**layers, "docs/x.json": '{"description": "whoever"}\n'}, "docs/x.json:1")

    def test_the_architecture_is_short(self):
        page = "a | b – c " * 400
        self.assertEqual(self.violations({"docs/architecture.md": page}), [])
        self.assert_one({"docs/architecture.md": page + "one"}, "1201 words")

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
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(check_docs.check_tree(pathlib.Path(directory)), ([], 0))


FORMAT = """constexpr uint16_t kMajorVersion = 2;
constexpr uint32_t kMaxBytes = 64u << 20;
static constexpr std::chrono::milliseconds kPause{1'500};
constexpr char kMagic[9] = "MAGIC";
enum class Kind : uint8_t {
  kHello = 1,  // first
  kBye = 7,
};
"""
COMMANDS = """constexpr std::array kCommands{NamedCommand{"run", parse_run}, NamedCommand{"show", parse_show}};
set.flag("--json", json); set.flag("--keep", keep); member("format", "heaptap-show");
"""
PAGE = """# Format
Version 2, 64 MiB, 1,500 ms.
## Kinds
| number | name |
|---|---|
| 1 | hello |
| 7 | bye |
## Others
| 9 | no kind |
"""
FACTS = (
    doc_facts.Fact("docs/format.md", r"Version (\d+)", ("kMajorVersion",), "kMagic"),
    doc_facts.Fact("docs/format.md", r"(\d+) MiB, ([\d,]+) ms", ("kMaxBytes", "kPause"), units=(1 << 20, 1)),
)
NUMBERS = (doc_facts.Numbers("docs/format.md", "## Kinds", (doc_facts.FIRST_CELL,), (("enum class Kind", "kMagic"),)),)
SOUND = {
    "src/any/format.h": FORMAT,
    "src/second/message.h": "constexpr uint32_t kMajorVersion = 5;\n",
    "src/apps/heaptap/commands.cc": COMMANDS,
    "README.md": CLEAN["README.md"] + "`heaptap run [--no-keep] PROGRAM`, `heaptap show` prints; heaptap shows.\n",
    "docs/format.md": PAGE,
    "docs/man/heaptap-run.1.scd": "*heaptap run* _PROGRAM_, as *heaptap-show*(1)\n",
    "docs/man/heaptap-show.1.scd": "*heaptap show* _VIEW_\n",
}


@unittest.mock.patch.object(doc_facts, "NUMBERS", NUMBERS)
@unittest.mock.patch.object(doc_facts, "FACTS", FACTS)
class DocFacts(Checkout):
    def violations(self, files=None):
        return super().violations({**SOUND, **(files or {})})

    def test_a_sound_checkout_has_no_violation(self):
        self.assertEqual(self.violations(), [])

    def assert_page(self, old, new, *words):
        """The page says something else, which is found."""
        self.assertIn(old, PAGE)
        self.assert_one({"docs/format.md": PAGE.replace(old, new)}, "docs/format.md", *words)

    def test_constants_are_those_of_the_file_that_is_meant(self):
        self.assert_page("Version 2", "Version 5", "it says 5; kMajorVersion is 2")

    def test_figures_have_units(self):
        self.assert_page("64 MiB", "32 MiB", "it says 32; kMaxBytes is 64")
        self.assert_page("1,500 ms", "1,600 ms", "it says 1,600; kPause is 1,500")

    def test_a_statement_that_is_gone_is_missed(self):
        self.assert_page("Version 2", "Edition 2", "kMajorVersion", "any more")

    def test_a_constant_that_is_gone_is_missed(self):
        self.assert_one({"src/any/format.h": FORMAT.replace("kMaxBytes", "kMostBytes")}, "kMaxBytes is nowhere")

    def test_a_table_has_each_number_of_an_enumeration_and_no_other(self):
        self.assert_page("| 7 | bye |\n", "", "7 of Kind is missing")
        self.assert_page("| 7 | bye |", "| 7, 8 | bye |", "8 is no Kind")

    def test_names_of_the_project_are_there(self):
        page = "`kMaxBytes`, `Kind::kBye`, `some_test`, `kOfTests`, `any::Kind::kHello()`, `operator_new`\n"
        there = {"tests/unit/some_test.cc": "", "tests/support/some.h": "int kOfTests;\n", "docs/more.md": page}
        self.assertEqual(self.violations(there), [])
        for name in ("kMinBytes", "Kind::kLater", "Gone::make()", "other_test"):
            with self.subTest(name):
                self.assert_one({"docs/more.md": f"# More\n`{name}`\n"}, "docs/more.md:2", "nothing is called")

    def test_commands_of_pages_are_commands(self):
        for text in ("`heaptap shwo FILE`\n", "```\n$ heaptap shwo FILE\n```\n", "    host$   heaptap run\n    heaptap shwo\n"):
            with self.subTest(text):
                self.assert_one({"docs/howto/more.md": text}, "docs/howto/more.md", "heaptap has no command shwo")
        self.assert_one({"docs/man/heaptap-show.1.scd": "*heaptap shwo* _VIEW_\n"}, "heaptap-show.1.scd:1", "no command shwo")

    def test_options_of_pages_are_options(self):
        self.assert_one({"docs/howto/more.md": "`heaptap show --jsno`\n"}, "docs/howto/more.md:1", "heaptap has no option --jsno")
        others = "`heaptap run --keep -- program --its-own` `valgrind --xml` `heaptap run ./a --gtest_filter=x`\n"
        others += "    heaptap show | less --raw\n"
        self.assertEqual(self.violations({"docs/howto/more.md": others}), [])

    def test_each_command_is_in_the_readme_and_has_a_page(self):
        self.assert_one({"README.md": SOUND["README.md"].replace("`heaptap show`", "`show`")}, "README.md", "command show is missing")
        commands = COMMANDS.replace("parse_show}", 'parse_show}, NamedCommand{"top", parse_top}')
        readme = SOUND["README.md"] + "`heaptap top`\n"
        self.assert_one({"src/apps/heaptap/commands.cc": commands, "README.md": readme}, "heaptap-top.1.scd", "no page")

    def test_manual_pages_name_pages_that_are_there(self):
        self.assert_one({"docs/man/heaptap.1.scd": "*heaptap-shwo*(1), *malloc*(3)\n"}, "heaptap.1.scd:1", "no page heaptap-shwo(1)")

    def test_versions_of_documents_are_those_that_are_written(self):
        writer = {"src/apps/heaptap/writer.cc": 'json.member("format", "heaptap-top");\n  json.member("version", 1);\n'}
        self.assertEqual(self.violations({**writer, "docs/json.md": "`heaptap-top`, version 1\n"}), [])
        self.assert_one({**writer, "docs/json.md": "`heaptap-top`, version 2\n"}, "docs/json.md:1", "has version 1")

    def test_the_architecture_names_each_floor_of_the_sources(self):
        page = "# Architecture\n## Floors\n| floor |\n|---|\n| `any` every side |\n| `second` x |\n| `apps` x |\n| `core` x |\n"
        self.assertEqual(self.violations({"docs/architecture.md": page}), [])
        self.assert_one({"docs/architecture.md": page.replace("| `second` x |\n", "")}, "docs/architecture.md", "second is missing")

    def test_the_architecture_names_each_room(self):
        page = "## Floors\n| `any` |\n| `second` |\n| `apps` |\n| `core` | `log` |\n"
        self.assertEqual(self.violations({"docs/architecture.md": page, "tools/layers.txt": "floor core:\nroom core/log:\n"}), [])
        self.assert_one({"docs/architecture.md": page, "tools/layers.txt": "floor core:\nroom core/trie:\n"}, "core/trie is missing")

    def test_values_are_whole_numbers_and_signs(self):
        for text, value in (("size_t{64} << 10", 65536), ("uint64_t{1}", 1), ("50'000", 50000), ("0x5246u", 0x5246),
                            ("std::chrono::seconds(60)", 60), ("64u << 20", 64 << 20), ("sizeof(x)", None), ("kOther + 1", None),
                            ('"text"', None)):
            with self.subTest(text):
                self.assertEqual(doc_facts.value_of(text), value)


if __name__ == "__main__":
    unittest.main()
