"""The SQLite database, asked by sqlite3."""
import json
import unittest

import findings
from findings import heaptap


class Sqlite(findings.TestCase):
    def setUp(self):
        super().setUp()
        self.database = self.directory / "report.sqlite"

    def ask(self, question):
        return json.loads(self.read_by("sqlite3", "-json", "-readonly", self.database, question) or b"[]")

    def export_database(self):
        self.export("sqlite", "-o", self.database, "--force")
        self.assertEqual(self.ask("PRAGMA integrity_check"), [{"integrity_check": "ok"}])

    def test_sums_are_those_of_the_report(self):
        report = self.record("leak_shop")
        self.export_database()
        totals = report["totals"]
        columns = ("allocations", "frees", "allocated_bytes", "live_blocks", "live_bytes", "temporary_allocations")
        sums = self.ask(f"SELECT {','.join(f'sum({name}) AS {name}' for name in columns)}, sum(peak_bytes) AS peak FROM stacks WHERE NOT mapping")
        self.assertEqual(sums, [{**{name: totals[name] for name in columns}, "peak": totals["peak_live_bytes"]}])
        lost = findings.lost_by_kind(report)
        self.assertEqual(self.ask("SELECT sum(blocks) AS blocks, sum(bytes) AS bytes FROM leaks"),
                         [{"blocks": lost["definite"][0] + lost["indirect"][0], "bytes": lost["definite"][1] + lost["indirect"][1]}])
        self.assertEqual(self.ask("SELECT count(*) AS n, sum(size) AS bytes FROM blocks"), [{"n": totals["live_blocks"], "bytes": totals["live_bytes"]}])
        self.assertEqual(self.ask("SELECT sum(allocations) AS n FROM timeline"), [{"n": totals["allocations"]}])
        self.assertEqual(self.ask("SELECT sum(allocations) AS n FROM threads"), [{"n": totals["allocations"]}])
        self.assertEqual(self.ask("SELECT value FROM meta WHERE key = 'live_bytes'"), [{"value": totals["live_bytes"]}])
        names = self.ask("SELECT c.function FROM leaks l JOIN callers c USING (stack) WHERE l.function = 'malloc' AND l.bytes = 64 ORDER BY c.stack, c.position LIMIT 2")
        self.assertEqual([row["function"] for row in names], ["print_receipt(int)", "main"])

    def test_bad_releases(self):
        report = self.record("mismatched", "--sanity")
        self.export_database()
        self.assertEqual(self.ask("SELECT sum(count) AS n FROM errors"), [{"n": findings.bad_releases(report)}])
        self.assertEqual(self.ask("SELECT count(DISTINCT error) AS n FROM error_frames WHERE part = 'allocation'"), [{"n": 7}])

    def test_what_is_not_known_is_null(self):
        self.record("leak_shop", "--aggregate")
        self.export_database()
        self.assertEqual(self.ask("SELECT count(definite_bytes) AS leaks, count(peak_bytes) AS peaks FROM stacks"), [{"leaks": 0, "peaks": 0}])
        self.assertEqual(self.ask("SELECT value FROM meta WHERE key = 'leaks_known'"), [{"value": 0}])

    def test_it_needs_a_file_and_replaces_none(self):
        self.record("leak_shop")
        missing = heaptap("export", "--to", "sqlite", self.trace, cwd=self.directory)
        self.assertEqual((missing.status, missing.stdout), (2, b""), str(missing))
        self.assertIn(b"needs -o FILE", missing.stderr)
        self.database.write_text("mine")
        kept = heaptap("export", "--to", "sqlite", "-o", self.database, self.trace, cwd=self.directory)
        self.assertEqual((kept.status, self.database.read_text()), (125, "mine"), str(kept))
        self.assertEqual(sorted(file.name for file in self.directory.iterdir() if file.name != "heaptap.latest.htap"), ["report.sqlite", "trace.htap"])

    def test_hostile_names(self):
        self.read_by(findings.HOSTILE_REPORT, "sqlite", self.database)
        self.assertEqual(self.ask("SELECT sum(bytes) AS bytes FROM leaks"), [{"bytes": findings.HOSTILE_BYTES}])
        names = self.ask("SELECT c.function FROM leaks l JOIN callers c USING (stack) ORDER BY l.bytes")
        self.assertEqual([row["function"] for row in names], findings.SAFE_NAMES)


if __name__ == "__main__":
    unittest.main()
