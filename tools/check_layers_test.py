#!/usr/bin/env python3
"""The layer checker finds each kind of violation, and leaves a clean tree alone."""

import pathlib
import tempfile
import unittest

import check_layers

RULES = """
layer wire:
layer unwind: wire
layer agent: unwind wire
layer rooms/base:
layer rooms/symbols: rooms/base
layer rooms/app: rooms/symbols rooms/base
freestanding wire agent
freestanding-header stdint.h linux/*
door agent/preload_*: dlfcn.h
only rooms/symbols: elfutils/*
only-call agent/* rooms/base/unique_fd.h: close
"""

CLEAN = {
    "src/wire/log.h": "#include <stdint.h>\n",
    "src/unwind/row.h": '#include "wire/log.h"\n',
    "src/unwind/cfi.h": '#include "wire/log.h"\n',
    "src/agent/recorder.cc": '#include <linux/futex.h>\n#include "unwind/row.h"\n#include "wire/log.h"\n',
    "src/agent/hook.cc": '#include "heaptap/heaptap.h"\n',
    "src/agent/preload_entry.cc": '#include <dlfcn.h>\n#include "hook.h"\n',
    "src/agent/hook.h": "",
    "src/rooms/base/result.h": "#include <string>\n",
    "src/rooms/symbols/resolver.cc": '#include <elfutils/libdwfl.h>\n#include "rooms/base/result.h"\n',
    "src/rooms/app/main.cc": "",
    "src/rooms/app/show.cc": '#include "rooms/symbols/resolver.h"\n#include "rooms/base/result.h"\n',
    "src/rooms/symbols/resolver.h": "",
    "include/heaptap/heaptap.h": "",
}


