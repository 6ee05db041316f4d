#!/usr/bin/env python3
"""What clang-tidy has to look at again: code that changed, and no file that only moved or says the same in other words."""

import pathlib
import tempfile
import unittest

import check_tidy

BEFORE = '''// Rows of a table.
#include "base/result.h"

namespace heaptap::collect {

// Reads one row.
base::Result<Row> read(const trace::Reader& reader, char end = '"') {
  if (!reader) return base::fail("there is no row: {}", end);  // it was cut
  return Row{reader.next()};
}

}  // namespace heaptap::collect
'''


class SameCode(unittest.TestCase):
    def is_same(self, after, name="row.cc"):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / name
            file.write_text(after, encoding="utf-8")
            return check_tidy.has_same_code(BEFORE, file)

    def test_a_move_to_another_room_is_no_change(self):
        moved = BEFORE.replace("collect", "ingest").replace('"base/result.h"', '"common/base/result.h"')
        self.assertTrue(self.is_same(moved.replace("const trace::Reader&", "const record::trace::Reader&")))

    def test_other_words_are_no_change(self):
        self.assertTrue(self.is_same(BEFORE.replace("there is no row: {}", "no row: {}").replace("// it was cut", "")))
        self.assertTrue(self.is_same(BEFORE.replace('"there is no row: {}", end', '"there is "\n        "no row: {}",\n        end')))

    def test_other_code_is_a_change(self):
        for before, after in (("!reader", "reader"), ("Row{", "Rows{"), ("'\"'", "'x'"), ("return Row", "Row"),
                              ('"there is no row: {}", end', '"there is no row"'), ("const ", "")):
            with self.subTest(after):
                self.assertFalse(self.is_same(BEFORE.replace(before, after)))

    def test_a_file_that_is_no_source_is_a_change(self):
        self.assertFalse(self.is_same(BEFORE, "row.txt"))
        self.assertFalse(check_tidy.has_same_code(BEFORE, pathlib.Path("/nonexistent/row.cc")))


if __name__ == "__main__":
    unittest.main()
