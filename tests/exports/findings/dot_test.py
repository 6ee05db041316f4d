"""The call graph, read by Graphviz."""
import json
import unittest
import xml.etree.ElementTree

import findings


class Dot(findings.TestCase):
    def read(self, data):
        """The graph as Graphviz has read it, and the titles of the nodes that it drew."""
        drawn = xml.etree.ElementTree.fromstring(self.read_by("dot", "-Tsvg", stdin=data))
        nodes = [group for group in drawn.iter("{http://www.w3.org/2000/svg}g") if group.get("class") == "node"]
        graph = json.loads(self.read_by("dot", "-Tjson0", stdin=data))
        self.assertEqual(len(nodes), len(graph["objects"]))
        return graph

    def test_what_functions_allocated_sums_up_to_the_total(self):
        for target, metric, key in (("leak_shop", "live", "live_bytes"), ("recursion", "allocated", "allocated_bytes"), ("recursion", "allocations", "allocations")):
            report = self.record(target, arguments=("100", "1"))
            graph = self.read(self.export("dot", "--metric", metric))
            self.assertEqual(sum(int(node["self"]) for node in graph["objects"]), int(graph["total"]))
            self.assertEqual(int(graph["total"]), report["totals"][key], target)
            main = next(node for node in graph["objects"] if node["tooltip"] == "main")
            through = [stack for stack in report["stacks"] if any(frame["function"] == "main" for frame in stack["frames"])]
            self.assertEqual(int(main["total"]), sum(stack[key] for stack in through))

    def test_hostile_names(self):
        graph = self.read(self.hostile("dot"))
        self.assertEqual(int(graph["total"]), findings.HOSTILE_BYTES)
        self.assertEqual(len(graph["objects"]), findings.HOSTILE_NAMES + 1)
        tooltips = {node["tooltip"] for node in graph["objects"]}
        self.assertIn("S" * 80 + "...", tooltips)


if __name__ == "__main__":
    unittest.main()
