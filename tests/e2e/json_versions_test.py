"""Call stacks in JSON: those of version 3 are those of version 2, and docs/json.md says how to read them."""
import json
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, read_report, run, skip_what_is_missing

PAGE = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs/json.md").read_text()


def example(language, word):
    """The first fenced block of the page in a language that has this word."""
    return next(block for block in re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if word in block)


class JsonVersions(heaptap_test.TestCase):
    def setUp(self):
        super().setUp()
        self.record("leak_shop", self.trace)

    def record(self, name, trace):
        outcome = heaptap("run", "-q", "--force", "-o", trace, "--", built(name))
        self.assertEqual(outcome.status, 0, str(outcome))

    def printed(self, *arguments):
        outcome = heaptap(*arguments, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome.stdout

    def by_shell(self, command, **names):
        """What a command of the page prints, with other files."""
        if shutil.which("jq") is None:
            skip_what_is_missing("jq")
        for name, file in {"app.htap": self.trace, "heaptap ": f"{HEAPTAP} ", **names}.items():
            command = command.replace(name, str(file))
        outcome = run(["bash", "-c", f"set -o pipefail; {command}"], cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        return outcome.stdout.decode().splitlines()

    def test_both_have_the_same_stacks_cut_or_not(self):
        for options in ((), ("-d", "1"), ("-d", "2"), ("-d", "3")):
            for view in ("summary", "leaks", "top"):
                new, old = (read_report(self.printed("show", view, f"--json={version}", *options, self.trace)) for version in (3, 2))
                self.assertEqual((new.pop("version"), old.pop("version")), (3, 2))
                self.assertTrue(new["stacks"])
                self.assertEqual(new, old, (view, options))

    def test_a_stack_that_is_cut_has_a_depth(self):
        document = json.loads(self.printed("show", "summary", "--json", "-d", "2", self.trace))
        whole = {stack["id"]: stack["frames"] for stack in read_report(self.printed("show", "summary", "--json", self.trace))["stacks"]}
        self.assertEqual({stack["id"]: stack.get("depth") for stack in document["stacks"]},
                         {number: 2 if len(frames) > 2 else None for number, frames in whole.items()})

    def test_the_default_is_version_3(self):
        self.assertEqual(self.printed("show", "--json", self.trace), self.printed("show", "--json=3", self.trace))

    def test_other_versions_are_refused(self):
        for version in ("1", "4", "two"):
            for command in (["show"], ["check", "--max-leaked", "0"], ["diff", self.trace]):
                outcome = heaptap(*command, f"--json={version}", self.trace)
                self.assertEqual((outcome.status, outcome.stdout), (2, b""))
                self.assertIn(f"--json: version '{version}' is not supported: this heaptap writes version 3".encode(), outcome.stderr)

    def test_the_page_reads_a_stack_by_jq(self):
        frames = read_report(self.printed("show", "summary", "--json", self.trace))["stacks"][0]["frames"]
        names = [frame["function"] or "??" for frame in frames]
        command = example("sh", "frames_of")
        self.assertEqual(self.by_shell(command), names)
        self.assertEqual(self.by_shell(command, **{"--json": "--json -d 2"}), names[:2])
        self.assertGreater(len(names), 2)

    def test_the_page_reads_a_stack_by_python(self):
        report = read_report(self.printed("show", "summary", "--json", self.trace))
        for options, most in (((), None), (("-d", "2"), 2)):
            file = self.directory / "report.json"
            file.write_bytes(self.printed("show", "summary", "--json", *options, self.trace))
            program = f"import json\nfile = open({str(file)!r})\n{example('python', 'frames_of')}"
            outcome = run([sys.executable, "-c", program])
            self.assertEqual(outcome.stdout.decode().splitlines(),
                             [frame["function"] or "??" for frame in report["stacks"][0]["frames"][:most]], str(outcome))

    def test_the_page_lists_leaks_by_jq(self):
        report = read_report(self.printed("show", "summary", "--json", self.trace))
        lost = [f"{stack['leaks']['definite']['bytes']} #{stack['id']}" for stack in report["stacks"] if stack["leaks"]["definite"]["blocks"]]
        self.assertTrue(lost)
        self.assertEqual(self.by_shell(example("sh", ".leaks.definite")), lost)

    def test_the_page_reads_a_comparison_by_jq(self):
        old = self.directory / "before.htap"
        self.record("leak_definite", old)
        comparison = read_report(self.printed("diff", "--json", old, self.trace))
        sites = [(stack["change"]["leaked_bytes"], stack["frames"][0]) for stack in comparison["stacks"]
                 if stack["state"] == "new" and (stack["change"]["leaked_bytes"] or 0) > 0]
        self.assertTrue(sites)
        self.assertEqual(self.by_shell(example("sh", "leaked_bytes"), **{"old.htap": old, "new.htap": self.trace}),
                         [f"{change} {site['function']} {site['file']}:{site['line']}" for change, site in sites])


if __name__ == "__main__":
    unittest.main()