class CheckLayers(unittest.TestCase):
    def violations(self, files=None, rules=RULES):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
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

    def test_an_include_of_a_layer_that_is_not_named_is_found_with_its_line(self):
        found = self.violations({"src/unwind/row.h": '\n  #  include "agent/hook.h"\n'})
        self.assert_one(found, "src/unwind/row.h:2", "unwind may not include agent")

    def test_an_agent_file_may_not_include_other_rooms(self):
        found = self.violations({"src/agent/hook.cc": '#include "rooms/base/result.h"\n'})
        self.assert_one(found, "agent may not include rooms/base")

    def test_a_way_around_through_the_parent_folder_is_found(self):
        found = self.violations({"src/agent/hook.cc": '#include "../rooms/base/result.h"\n'})
        self.assert_one(found, "agent may not include rooms/base")

    def test_a_freestanding_layer_may_not_include_a_libc_header(self):
        found = self.violations({"src/agent/hook.cc": "#include <stdlib.h>\n"})
        self.assert_one(found, "freestanding", "<stdlib.h>")

    def test_a_door_may_include_its_headers_and_no_others(self):
        found = self.violations({"src/agent/preload_entry.cc": "#include <dlfcn.h>\n#include <stdio.h>\n"})
        self.assert_one(found, "preload_entry.cc:2", "<stdio.h>")

    def test_a_header_of_one_layer_alone_is_refused_elsewhere(self):
        found = self.violations({"src/rooms/app/main.cc": "#include <elfutils/libdwfl.h>\n"})
        self.assert_one(found, "only rooms/symbols", "elfutils/libdwfl.h")

    def test_a_header_of_one_file_alone_is_refused_in_other_files_of_its_folder(self):
        rules = RULES + "only rooms/app/option_*.cc: CLI/*\n"
        text = "#include <CLI/CLI.hpp>\n"
        files = {"src/rooms/app/option_set.cc": text}
        self.assertEqual(self.violations(files, rules=rules), [])
        found = self.violations({**files, "src/rooms/app/main.cc": text}, rules=rules)
        self.assert_one(found, "src/rooms/app/main.cc:1", "only rooms/app/option_*.cc may include <CLI/CLI.hpp>")

    def test_a_header_of_no_layer_is_refused_everywhere(self):
        found = self.violations({"src/rooms/app/main.cc": "#include <nlohmann/json.hpp>\n"}, RULES + "only: nlohmann/*\n")
        self.assert_one(found, "no layer", "nlohmann/json.hpp")

    def test_a_folder_without_a_layer_is_found(self):
        found = self.violations({"src/rooms/extra/thing.cc": ""})
        self.assert_one(found, "src/rooms/extra/thing.cc", "not in layers.txt")

    def test_a_quoted_include_that_leads_nowhere_is_found(self):
        found = self.violations({"src/rooms/base/result.h": '#include "zstd.h"\n'})
        self.assert_one(found, "zstd.h")

    def test_a_call_of_a_function_that_others_may_call_is_found_with_its_line(self):
        for call in ("close(fd);", "::close(fd);", "(void)close(fd);", "return close(fd);", "return ::close(fd);",
                     "if (close (fd) != 0) {}", "x = fd > 0 ? close(fd) : 0;", "if (0 > close(fd)) {}", "a.b(); close(fd);"):
            with self.subTest(call):
                found = self.violations({"src/rooms/app/main.cc": f"void f(int fd) {{\n  {call}\n}}\n"})
                self.assert_one(found, "src/rooms/app/main.cc:2", "only agent/*, rooms/base/unique_fd.h", "close()")

    def test_a_call_is_found_behind_comments_and_literals_that_look_like_their_ends(self):
        text = "const char* a = \"\\\"//\";\n/* '\n */ auto n = 1'000;\nconst char c = '\"';\nint x = close(1);\n"
        self.assert_one(self.violations({"src/rooms/app/main.cc": text}), "main.cc:5")

    def test_those_that_may_call_it_do(self):
        text = "void f() { ::close(1); close(2); }\n"
        self.assertEqual(self.violations({"src/agent/hook.cc": text, "src/rooms/base/unique_fd.h": text}), [])

    def test_methods_and_other_names_are_not_that_function(self):
        for text in ("file.close();", "file->close();", "file\n    .close();", "do_close(1);", "closes(1);", "close_all(1);",
                     "// close(1)", "/* close(1);\n   ::close(2); */", 'say("close(1)");', "auto f = &close;",
                     "fclose(stream);", "File::close(1);"):
            with self.subTest(text):
                self.assertEqual(self.violations({"src/rooms/app/main.cc": f"void f() {{ {text} \n}}\n"}), [])

    def test_a_files_own_function_of_that_name_is_not_that_function(self):
        own = "  base::Result<> close(Entry entry) {\n    return {};\n  }\n  auto f() { return close(Entry()); }\n"
        self.assertEqual(self.violations({"src/rooms/app/main.cc": own}), [])
        self.assertEqual(self.violations({"src/rooms/app/main.cc": "void File::close() {}\nvoid File::f() { close(); }\n"}), [])
        found = self.violations({"src/rooms/app/main.cc": own + "void g() { ::close(1); }\n"})
        self.assert_one(found, "main.cc:5")

    PROSE = RULES + """
prose rooms/app
prose-call fail make_error
prose-file rooms/base/check.h
prose-literal <signal handler called>
"""

    PERMITTED = {
        "src/rooms/base/check.h": 'auto said = "the promise was broken";\n',
        "src/rooms/base/frame.h": 'auto name = "<signal handler called>";\n',
    }

    def sentences(self, text, path="src/rooms/symbols/names.cc"):
        return self.violations({**self.PERMITTED, path: text}, rules=self.PROSE)

    def test_a_sentence_that_is_permitted_and_not_there_is_found(self):
        found = self.violations({"src/rooms/base/check.h": self.PERMITTED["src/rooms/base/check.h"]}, rules=self.PROSE)
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
                     '// the table was full', '/* "the table was full" */', "#error this CPU has no \"folder of its\" own",
                     'f("<signal handler called>");', 'f(\'"\'); // the table was "full" then'):
            with self.subTest(text):
                self.assertEqual(self.sentences(f"void f() {{\n{text}\n}}\n"), [])

    def test_who_may_speak_speaks(self):
        text = 'void f() { say("the table was full"); }\n'
        self.assertEqual(self.sentences(text, "src/rooms/app/main.cc"), [])
        self.assertEqual(self.sentences(text, "src/rooms/base/check.h"), [])
        self.assertEqual(self.violations({"src/rooms/symbols/names.cc": text}), [])  # without such a rule

    def test_a_refused_name_is_found_in_code_alone(self):
        rules = RULES + "refused kMost* *Helper\n"
        for text in ("constexpr int kMostBlocks = 3;\n", "class ScanHelper {};\n"):
            with self.subTest(text):
                self.assert_one(self.violations({"src/wire/more.h": "#pragma once\n" + text}, rules=rules), "more.h:2", "refuses")
        harmless = '// kMostBlocks\nconst char* text = "kMostBlocks"; int almost_kMost = 0, Helpers = 0;\n'
        self.assertEqual(self.violations({"src/wire/more.h": harmless}, rules=rules), [])

    TEXTS = RULES + r'''
refused-text "let go" "folders?": detach, directory
refused-message "is no (?!longer)\w+": is not a
'''

    def test_a_refused_phrase_is_found_in_literals_and_comments_with_its_line_and_the_words_in_its_place(self):
        for text, line, phrase in (("// Then all is let go of.\n", 2, "let go"), ("/* a\n * Folder */\n", 3, "Folder"),
                                   ('const char* a = "\\nfolder";\n', 2, "folder"), ("// is let\n// go of\n", 2, "let go"),
                                   ('const char* a = "is let "\n  "go";\n', 2, "let go"), ("int a;  // its folders\n", 2, "folders")):
            with self.subTest(text):
                found = self.violations({"src/wire/more.h": "#pragma once\n" + text}, rules=self.TEXTS)
                self.assert_one(found, f"more.h:{line}:", f'"{phrase}"', "instead: detach, directory")

    def test_a_refused_message_is_found_in_literals_alone(self):
        found = self.violations({"src/wire/more.h": 'f("\'{}\' is no PID");\n'}, rules=self.TEXTS)
        self.assert_one(found, "more.h:1:", '"is no PID"', "is not a")
        harmless = '// It is no PID.\nf("it is no longer there");\n'
        self.assertEqual(self.violations({"src/wire/more.h": harmless}, rules=self.TEXTS), [])

    def test_names_in_code_and_of_files_are_no_texts(self):
        harmless = '#include "wire/folders.h"\nint folder = 0, let_go = own_folder;  // wire/folders.h, key_folder.h, folder.cc\n'
        files = {"src/wire/folders.h": "", "src/wire/more.h": harmless}
        self.assertEqual(self.violations(files, rules=self.TEXTS), [])

    def test_a_line_may_name_only_lines_above(self):
        found = self.violations(rules="layer wire: agent\nlayer agent:\n")
        self.assert_one(found, "wire names agent")

    def test_what_is_allowed_and_not_made_use_of_is_found_with_its_line(self):
        for line, words in (("layer rooms/more: rooms/base", "rooms/more may include rooms/base"),
                            ("freestanding-header array", "<array>"), ("freestanding-header asm/*", "<asm/*>"),
                            ("door agent/preload_*: errno.h", "agent/preload_* may include <errno.h>"),
                            ("only rooms/app: CLI/*", "rooms/app may include <CLI/*>"),
                            ("only rooms/app/main.cc: CLI/*", "rooms/app/main.cc may include <CLI/*>")):
            with self.subTest(line):
                number = len(RULES.splitlines()) + 1
                self.assert_one(self.violations(rules=RULES + line + "\n"), f"layers.txt:{number}:", words, "and doesn't")

    def test_a_pattern_that_one_of_several_folders_makes_no_use_of_is_found(self):
        self.assert_one(self.violations(rules=RULES.replace("only rooms/symbols:", "only rooms/symbols rooms/app:")), "rooms/app may")

    def test_a_freestanding_folder_without_a_layer_is_an_error(self):
        self.assert_one(self.violations(rules=RULES + "freestanding kernel\n"), "no line above defines kernel")

    def test_a_line_that_is_not_understood_is_an_error(self):
        self.assert_one(self.violations(rules=RULES + "lair agent\n"), "not understood")
        self.assert_one(self.violations(rules=RULES + "only-call agent/*\n"), "not understood")
        self.assert_one(self.violations(rules=RULES + 'refused-text "folder":\n'), "not understood")
        self.assert_one(self.violations(rules=RULES + "refused-text folder: directory\n"), "not understood")


if __name__ == "__main__":
    unittest.main()
