#!/usr/bin/env python3
"""The layer checker finds each kind of violation, and leaves a clean tree alone."""

import pathlib
import tempfile
import unittest

import check_layers

RULES = """
floor common:
room common/wire:
room common/unwind: wire
room common/base:
floor agent: common
room agent/core:
floor analysis: common
room analysis/symbols:
room analysis/query: symbols
floor apps: analysis common
room apps/heaptap:
room apps/small:
floor apps/small: common
freestanding common/wire common/unwind agent/core
freestanding-header stdint.h linux/*
door agent/core/preload_*: dlfcn.h
only analysis/symbols: elfutils/*
only-call agent/* common/base/unique_fd.h: close
"""

CLEAN = {
    "src/common/wire/log.h": "#include <stdint.h>\n",
    "src/common/unwind/row.h": '#include "common/wire/log.h"\n',
    "src/common/unwind/cfi.h": '#include "common/wire/log.h"\n',
    "src/agent/core/recorder.cc": '#include <linux/futex.h>\n#include "common/unwind/row.h"\n#include "common/wire/log.h"\n',
    "src/agent/core/hook.cc": '#include "heaptap/heaptap.h"\n',
    "src/agent/core/preload_entry.cc": '#include <dlfcn.h>\n#include "hook.h"\n',
    "src/agent/core/hook.h": "",
    "src/common/base/result.h": "#include <string>\n",
    "src/analysis/symbols/resolver.cc": '#include <elfutils/libdwfl.h>\n#include "common/base/result.h"\n',
    "src/analysis/query/query.cc": '#include "analysis/symbols/resolver.h"\n',
    "src/apps/heaptap/main.cc": "",
    "src/apps/heaptap/show.cc": '#include "analysis/symbols/resolver.h"\n#include "common/base/result.h"\n',
    "src/apps/small/main.cc": '#include "common/base/result.h"\n',
    "src/analysis/symbols/resolver.h": "",
    "include/heaptap/heaptap.h": "",
}


