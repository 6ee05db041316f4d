"""docs/report.schema.json describes every key of every view, of golden files and of real traces, and nothing that isn't there; so does
docs/report-2.schema.json of what --json=2 prints."""
import json
import pathlib
import subprocess
import sys
import unittest

import jsonschema

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import api_building
import heaptap_test
from heaptap_test import built, heaptap, read_report

SCHEMA_FILES = {2: "report-2.schema.json", 3: "report.schema.json"}
SCHEMAS = {version: json.loads((HERE.parent.parent / "docs" / file).read_text()) for version, file in SCHEMA_FILES.items()}
GOLDEN = {2: HERE.parent / "golden/version2", 3: HERE.parent / "golden"}


def validator(definition, version=3):
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": SCHEMAS[version]["$defs"]})


def validate(document, where, version=3):
    """By the definition of its own format, whose messages say more than those of `oneOf`."""
    definition = "view_" + document["format"].removeprefix("heaptap-").replace("-", "_")
    errors = [f"{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in validator(definition, version).iter_errors(document)]
    assert not errors, f"{where} isn't as docs/{SCHEMA_FILES[version]} says:\n" + "\n".join(errors[:10])
    check_places(document, document, where)


def check_places(value, tables, where):
    """Every frame and every node that is named by its place is in its table."""
    if isinstance(value, list):
        for item in value:
            check_places(item, tables, where)
    elif isinstance(value, dict):
        if "most" in value and "frames" in value:  # a limit of a verdict has tables of its own
            tables = value
        if "nodes" in value:
            callers, frames = value["nodes"]["caller"], value["nodes"]["frame"]
            assert len(callers) == len(frames) and callers[0] is None and frames[0] is None, f"{where}: columns of nodes"
            assert all(caller < node for node, caller in enumerate(callers) if node != 0), f"{where}: a caller after its callee"
        for name, item in value.items():
            places = item if name == "frames" and isinstance(item, list) else [item] if name in ("caller", "frame") else []
            for place in places:
                if isinstance(place, int):
                    assert place < len(tables["frames"]), f"{where}: frame {place} of {len(tables['frames'])}"
            if name in ("node", "node_before"):
                assert item < len(tables["nodes"]["caller"]), f"{where}: node {item} of {len(tables['nodes']['caller'])}"
            if name != "nodes":
                check_places(item, tables, where)
            else:
                assert max(item["frame"][1:], default=-1) < len(value["frames"]), f"{where}: a node without a frame"


def walk(schema, path=()):
    """All parts of the schema that are schemas of objects' members or of objects."""
    if isinstance(schema, dict):
        yield path, schema
        for name, part in schema.items():
            yield from walk(part, (*path, name))
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from walk(part, (*path, number))


def versionless(document):
    """Without the numbers of versions, which a document of several verdicts has in each."""
    return {name: [versionless(item) for item in value] if name == "traces" else value for name, value in document.items() if name != "version"}


class Schema(unittest.TestCase):
    def test_is_a_schema(self):
        for schema in SCHEMAS.values():
            jsonschema.Draft202012Validator.check_schema(schema)
            views = [part["$ref"].rpartition("/")[2] for part in schema["oneOf"]]
            self.assertEqual(sorted(views), sorted(name for name in schema["$defs"] if name.startswith("view_")))

    def test_describes_each_key_and_allows_no_other(self):
        for path, part in walk(SCHEMAS[3]):
            if "properties" not in part or path[-1:] == ("properties",):
                continue
            self.assertIs(part.get("additionalProperties"), False, path)
            for name, member in part["properties"].items():
                target = SCHEMAS[3]["$defs"][member["$ref"].rpartition("/")[2]] if "$ref" in member else {}
                self.assertTrue(member.get("description") or target.get("description"), (*path, name))

    def test_refuses_a_key_that_it_does_not_describe(self):
        document = json.loads((GOLDEN[3] / "report_summary.json").read_text())
        validate(document, "golden")
        for change in ({"news": 1}, {"totals": {**document["totals"], "news": 1}}, {"version": 2}, {"stack_count": None}):
            with self.assertRaises(AssertionError):
                validate({**document, **change}, "changed")

    def test_describes_the_golden_files(self):
        for version, directory in GOLDEN.items():
            files = sorted(directory.glob("*.json"))
            self.assertGreater(len(files), 14)
            for file in files:
                validate(json.loads(file.read_text()), file.name, version)


VIEWS = ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "timeline", "blocks")
QUESTIONS = (("--why", "#1"), ("--retained",), ("--retained=stack",), ("--retained=type",), ("--globals",), ("--scans",))


