# CTEST COST 45
"""Random graphs of blocks, held by roots of all kinds: a scan finds lost what follows from the graph, for every seed."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import leak_expectations
import leak_graph

SEEDS = 1000 if heaptap_test.LONG else 80


class Truth(unittest.TestCase):
    def check(self, text, reachable=(), possible=(), definite=(), indirect=()):
        blocks = "".join(f"block {number} 8 1\n" for number in range(5))
        unused = sorted(set(range(5)) - {*reachable, *possible, *definite, *indirect})
        found = leak_graph.truth(leak_graph.read(blocks + text + "".join(f"freed {number}\n" for number in unused)))
        self.assertEqual(found, leak_graph.Truth(*map(set, (reachable, possible, definite, indirect))), text)

    def test_chains(self):
        self.check("root data 0 start\npointer 0 1 start\n", reachable=[0, 1], definite=[2, 3])
        self.check("pointer 0 1 start\npointer 1 2 interior\n", definite=[0], indirect=[1, 2])
        self.check("root stack 4 start\npointer 4 0 start\n", definite=[0])  # 4 is freed

    def test_cycles(self):
        self.check("pointer 0 0 start\n", definite=[0])
        self.check("pointer 0 1 start\npointer 1 0 start\n", definite=[0], indirect=[1])
        self.check("pointer 0 1 start\npointer 1 0 start\npointer 2 1 start\npointer 0 3 start\n", definite=[2], indirect=[0, 1, 3])

    def test_interior(self):
        self.check("root data 0 interior\npointer 0 1 start\n", possible=[0, 1])
        self.check("root data 0 interior\nroot bss 0 start\npointer 0 1 interior\n", reachable=[0], possible=[1])

    def test_by_line(self):
        graph = leak_graph.read("block 0 5 10\nblock 1 6 10\nblock 2 7 11\nroot data 0 start\n")
        none = {"possible": [0, 0], "indirect": [0, 0]}
        self.assertEqual(leak_graph.expected_by_line(graph), {10: {"reachable": [1, 5], "definite": [1, 6], **none},
                                                              11: {"reachable": [0, 0], "definite": [1, 7], **none}})


class RandomGraphs(heaptap_test.TestCase):
    def check_seed(self, program, seed):
        bare = heaptap_test.run([program, seed], cwd=self.directory)
        self.assertEqual(bare.status, 0, str(bare))
        trace = self.directory / f"{seed}.htap"
        traced = heaptap_test.heaptap("run", "-q", "-o", trace, "--", program, seed, cwd=self.directory)
        self.assertEqual((traced.status, traced.stdout, traced.stderr), (0, bare.stdout, bare.stderr))
        report = heaptap_test.summary(trace)
        trace.unlink()
        self.assertEqual(self.problems(leak_graph.read(bare.stdout.decode()), report), [])

    def problems(self, graph, report):
        missing = leak_expectations.missing_scan(report)
        if missing is not None:
            return missing
        expected, found = leak_graph.expected_by_line(graph), leak_expectations.found_by_line("leak_random.c", report)
        problems, nothing = list(leak_expectations.conservation(report)), dict.fromkeys(leak_expectations.KINDS, [0, 0])
        for line in sorted({*expected, *found}, key=lambda line: line or 0):
            counts = found.get(line, nothing)
            wanted = expected.get(line) or {**nothing, "reachable": counts["reachable"]}  # what libraries allocate is held
            if counts != wanted:
                problems.append(f"line {line}: blocks and bytes are {counts}, not {wanted}")
        return problems

    def test_seeds(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.check_seed(heaptap_test.built("leak_random", "-O2" if seed % 2 else ""), str(seed))


if __name__ == "__main__":
    unittest.main()
