"""CSV, read by Python's csv module."""
import csv
import io
import unittest

import findings
from findings import heaptap_test

MAPPING = ("mmap", "mmap64", "mremap")


class Csv(findings.TestCase):
    def read(self, data):
        text = data.decode()
        self.assertEqual(text.count("\r\n"), text.count("\n"))
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    def test_columns_sum_up_to_the_totals(self):
        report = self.record("leak_shop")
        rows = self.read(self.export("csv"))
        self.assertEqual(len(rows), len(report["stacks"]))
        heap = [row for row in rows if row["mapping"] == "0"]
        for column in ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "temporary_allocations"):
            self.assertEqual(sum(int(row[column]) for row in heap), report["totals"][column], column)
        self.assertEqual(sum(int(row["peak_bytes"]) for row in heap), report["totals"]["peak_live_bytes"])
        for kind, (blocks, size) in findings.lost_by_kind(report).items():
            self.assertEqual((sum(int(row[f"{kind}_blocks"]) for row in rows), sum(int(row[f"{kind}_bytes"]) for row in rows)), (blocks, size))
        receipt = next(row for row in rows if row["definite_bytes"] == "64")
        self.assertEqual((receipt["caller"], receipt["function"]), ("print_receipt(int)", "malloc"))
        self.assertTrue(receipt["file"].endswith("leak_shop.cc") and int(receipt["line"]) > 0)

    def test_what_is_not_known_is_empty(self):
        self.record("leak_shop", "--aggregate")
        rows = self.read(self.export("csv"))
        self.assertEqual({row["definite_bytes"] for row in rows} | {row["peak_bytes"] for row in rows}, {""})

    def test_hostile_names_are_no_formulas(self):
        rows = self.read(self.hostile("csv"))
        self.assertEqual(sum(int(row["definite_bytes"]) for row in rows), findings.HOSTILE_BYTES)
        formula = {name: "'" + name for name in findings.SAFE_NAMES if name[0] in "=+-@"}
        self.assertEqual(len(formula), 2)
        self.assertEqual([row["caller"] for row in rows], [formula.get(name, name) for name in findings.SAFE_NAMES])
        for row in rows:
            self.assertFalse(any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for cell in row.values() if cell))


if __name__ == "__main__":
    unittest.main()
