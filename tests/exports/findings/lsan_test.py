"""Text like LeakSanitizer's, read as scripts of CI read it: by its lines' patterns."""
import re
import unittest

import findings

LEAK = re.compile(r"^(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\) allocated from:$")
FRAME = re.compile(r"^    #(\d+) 0x[0-9a-f]+ (?:in (.+?) )?(\S+:\d+|\(.+\+0x[0-9a-f]+\)|\S+)$")
SUMMARY = re.compile(r"^SUMMARY: (\w+Sanitizer): (\d+) byte\(s\) leaked in (\d+) allocation\(s\)\.$")


class Lsan(findings.TestCase):
    def read(self, text):
        leaks, summary = [], None
        for line in text.splitlines():
            if found := LEAK.match(line):
                leaks.append((found[1], int(found[3]), int(found[2]), []))
            elif line.startswith("    #"):
                leaks[-1][3].append(line)
            elif found := SUMMARY.match(line):
                summary = (int(found[3]), int(found[2]))
        return leaks, summary

    def test_leaks_sum_up_to_those_of_the_report(self):
        for target in ("leak_shop", "leak_interior"):
            report = self.record(target)
            text = self.export("lsan").decode()
            leaks, summary = self.read(text)
            for word, kind in (("Direct", "definite"), ("Indirect", "indirect")):
                self.assertEqual((sum(leak[1] for leak in leaks if leak[0] == word), sum(leak[2] for leak in leaks if leak[0] == word)),
                                 findings.lost_by_kind(report)[kind], (target, kind))
            self.assertEqual(summary or (0, 0), (sum(leak[1] for leak in leaks), sum(leak[2] for leak in leaks)))
            self.assertEqual(summary is None, not leaks)
            self.assertEqual("ERROR: LeakSanitizer" in text, bool(leaks))
            self.assertTrue(not leaks or f"=={report['target']['pid']}==ERROR: LeakSanitizer: detected memory leaks\n" in text)
            for leak in leaks:
                self.assertTrue(leak[3])
                for number, line in enumerate(leak[3]):
                    self.assertTrue(number == 0 or FRAME.match(line), line)
                    self.assertTrue(line.startswith(f"    #{number} "), line)

    def test_frames_have_files_and_lines(self):
        self.record("leak_shop")
        self.assertRegex(self.export("lsan").decode(), r"    #0 0x0+ in malloc\n    #1 0x[0-9a-f]+ in print_receipt\(int\) /\S+/leak_shop\.cc:\d+\n")

    def test_nothing_is_printed_where_nothing_is_lost_and_nothing_is_written_where_that_is_not_known(self):
        self.assertEqual(self.hostile("lsan", "clean"), b"")
        self.assertIn(b"==WARNING: heaptap: not all leaks are known: ", self.hostile("lsan", "uncertain"))
        self.record("leak_shop", "--no-leak-scan")
        self.assertIn("no leak scan", self.refusal("lsan"))

    def test_hostile_names(self):
        leaks, summary = self.read(self.hostile("lsan").decode())
        self.assertEqual(summary, (findings.HOSTILE_NAMES, findings.HOSTILE_BYTES))
        self.assertEqual({leak[2] for leak in leaks}, {2 ** index for index in range(findings.HOSTILE_NAMES)})
        for leak in leaks:
            self.assertEqual(len(leak[3]), 2)


if __name__ == "__main__":
    unittest.main()
