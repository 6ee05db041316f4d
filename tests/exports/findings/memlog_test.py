"""memlog's numbered files: what is outstanding, and the changes, which sum up to it."""
import re
import unittest

import findings
from findings import heaptap


class Memlog(findings.TestCase):
    def read(self, text):
        """(outstanding, change), and (change, frames) of each stack."""
        head, _, rest = text.partition("\n")
        outstanding, change = re.fullmatch(r"(-?\d+) \(([+-]\d+)\)", head).groups()
        stacks = re.findall(r"^([+-]\d+)\n((?:\t.*\n)+)", rest, re.MULTILINE)
        self.assertEqual("".join(f"{change}\n{lines}" for change, lines in stacks), rest)
        return (int(outstanding), int(change)), [(int(change), lines) for change, lines in stacks]

    def export_next(self, *options):
        outcome = heaptap("export", "--to", "memlog", *options, self.trace, cwd=self.folder)
        self.assertEqual(outcome.status, 0, str(outcome))
        return (self.folder / outcome.stdout.decode().rstrip("\n")).resolve()

    def test_the_first_file_has_all_that_is_outstanding(self):
        report = self.record("leak_shop")
        file = self.export_next()
        self.assertEqual(file.name, f"leak_shop-{report['target']['pid']}-1.memlog")
        (outstanding, change), stacks = self.read(file.read_text())
        self.assertEqual((outstanding, change), (report["totals"]["live_bytes"],) * 2)
        self.assertEqual(sum(bytes for bytes, _ in stacks), outstanding)
        self.assertEqual([bytes for bytes, _ in stacks], sorted((bytes for bytes, _ in stacks), reverse=True))
        receipt = next(lines for bytes, lines in stacks if lines.startswith("\tmalloc\n\tprint_receipt"))
        self.assertRegex(receipt, r"^\tmalloc\n\tprint_receipt\(int\) \(/\S+/leak_shop\)\n\tmain \(")

    def test_the_next_files_have_the_changes(self):
        report = self.record("leak_shop")
        seats = self.export_next("--function", "reserve")
        (part, _), _ = self.read(seats.read_text())
        whole = self.export_next()
        (outstanding, change), stacks = self.read(whole.read_text())
        self.assertEqual((outstanding, change), (report["totals"]["live_bytes"], report["totals"]["live_bytes"] - part))
        self.assertFalse(any("reserve" in lines for _, lines in stacks))
        (outstanding, change), stacks = self.read(self.export_next("--function", "reserve").read_text())
        self.assertEqual(outstanding, part)
        self.assertEqual(change, part - report["totals"]["live_bytes"])
        self.assertTrue(stacks and all(bytes < 0 for bytes, _ in stacks))
        self.assertEqual(self.read(self.export_next("--function", "reserve").read_text()), ((part, 0), []))
        self.assertEqual(sorted(file.name.rpartition("-")[2] for file in self.folder.glob("*.memlog")), [f"{n}.memlog" for n in (1, 2, 3, 4)])

    def test_files_are_written_into_the_directory_named(self):
        self.record("leak_shop")
        (self.folder / "logs").mkdir()
        self.assertEqual(self.export_next("-o", "logs").parent.name, "logs")
        outcome = heaptap("export", "--to", "memlog", "-o", "there_is_none", self.trace, cwd=self.folder)
        self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))

    def test_hostile_names(self):
        (outstanding, _), stacks = self.read(self.hostile("memlog").decode())
        self.assertEqual((outstanding, len(stacks)), (findings.HOSTILE_BYTES, findings.HOSTILE_NAMES))
        self.assertEqual([lines.count("\n") for _, lines in stacks], [2] * len(stacks))


if __name__ == "__main__":
    unittest.main()
