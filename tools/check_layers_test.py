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
"""

CLEAN = {
    "src/wire/log.h": "#include <stdint.h>\n",
    "src/unwind/row.h": '#include "wire/log.h"\n',
    "src/agent/hook.cc": '#include <linux/futex.h>\n#include "unwind/row.h"\n#include "heaptap/heaptap.h"\n',
    "src/agent/preload_entry.cc": '#include <dlfcn.h>\n#include "hook.h"\n',
    "src/agent/hook.h": "",
    "src/rooms/base/result.h": "#include <string>\n",
    "src/rooms/symbols/resolver.cc": '#include <elfutils/libdwfl.h>\n#include "rooms/base/result.h"\n',
    "src/rooms/app/main.cc": '#include "rooms/symbols/resolver.h"\n',
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

    def test_a_folder_without_a_layer_is_found(self):
        found = self.violations({"src/rooms/extra/thing.cc": ""})
        self.assert_one(found, "src/rooms/extra/thing.cc", "not in layers.txt")

    def test_a_quoted_include_that_leads_nowhere_is_found(self):
        found = self.violations({"src/rooms/base/result.h": '#include "zstd.h"\n'})
        self.assert_one(found, "zstd.h")

    def test_a_line_may_name_only_lines_above(self):
        found = self.violations(rules="layer wire: agent\nlayer agent:\n")
        self.assert_one(found, "wire names agent")

    def test_a_line_that_is_not_understood_is_an_error(self):
        self.assert_one(self.violations(rules=RULES + "lair agent\n"), "not understood")


if __name__ == "__main__":
    unittest.main()
