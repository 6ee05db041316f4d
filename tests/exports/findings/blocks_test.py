"""The text of single blocks, read by its lines' patterns."""
import re
import unittest

import findings

BLOCK = re.compile(r"^block (\d+): (\d+) bytes at (0x[0-9a-f]+) after (\d+) ns by thread (\d+) \((.*), id (\d+)\)$", re.MULTILINE)
GROUP = re.compile(r"^(\d+) bytes in (\d+) blocks  (.*)$", re.MULTILINE)


class Blocks(findings.TestCase):
    def groups(self, text):
        """The sums of each group, by its heading."""
        parts = re.split(r"^(BY CALL STACK|BY MODULE|BY THREAD|HEAP OVER TIME)$", text, flags=re.MULTILINE)
        return {heading: [(int(size), int(count), name) for size, count, name in GROUP.findall(part)]
                for heading, part in zip(parts[1::2], parts[2::2])}

    def test_blocks_and_each_grouping_sum_up_to_what_is_live(self):
        report = self.record("leak_shop")
        text = self.export("blocks").decode()
        live = (report["totals"]["live_bytes"], report["totals"]["live_blocks"])
        blocks = BLOCK.findall(text)
        self.assertEqual((sum(int(block[1]) for block in blocks), len(blocks)), live)
        self.assertEqual({(block[5], int(block[6])) for block in blocks}, {("leak_shop", report["target"]["pid"])})
        for heading, groups in self.groups(text).items():
            if heading != "HEAP OVER TIME":
                self.assertEqual((sum(group[0] for group in groups), sum(group[1] for group in groups)), live, heading)
        stacks = {f"stack {stack['id']}": stack["live_bytes"] for stack in report["stacks"] if stack["live_blocks"] and stack["function"] != "mmap"}
        self.assertEqual({name: size for size, _, name in self.groups(text)["BY CALL STACK"]}, stacks)
        self.assertRegex(text, r"(?m)^block .*\n    malloc\n    print_receipt\(int\) .*leak_shop\.cc:\d+ \(.*leak_shop\)\n    main ")

    def test_the_graph_reaches_the_peak(self):
        self.record("leak_shop")
        graph = self.export("blocks").decode().partition("HEAP OVER TIME\n")[2]
        self.assertEqual(max(line.count("#") for line in graph.splitlines()), 60)

    def test_totals_alone_have_no_blocks(self):
        self.record("leak_shop", "--aggregate")
        self.assertIn("--aggregate", self.refusal("blocks"))

    def test_hostile_names(self):
        text = self.hostile("blocks").decode()
        self.assertEqual(sum(int(size) for size in re.findall(r"^block \d+: (\d+) bytes", text, re.MULTILINE)), findings.HOSTILE_BYTES)
        self.assertEqual(sum(size for size, _, _ in self.groups(text)["BY MODULE"]), findings.HOSTILE_BYTES)


if __name__ == "__main__":
    unittest.main()