class CheckLayers(unittest.TestCase):
    def violations(self, files=None, rules=RULES):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for name, text in {**CLEAN, **(files or {}), "tools/layers.txt": rules}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_layers.check_tree(root)[0]

    def assert_one(self, violations, *words):
        self.assertEqual(len(violations), 1, violations)
        for word in words:
            self.assertIn(word, violations[0])

    def test_a_clean_tree_has_no_violation(self):
        self.assertEqual(self.violations(), [])

    def test_an_include_of_a_floor_above_is_found_with_its_line(self):
        found = self.violations({"src/common/unwind/row.h": '\n  #  include "agent/core/hook.h"\n'})
        self.assert_one(found, "src/common/unwind/row.h:2", "common may not include agent")

    def test_a_room_of_the_same_floor_has_to_be_named(self):
        found = self.violations({"src/common/base/result.h": '#include "common/wire/log.h"\n'})
        self.assert_one(found, "common/base may not include common/wire")

    def test_a_room_may_have_fewer_floors_than_its_own_one(self):
        found = self.violations({"src/apps/small/main.cc": '#include "analysis/symbols/resolver.h"\n#include "common/base/result.h"\n'})
        self.assert_one(found, "apps/small may not include analysis")

    def test_an_agent_file_may_not_include_other_rooms(self):
        found = self.violations({"src/agent/core/hook.cc": '#include "common/base/result.h"\n'})
        self.assert_one(found, "agent/core is freestanding and may not include common/base")

    def test_a_way_around_through_the_parent_directory_is_found(self):
        found = self.violations({"src/agent/core/hook.cc": '#include "../../common/base/result.h"\n'})
        self.assert_one(found, "agent/core is freestanding and may not include common/base")

    def test_a_freestanding_room_may_not_include_a_libc_header(self):
        found = self.violations({"src/agent/core/hook.cc": "#include <stdlib.h>\n"})
        self.assert_one(found, "freestanding", "<stdlib.h>")

    def test_a_door_may_include_its_headers_and_no_others(self):
        found = self.violations({"src/agent/core/preload_entry.cc": "#include <dlfcn.h>\n#include <stdio.h>\n"})
        self.assert_one(found, "preload_entry.cc:2", "<stdio.h>")

    def test_a_header_of_one_room_alone_is_refused_elsewhere(self):
        found = self.violations({"src/apps/heaptap/main.cc": "#include <elfutils/libdwfl.h>\n"})
        self.assert_one(found, "only analysis/symbols", "elfutils/libdwfl.h")

    def test_a_header_of_one_file_alone_is_refused_in_other_files_of_its_directory(self):
        rules = RULES + "only apps/heaptap/option_*.cc: CLI/*\n"
        text = "#include <CLI/CLI.hpp>\n"
        files = {"src/apps/heaptap/option_set.cc": text}
        self.assertEqual(self.violations(files, rules=rules), [])
        found = self.violations({**files, "src/apps/heaptap/main.cc": text}, rules=rules)
        self.assert_one(found, "src/apps/heaptap/main.cc:1", "only apps/heaptap/option_*.cc may include <CLI/CLI.hpp>")

    def test_headers_of_our_own_may_be_for_some_files_alone(self):
        rules = RULES + "only analysis/query apps/heaptap/sh*.cc: analysis/symbols/*\n"
        self.assertEqual(self.violations(rules=rules), [])
        found = self.violations({"src/apps/heaptap/main.cc": '#include "analysis/symbols/resolver.h"\n'}, rules=rules)
        self.assert_one(found, "src/apps/heaptap/main.cc:1", "apps/heaptap/sh*.cc may include <analysis/symbols/resolver.h>")

    def test_a_header_of_no_room_is_refused_everywhere(self):
        found = self.violations({"src/apps/heaptap/main.cc": "#include <nlohmann/json.hpp>\n"}, RULES + "only: nlohmann/*\n")
        self.assert_one(found, "no room", "nlohmann/json.hpp")

    def test_a_directory_without_a_room_is_found(self):
        found = self.violations({"src/apps/extra/thing.cc": ""})
        self.assert_one(found, "src/apps/extra/thing.cc", "not in layers.txt")

    def test_a_quoted_include_that_leads_nowhere_is_found(self):
        found = self.violations({"src/common/base/result.h": '#include "zstd.h"\n'})
        self.assert_one(found, "zstd.h")

    def test_a_call_of_a_function_that_others_may_call_is_found_with_its_line(self):
        for call in ("close(fd);", "::close(fd);", "(void)close(fd);", "return close(fd);", "return ::close(fd);",
                     "if (close (fd) != 0) {}", "x = fd > 0 ? close(fd) : 0;", "if (0 > close(fd)) {}", "a.b(); close(fd);"):
            with self.subTest(call):
                found = self.violations({"src/apps/heaptap/main.cc": f"void f(int fd) {{\n  {call}\n}}\n"})
                self.assert_one(found, "src/apps/heaptap/main.cc:2", "only agent/*, common/base/unique_fd.h", "close()")

    def test_a_call_is_found_behind_comments_and_literals_that_look_like_their_ends(self):
        text = "const char* a = \"\\\"//\";\n/* '\n */ auto n = 1'000;\nconst char c = '\"';\nint x = close(1);\n"
        self.assert_one(self.violations({"src/apps/heaptap/main.cc": text}), "main.cc:5")

    def test_those_that_may_call_it_do(self):
        text = "void f() { ::close(1); close(2); }\n"
        self.assertEqual(self.violations({"src/agent/core/hook.cc": text, "src/common/base/unique_fd.h": text}), [])

    def test_methods_and_other_names_are_not_that_function(self):
        for text in ("file.close();", "file->close();", "file\n    .close();", "do_close(1);", "closes(1);", "close_all(1);",
                     "// close(1)", "/* close(1);\n   ::close(2); */", 'say("close(1)");', "auto f = &close;",
                     "fclose(stream);", "File::close(1);"):
            with self.subTest(text):
                self.assertEqual(self.violations({"src/apps/heaptap/main.cc": f"void f() {{ {text} \n}}\n"}), [])

    def test_a_files_own_function_of_that_name_is_not_that_function(self):
        own = "  base::Result<> close(Entry entry) {\n    return {};\n  }\n  auto f() { return close(Entry()); }\n"
        self.assertEqual(self.violations({"src/apps/heaptap/main.cc": own}), [])
        self.assertEqual(self.violations({"src/apps/heaptap/main.cc": "void File::close() {}\nvoid File::f() { close(); }\n"}), [])
        found = self.violations({"src/apps/heaptap/main.cc": own + "void g() { ::close(1); }\n"})
        self.assert_one(found, "main.cc:5")

    PROSE = RULES + """
prose apps/heaptap
prose-call fail make_error
prose-file common/base/check.h
prose-literal <signal handler called>
"""

    PERMITTED = {
        "src/common/base/check.h": 'auto said = "the promise was broken";\n',
        "src/common/base/frame.h": 'auto name = "<signal handler called>";\n',
    }

    def sentences(self, text, path="src/analysis/symbols/names.cc"):
        return self.violations({**self.PERMITTED, path: text}, rules=self.PROSE)

    def test_a_sentence_that_is_permitted_and_not_there_is_found(self):
        found = self.violations({"src/common/base/check.h": self.PERMITTED["src/common/base/check.h"]}, rules=self.PROSE)
        self.assert_one(found, "<signal handler called>")

    def test_a_sentence_that_is_built_below_the_renderers_is_found(self):
        for text in ('notes.push_back("the table was full: later stacks are cut short");',
                     'note(fmt::format("{} blocks were left out", count));',
                     'note(std::to_string(count) + " blocks were left out");',
                     'std::string why = "it has no " "unwind table";',
                     'return is_cut ? "the trace is cut off" : "";',
                     'fail(reason); tell("what was lost is lost");',
                     'if (failed) { tell("what was lost is lost"); }'):
            with self.subTest(text):
                self.assert_one(self.sentences(f"void f() {{\n  {text}\n}}\n"), "names.cc:2", "may not build the sentence")

    def test_an_errors_message_is_none_of_them(self):
        for text in ('return base::fail("can\'t read {}: {}; name another file", path, reason);',
                     'return fail("the trace has {}{}", count, count == 1 ? " no scan" : " more than one scan");',
                     'return std::unexpected(base::make_error("the tracer has ended"));',
                     'return base::fail("no {} in {}",\n     name_of(value(1)), "what was asked for");'):
            with self.subTest(text):
                self.assertEqual(self.sentences(f"void f() {{\n  {text}\n}}\n"), [])

    def test_names_formats_comments_and_paths_are_no_sentences(self):
        for text in ('open("/proc/sys/kernel/yama/ptrace_scope");', 'format("{} ({}, {})", a, b, c);', 'f("operator new");',
                     '// the table was full', '/* "the table was full" */', "#error this CPU has no \"directory of its\" own",
                     'f("<signal handler called>");', 'f(\'"\'); // the table was "full" then'):
            with self.subTest(text):
                self.assertEqual(self.sentences(f"void f() {{\n{text}\n}}\n"), [])

    def test_who_may_speak_speaks(self):
        text = 'void f() { say("the table was full"); }\n'
        self.assertEqual(self.sentences(text, "src/apps/heaptap/main.cc"), [])
        self.assertEqual(self.sentences(text, "src/common/base/check.h"), [])
        self.assertEqual(self.violations({"src/analysis/symbols/names.cc": text}), [])  # without such a rule

    def test_a_refused_name_is_found_in_code_alone(self):
        rules = RULES + "refused kMost* *Helper\n"
        for text in ("constexpr int kMostBlocks = 3;\n", "class ScanHelper {};\n"):
            with self.subTest(text):
                self.assert_one(self.violations({"src/common/wire/more.h": "#pragma once\n" + text}, rules=rules), "more.h:2", "refuses")
        harmless = '// kMostBlocks\nconst char* text = "kMostBlocks"; int almost_kMost = 0, Helpers = 0;\n'
        self.assertEqual(self.violations({"src/common/wire/more.h": harmless}, rules=rules), [])

    TEXTS = RULES + r'''
refused-text "let go" "folders?": detach, directory
refused-message "is no (?!longer)\w+": is not a
'''

    def test_a_refused_phrase_is_found_in_literals_and_comments_with_its_line_and_the_words_in_its_place(self):
        for text, line, phrase in (("// Then all is let go of.\n", 2, "let go"), ("/* a\n * Folder */\n", 3, "Folder"),
                                   ('const char* a = "\\nfolder";\n', 2, "folder"), ("// is let\n// go of\n", 2, "let go"),
                                   ('const char* a = "is let "\n  "go";\n', 2, "let go"), ("int a;  // its folders\n", 2, "folders")):
            with self.subTest(text):
                found = self.violations({"src/common/wire/more.h": "#pragma once\n" + text}, rules=self.TEXTS)
                self.assert_one(found, f"more.h:{line}:", f'"{phrase}"', "instead: detach, directory")

    def test_a_refused_message_is_found_in_literals_alone(self):
        found = self.violations({"src/common/wire/more.h": 'f("\'{}\' is no PID");\n'}, rules=self.TEXTS)
        self.assert_one(found, "more.h:1:", '"is no PID"', "is not a")
        harmless = '// It is no PID.\nf("it is no longer there");\n'
        self.assertEqual(self.violations({"src/common/wire/more.h": harmless}, rules=self.TEXTS), [])

    def test_a_header_begins_with_a_noun(self):
        self.assert_one(self.violations({"src/common/wire/more.h": "// Whose a file is.\n"}), "more.h:1:", '"Whose"')
        others = {"src/common/wire/more.h": "// Owner of a file.\n// Whose it is.\n", "src/common/wire/more.cc": "// How it works.\n"}
        self.assertEqual(self.violations(others), [])

    def test_names_in_code_and_of_files_are_no_texts(self):
        harmless = '#include "common/wire/folders.h"\nint folder = 0, let_go = own_folder;  // wire/folders.h, key_folder.h, folder.cc\n'
        files = {"src/common/wire/folders.h": "", "src/common/wire/more.h": harmless}
        self.assertEqual(self.violations(files, rules=self.TEXTS), [])

    def test_a_line_may_name_only_lines_above(self):
        found = self.violations(rules="floor agent: common\nfloor common:\n")
        self.assert_one(found, "agent names common")
        found = self.violations(rules="floor common:\nroom common/wire: base\nroom common/base:\n")
        self.assert_one(found, "common/wire names common/base")

    def test_a_room_has_a_floor(self):
        found = self.violations(rules="floor common:\nroom agent/core:\n")
        self.assert_one(found, "agent/core is in no floor")

    def test_what_is_allowed_and_not_made_use_of_is_found_with_its_line(self):
        for line, words in (("room analysis/more: symbols", "analysis/more may include analysis/symbols"),
                            ("freestanding-header array", "<array>"), ("freestanding-header asm/*", "<asm/*>"),
                            ("door agent/core/preload_*: errno.h", "agent/core/preload_* may include <errno.h>"),
                            ("only apps/heaptap: CLI/*", "apps/heaptap may include <CLI/*>"),
                            ("only apps/heaptap/main.cc: CLI/*", "apps/heaptap/main.cc may include <CLI/*>")):
            with self.subTest(line):
                number = len(RULES.splitlines()) + 1
                self.assert_one(self.violations(rules=RULES + line + "\n"), f"layers.txt:{number}:", words, "and doesn't")

    def test_a_pattern_that_one_of_several_directories_makes_no_use_of_is_found(self):
        self.assert_one(self.violations(rules=RULES.replace("only analysis/symbols:", "only analysis/symbols apps/heaptap:")), "apps/heaptap may")

    def test_a_freestanding_directory_without_a_room_is_an_error(self):
        self.assert_one(self.violations(rules=RULES + "freestanding kernel\n"), "no line above defines kernel")

    def test_a_line_that_is_not_understood_is_an_error(self):
        self.assert_one(self.violations(rules=RULES + "lair agent\n"), "not understood")
        self.assert_one(self.violations(rules=RULES + "only-call agent/*\n"), "not understood")
        self.assert_one(self.violations(rules=RULES + 'refused-text "folder":\n'), "not understood")
        self.assert_one(self.violations(rules=RULES + "refused-text folder: directory\n"), "not understood")


if __name__ == "__main__":
    unittest.main()
