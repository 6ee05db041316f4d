"""`heaptap mcp`, with the protocol's own SDK as the client: it checks each message by the protocol's schema."""
import json
import os
import re

import exported
import node_packages

HEAPTAP = exported.heaptap_test.HEAPTAP
MAX_TEXT_BYTES = 8192


class Mcp(exported.TestCase):
    def ask(self, calls):
        report = json.loads(node_packages.run("call_tools.mjs", HEAPTAP, self.directory, json.dumps(calls)))
        self.assertEqual(report["wrong"], [])
        self.assertEqual(report["together"], report["results"])
        return report

    def test_it_connects_and_knows_the_tools(self):
        report = self.ask([])
        self.assertEqual((report["server"]["name"], report["capabilities"]), ("heaptap", {"tools": {}}))
        self.assertIn("unknown", report["instructions"])
        self.assertEqual([tool["name"] for tool in report["tools"]],
                         ["list_recordings", "suspects", "why", "source", "growth", "diff", "verify_fix"])
        for tool in report["tools"]:
            self.assertTrue(tool["description"] and tool["annotations"]["readOnlyHint"], tool)
            self.assertIn("cursor", tool["inputSchema"]["properties"])

    def test_each_tool_answers(self):
        self.record("leak_shop")
        os.rename(self.directory / "leak_shop.htap", self.directory / "before.htap")
        (before, _) = self.ask([["suspects", {"recording": "before.htap"}], ["list_recordings", {}]])["results"]
        stack = int(re.search(r"^  #(\d+)", before["content"][0]["text"], re.MULTILINE)[1])
        report = self.ask([
            ["list_recordings", {}],
            ["why", {"recording": "before.htap", "block": f"#{stack}"}],
            ["source", {"recording": "before.htap", "stack": stack}],
            ["growth", {"recording": "before.htap", "from": "start"}],
            ["diff", {"before": "before.htap", "after": "before.htap"}],
            ["verify_fix", {"before": "before.htap", "after": "before.htap", "stack": stack}],
        ])
        for result in report["results"]:
            (content,) = result["content"]
            self.assertEqual((result["isError"], content["type"]), (False, "text"), result)
            self.assertTrue(0 < len(content["text"].encode()) <= MAX_TEXT_BYTES)
        self.assertTrue(before["content"][0]["text"].startswith("verdict: leaks"), before)
        self.assertTrue(report["results"][-1]["content"][0]["text"].startswith("verdict: still there"), report)

    def test_errors_are_those_of_the_protocol(self):
        report = self.ask([["unknown", {}], ["suspects", {}], ["suspects", {"recording": 1}], ["suspects", {"recording": "nowhere.htap"}]])
        self.assertEqual([result.get("code") for result in report["results"]], [-32602, -32602, -32602, None])
        self.assertTrue(report["results"][-1]["isError"])


if __name__ == "__main__":
    exported.main()
