"""Valgrind's XML, read by Test::Valgrind's parser and by xmllint."""
import unittest

import findings
from findings import HERE, heaptap_test

KINDS = {"definite": "Leak_DefinitelyLost", "indirect": "Leak_IndirectlyLost", "possible": "Leak_PossiblyLost"}


class MemcheckXml(findings.TestCase):
    def read(self, xml):
        self.read_by("xmllint", "--noout", "--nonet", "-", stdin=xml)
        text = self.read_by("perl", HERE / "memcheck_reader.pl", stdin=xml).decode()
        rows = [line.split("\t") for line in text.splitlines()]
        return [(kind, int(blocks), int(size), stack, what, int(frames)) for kind, blocks, size, stack, what, frames in rows]

    def test_leaks_sum_up_to_those_of_the_report(self):
        seen = set()
        for target in ("leak_shop", "leak_interior"):
            report = self.record(target)
            rows = self.read(self.export("memcheck-xml"))
            seen |= {row[0] for row in rows}
            for kind, count in findings.lost_by_kind(report).items():
                of_kind = [row for row in rows if row[0] == KINDS[kind]]
                self.assertEqual((sum(row[1] for row in of_kind), sum(row[2] for row in of_kind)), count, (target, kind))
        self.assertEqual(seen, set(KINDS.values()))

    def test_stacks_begin_with_the_function_that_was_called(self):
        self.record("leak_shop")
        self.assertIn("malloc < print_receipt(int) < main", next(row[3] for row in self.read(self.export("memcheck-xml")) if row[2] == 64 and row[0] == "Leak_DefinitelyLost"))

    def test_bad_releases(self):
        report = self.record("mismatched", "--sanity")
        xml = self.export("memcheck-xml")
        rows = [row for row in self.read(xml) if not row[0].startswith("Leak_")]
        self.assertEqual({row[0] for row in rows}, {"MismatchedFree"})
        self.assertTrue(all(row[5] > 1 for row in rows))
        counts = self.read_by("xmllint", "--xpath", "sum(//errorcounts/pair/count)", "-", stdin=xml)
        self.assertEqual(int(counts), findings.bad_releases(report))
        self.record("bad_free_double", "--sanity", "--leak-scan", statuses=(134,))
        if heaptap_test.summary(self.trace)["leaks"]["scanned"]:
            double = next(row for row in self.read(self.export("memcheck-xml")) if row[0] == "InvalidFree")
            self.assertRegex(double[4], "is 0 bytes inside a block of size 40 free'd")

    def test_without_a_leak_scan_there_is_no_file_that_says_no_leaks(self):
        self.record("leak_shop", "--no-leak-scan")
        self.assertIn("--no-leak-scan", self.refusal("memcheck-xml"))

    def test_doubt_is_in_the_preamble(self):
        self.assertIn(b"<line>Not all leaks are known: events were lost</line>", self.hostile("memcheck-xml", "uncertain"))
        self.assertNotIn(b"Not all leaks", self.hostile("memcheck-xml", "clean"))

    def test_hostile_names(self):
        rows = self.read(self.hostile("memcheck-xml"))
        leaks = [row for row in rows if row[0] == "Leak_DefinitelyLost"]
        self.assertEqual(sum(row[2] for row in leaks), findings.HOSTILE_BYTES)
        names = [name.replace("\ufffe\uffff", "\\xef\\xbf\\xbe\\xef\\xbf\\xbf") for name in findings.SAFE_NAMES]
        self.assertEqual({row[2]: row[3] for row in leaks}, {2 ** index: f"malloc < {name}" for index, name in enumerate(names)})
        self.assertEqual([row[0] for row in rows if row not in leaks], ["InvalidFree"])

    def test_suppressions_suppress_what_they_were_written_for(self):
        self.record("leak_shop")
        raw = self.read_by("xmllint", "--xpath", "//suppression/rawtext/text()", "-", stdin=self.export("memcheck-xml"))
        file = self.directory / "made.supp"
        file.write_bytes(raw.replace(b"&lt;", b"<").replace(b"&gt;", b">").replace(b"&amp;", b"&"))
        rest = self.read(self.export("memcheck-xml", "--suppressions", file))
        self.assertEqual(rest, [])


if __name__ == "__main__":
    unittest.main()
