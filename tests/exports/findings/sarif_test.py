"""SARIF, held to the standard's schema, which the npm package @microsoft/jest-sarif has."""
import json
import os
import pathlib
import re
import shutil
import unittest

import findings
import jsonschema

NODE_DIRECTORY = pathlib.Path(os.environ["NODE_DIRECTORY"])
SCHEMA = NODE_DIRECTORY / "node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


class Sarif(findings.TestCase):
    @classmethod
    def setUpClass(cls):
        if not SCHEMA.exists():
            NODE_DIRECTORY.mkdir(parents=True, exist_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(findings.HERE / name, NODE_DIRECTORY)
            outcome = findings.heaptap_test.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=NODE_DIRECTORY)
            assert outcome.status == 0, str(outcome)
        cls.validator = jsonschema.Draft4Validator(json.loads(SCHEMA.read_text()))

    def read(self, text):
        document = json.loads(text)
        errors = [f"{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in self.validator.iter_errors(document)]
        self.assertEqual(errors, [])
        return document["runs"][0]

    def lost(self, run, rule):
        found = [re.match(r"(\d+) bytes? in (\d+) blocks?", result["message"]["text"]) for result in run["results"] if result["ruleId"] == rule]
        return sum(int(match[2]) for match in found), sum(int(match[1]) for match in found)

    def test_results_sum_up_to_the_leaks_of_the_report(self):
        for target in ("leak_shop", "leak_interior"):
            counts = findings.lost_by_kind(self.record(target))
            run = self.read(self.export("sarif"))
            for kind, rule in (("definite", "definitely-lost"), ("indirect", "indirectly-lost"), ("possible", "possibly-lost")):
                self.assertEqual(self.lost(run, rule), counts[kind], (target, rule))
            for result in run["results"]:
                self.assertEqual(run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"], result["ruleId"])

    def test_locations_are_relative_to_the_working_tree(self):
        self.record_source()
        results = self.read(self.export("sarif"))["results"]
        places = [result["locations"][0]["physicalLocation"] for result in results]
        self.assertEqual({(place["artifactLocation"]["uri"], place["artifactLocation"]["uriBaseId"]) for place in places},
                         {("src/lost.c", "%SRCROOT%")})
        self.assertEqual([place["region"]["startLine"] for place in places], [5, 6])
        (self.directory / "elsewhere").mkdir()
        elsewhere = self.read(self.export("sarif", cwd=self.directory / "elsewhere"))["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        self.assertTrue(elsewhere["uri"].startswith("file:///") and "uriBaseId" not in elsewhere, elsewhere)

    def test_fingerprints_are_the_same_in_the_next_run_and_differ_within_one(self):
        fingerprints = []
        for _ in range(2):
            self.record("leak_shop")
            results = self.read(self.export("sarif"))["results"]
            fingerprints.append({result["partialFingerprints"]["heaptapStack/v1"] for result in results})
            self.assertEqual(len(fingerprints[-1]), len(results))
        self.assertEqual(fingerprints[0], fingerprints[1])

    def test_a_bad_release_has_the_stacks_of_the_allocation_and_of_the_first_release(self):
        self.record("bad_free_double", "--sanity", statuses=(134,))
        result = next(result for result in self.read(self.export("sarif"))["results"] if result["ruleId"] == "double-free")
        self.assertEqual([stack["message"]["text"] for stack in result["stacks"]], ["freed by free", "first freed by free", "allocated by malloc"])
        steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
        self.assertEqual([step["location"]["logicalLocations"][0]["fullyQualifiedName"] for step in steps],
                         ["make", "first_release", "second_release"])

    def test_not_known_is_no_success(self):
        for how, success in (("clean", True), ("uncertain", False), ("unscanned", False)):
            run = self.read(self.hostile("sarif", how))
            self.assertEqual((run["results"], run["invocations"][0]["executionSuccessful"]), ([], success), how)

    def test_hostile_names(self):
        run = self.read(self.hostile("sarif"))
        self.assertEqual(self.lost(run, "definitely-lost"), (findings.HOSTILE_NAMES, findings.HOSTILE_BYTES))
        names = {result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for result in run["results"]}
        self.assertEqual(names, set(findings.SAFE_NAMES))


if __name__ == "__main__":
    unittest.main()
