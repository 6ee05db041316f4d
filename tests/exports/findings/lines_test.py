"""Findings as lines of a compiler, read by the pattern of VS Code's problem matcher $gcc."""
import re
import unittest

import findings
from heaptap_test import heaptap

GCC = re.compile(r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$")


class Lines(findings.TestCase):
    def read(self, text):
        return [match.groups() for match in map(GCC.match, text.splitlines()) if match]

    def test_leaks_sum_up_and_have_places(self):
        report = self.record_source()
        text = self.export("lines").decode()
        read = self.read(text)
        self.assertEqual(len(read), len(text.splitlines()), text)
        counts = [re.match(r"(\d+) bytes? in (\d+) blocks? (?:is|are) (\w+)ly lost", message) for *_, message in read]
        for kind in ("definite", "indirect"):
            of_kind = [count for count in counts if count[3].startswith(kind)]
            self.assertEqual((sum(int(count[2]) for count in of_kind), sum(int(count[1]) for count in of_kind)),
                             findings.lost_by_kind(report)[kind])
        self.assertEqual({(file, severity) for file, _, _, severity, _ in read}, {("src/lost.c", "error")})
        for _, line, column, _, _ in read:
            self.assertTrue(findings.LOST.splitlines()[int(line) - 1][int(column) - 1:].startswith(("malloc(", "(")), (line, column))

    def test_a_source_elsewhere_has_its_whole_path(self):
        self.record_source()
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        read = self.read(self.export("lines", cwd=elsewhere).decode())
        self.assertEqual({file for file, *_ in read}, {str(self.directory / "src/lost.c")})
        (self.directory / "src/lost.c").unlink()
        self.assertEqual(self.read(self.export("lines", cwd=elsewhere).decode()), [])

    def test_a_check_has_its_stacks(self):
        self.record_source()
        outcome = heaptap("check", "--max-leaked", "0", "--lines", self.trace, cwd=self.directory)
        self.assertEqual(outcome.status, 1, str(outcome))
        lines = outcome.stdout.decode().splitlines()
        self.assertEqual(lines[0], "heaptap: error: leaked 96 B, limit 0 B")
        self.assertRegex(lines[1], r"^src/lost\.c:5:\d+: error: leaked \d+ B by malloc \[#\d+\]$")
        outcome = heaptap("check", "--max-leaked", "1K", "--lines", self.trace, cwd=self.directory)
        self.assertEqual((outcome.status, outcome.stdout), (0, b""), str(outcome))

    def test_what_is_unknown_is_said(self):
        for how in ("uncertain", "unscanned"):
            self.assertIn("heaptap: warning: not all leaks are known: ", self.hostile("lines", how).decode())
        self.assertEqual(self.hostile("lines", "clean"), b"")

    def test_any_name_stays_on_its_line(self):
        for line in self.hostile("lines").decode().split("\n")[:-1]:
            self.assertRegex(line, r": (error|warning): ")
            self.assertTrue(line.isprintable() or "￾" in line, line)


if __name__ == "__main__":
    unittest.main()
