"""JUnit's XML, read by junitparser."""
import re
import unittest

import findings
import junitparser


class Junit(findings.TestCase):
    def read(self, xml):
        """Counts by result, as junitparser finds them, and the test cases; its own counts agree with those of the file."""
        suites = junitparser.JUnitXml.fromstring(xml)
        stated = [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites]
        for suite in suites:
            suite.update_statistics()
        self.assertEqual([(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites], stated)
        cases = [case for suite in suites for case in suite]
        of = lambda kind: [case for case in cases if any(isinstance(result, kind) for result in case.result)]
        return {"failed": of(junitparser.Failure), "error": of(junitparser.Error), "skipped": of(junitparser.Skipped),
                "passed": [case for case in cases if not case.result]}

    def lost(self, cases):
        found = [re.match(r"(\d+) bytes? in (\d+) blocks?", case.result[0].message) for case in cases if case.classname == "heaptap.leaks"]
        return sum(int(match[2]) for match in found), sum(int(match[1]) for match in found)

    def test_failures_sum_up_to_the_leaks_of_the_report(self):
        report = self.record("leak_shop")
        read = self.read(self.export("junit"))
        counts = findings.lost_by_kind(report)
        self.assertEqual(self.lost(read["failed"]), tuple(map(sum, zip(counts["definite"], counts["indirect"]))))
        self.assertEqual([case.name for case in read["passed"]], ["no bad releases"])
        self.assertIn("from print_receipt(int) at ", read["failed"][0].result[0].text + read["failed"][1].result[0].text)

    def test_bad_releases_fail(self):
        self.record("mismatched", "--sanity")
        read = self.read(self.export("junit"))
        self.assertEqual(len([case for case in read["failed"] if case.classname == "heaptap.releases"]), 7)
        self.assertNotIn("no bad releases", [case.name for case in read["passed"]])

    def test_clean_is_passed_and_not_known_is_not(self):
        counts = lambda how: {kind: len(cases) for kind, cases in self.read(self.hostile("junit", how)).items()}
        self.assertEqual(counts("clean"), {"failed": 0, "error": 0, "skipped": 0, "passed": 2})
        self.assertEqual(counts("uncertain"), {"failed": 0, "error": 2, "skipped": 0, "passed": 0})
        self.assertEqual(counts("unscanned"), {"failed": 0, "error": 1, "skipped": 0, "passed": 1})
        self.record("leak_shop", "--no-leak-scan")
        self.assertEqual([case.name for case in self.read(self.export("junit"))["error"]], ["no leaks"])

    def test_hostile_names(self):
        xml = self.hostile("junit")
        self.read_by("xmllint", "--noout", "--nonet", "-", stdin=xml)
        read = self.read(xml)
        self.assertEqual(self.lost(read["failed"]), (findings.HOSTILE_NAMES, findings.HOSTILE_BYTES))
        self.assertEqual(len(read["failed"]), findings.HOSTILE_NAMES + 1)
        self.assertTrue(any(findings.SAFE_NAMES[0] in case.name for case in read["failed"]))


if __name__ == "__main__":
    unittest.main()