class RealTraces(heaptap_test.TestCase):
    def record(self, name, *options, statuses=(0,)):
        outcome = heaptap("run", "-q", *options, "-o", self.trace, "--force", "--", built(name), cwd=self.directory)
        self.assertIn(outcome.status, statuses, str(outcome))

    def document(self, *arguments, statuses=(0,)):
        outcome = heaptap(*arguments, cwd=self.directory)
        self.assertIn(outcome.status, statuses, f"{arguments}: {outcome}")
        document = json.loads(outcome.stdout)
        where = " ".join(map(str, arguments))
        validate(document, where)
        jsonschema.Draft202012Validator(SCHEMAS[3]).validate(document)
        if arguments[0] != "leaks":  # which makes another scan
            self.check_version_2(outcome, arguments, where)
        return document

    def check_version_2(self, outcome, arguments, where):
        """--json=2 prints the same in the form of version 2."""
        older = heaptap(*("--json=2" if argument == "--json" else argument for argument in arguments), cwd=self.directory)
        self.assertEqual(older.status, outcome.status, f"{where}: {older}")
        validate(json.loads(older.stdout), where + " as version 2", 2)
        self.assertEqual(versionless(read_report(outcome.stdout)), versionless(read_report(older.stdout)), where)

    def show_all(self):
        for view in VIEWS:
            self.assertEqual(self.document("show", view, "--json", self.trace)["format"], f"heaptap-{view}")

    def test_views_of_a_trace_with_leaks(self):
        self.record("leak_shop")
        self.show_all()
        self.document("show", "tree", "--bottom-up", "--json", self.trace)
        self.document("show", "summary", "--json", "--function", "there_is_none", self.trace)
        for question in QUESTIONS:
            self.document("show", "leaks", *question, "--json", self.trace)
        limits = ("--max-leaked", "0", "--max-peak", "0", "--max-live", "1G", "--max-allocations", "0")
        self.assertEqual(len(self.document("check", "--json", *limits, self.trace, statuses=(1,))["limits"]), 4)
        again = self.directory / "again.htap"
        again.write_bytes(self.trace.read_bytes())
        broken = self.directory / "broken.htap"
        broken.write_bytes(b"no trace")
        self.assertEqual(len(self.document("check", "--json", *limits, self.trace, again, broken, statuses=(1,))["failed"]), 1)

    def test_views_of_a_program_that_speaks(self):
        program = self.directory / "speaks"
        api_building.build("gcc -g -w -pthread -I", api_building.INCLUDE, api_building.SOURCES / "speaks.c", "-o", program)
        for way, view in (("tags", "tags"), ("pools", "pools"), ("resources", "pools")):
            outcome = heaptap("run", "-q", "-o", self.trace, "--force", "--", program, way, cwd=self.directory)
            self.assertEqual(outcome.status, 5, str(outcome))
            self.show_all()
            by = view.removesuffix("s")
            self.assertTrue(self.document("show", "top", "--by", by, "--json", self.trace)[view])

    def test_comparisons(self):
        self.record("leak_shop")
        other = self.directory / "other.htap"
        other.write_bytes(self.trace.read_bytes())
        self.record("leak_definite")
        for traces in ((other, self.trace), (other, self.trace, other)):
            self.assertTrue(self.document("diff", "--json", "--unchanged", *traces)["stacks"])
        self.document("diff", "--json", self.trace, "--from", "start")
        growth = ("--max-growth", "5%", "--max-growth", "stack-live=0,allocations=0")
        self.assertEqual(len(self.document("check", "--json", "--baseline", other, *growth, self.trace, statuses=(0, 1))["growth"]), 5)

    def test_suppressed_leaks(self):
        self.record("leak_shop")
        file = self.directory / "known.supp"
        file.write_text("leak:reserve\nleak:there_is_none\nleak:*\n")
        leaks = self.document("show", "leaks", "--json", "--suppressions", file, self.trace)["leaks"]
        self.assertTrue(leaks["suppressions"] and leaks["unused_suppressions"])

    def test_bad_releases(self):
        self.record("mismatched", "--sanity")
        self.assertTrue(self.document("show", "summary", "--sanity", "--json", self.trace)["errors"])
        self.record("bad_free_double", "--sanity", statuses=(134,))
        self.assertIsNotNone(self.document("show", "summary", "--sanity", "--json", self.trace)["errors"][0]["released"])

    def test_totals_alone(self):
        self.record("leak_shop", "--aggregate")
        self.show_all()
        self.document("check", "--json", "--max-leaked", "0", self.trace, statuses=(3,))

    def test_files_of_other_tools(self):
        files = sorted((HERE.parent / "fuzz/corpus/import").iterdir())
        self.assertGreater(len(files), 7)
        for self.trace in files:
            self.show_all()
            for line in heaptap("show", "timeline", "--ndjson", self.trace).stdout.decode().splitlines():
                validator("timeline_point").validate(json.loads(line))
            self.document("diff", "--json", self.trace, self.trace)
            self.document("check", "--json", "--max-peak", "0", "--max-allocations", "0", self.trace, statuses=(1, 3))

    def test_a_trace_that_is_cut_off(self):
        self.record("leak_shop", "--no-leak-scan")
        self.show_all()
        whole = self.trace.read_bytes()
        self.trace.write_bytes(whole[:len(whole) - 60])
        self.assertTrue(self.document("show", "summary", "--json", self.trace)["capture"]["truncated"])
        self.show_all()

    def test_processes(self):
        file = self.directory / "report.json"
        self.record("fork_followed", "-f", f"--json={file}")
        report = json.loads(file.read_text())
        validate(report, "run --json")
        self.assertGreater(len(report["processes"]), 1)

    def test_several_processes_as_one(self):
        self.record("fork_followed", "-f")
        run = self.trace.with_suffix(".run")
        for view in ("summary", "leaks", "top", "tree"):
            self.document("show", view, "--json", run)
        for table in ("process", "program"):
            self.assertTrue(self.document("show", "summary", "--by", table, "--json", run)["format"].startswith(f"heaptap-{table}"))
        self.document("check", "--json", "--max-leaked", "0", "--max-peak", "0", run, statuses=(3,))

    def test_scans_of_a_running_program(self):
        target = subprocess.Popen([heaptap_test.HEAPTAP, "run", "-q", "-o", self.trace, "--", built("loses_on_demand")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(heaptap_test.end, target)
        target.stdout.readline()
        pid = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()[0]
        for word in ("lose", "hold"):
            target.stdin.write(word + "\n")
            target.stdin.flush()
            target.stdout.readline()
            self.document("leaks", "--json", pid)
        target.communicate()
        self.assertEqual(len(self.document("show", "leaks", "--scans", "--json", self.trace)["scans"]), 3)
        changes = self.document("show", "leaks", "--since", "1", "--json", self.trace)
        self.assertTrue(changes["stacks"][0]["node"] and changes["frames"])

    def test_lines(self):
        self.record("leak_shop")
        for view, definition in (("blocks", "block_line"), ("timeline", "timeline_point")):
            outcome = heaptap("show", view, "--ndjson", self.trace)
            lines = outcome.stdout.decode().splitlines()
            self.assertGreater(len(lines), 0, str(outcome))
            for line in lines:
                validator(definition).validate(json.loads(line))


TOP_SCHEMA = json.loads((HERE.parent.parent / "docs/top.schema.json").read_text())


class TopLines(heaptap_test.TestCase):
    """`heaptap top --json` prints what docs/top.schema.json says: an object a line."""

    def lines(self, *arguments):
        outcome = heaptap("top", "--json", *arguments, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        lines = [json.loads(line) for line in outcome.stdout.decode().splitlines()]
        validator = jsonschema.Draft202012Validator(TOP_SCHEMA)
        for line in lines:
            self.assertEqual([f"{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in validator.iter_errors(line)], [])
        return lines

    def test_the_schema_is_one_and_refuses_other_keys(self):
        jsonschema.Draft202012Validator.check_schema(TOP_SCHEMA)
        for path, part in walk(TOP_SCHEMA):
            if "properties" in part and path[-1:] != ("properties",):
                self.assertIs(part.get("additionalProperties"), False, path)

    def test_of_the_past(self):
        for options in ((), ("--aggregate",), ("--no-leak-scan",)):
            outcome = heaptap("run", "-q", *options, "--force", "-o", self.trace, "--", built("leak_shop"), cwd=self.directory)
            self.assertEqual(outcome.status, 0, str(outcome))
            line, = self.lines(self.trace)
            self.assertTrue(line["stacks"])
            self.assertEqual(self.lines("--filter", "there_is_none", self.trace)[0]["stacks"], [])

    def test_of_what_runs(self):
        target = subprocess.Popen([heaptap_test.HEAPTAP, "run", "-q", "-o", self.trace, "--", built("loses_on_demand")],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(heaptap_test.end, target)
        target.stdout.readline()
        pid = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()[0]
        for word in ("lose", "hold"):
            target.stdin.write(word + "\n")
            target.stdin.flush()
            target.stdout.readline()
            self.assertEqual(len(self.lines("--count", "3", "--delay", "100ms", pid)), 3)
            heaptap("leaks", pid)
        self.assertIsNotNone(self.lines("--count", "1", pid)[0]["leaks"])
        heaptap("console", pid, "-x", "stop")
        self.assertFalse(self.lines("--count", "1", pid)[0]["process"]["is_recording"])
        target.communicate()


if __name__ == "__main__":
    unittest.main()
