"""Random graphs of blocks, held by roots of all kinds: a scan finds lost what follows from the graph, for every seed."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
import leak_expectations
import leak_graph

SEEDS = 1000 if heaptap_test.LONG else 200


class Truth(unittest.TestCase):
    def check(self, text, reachable=(), possible=(), lost=(), definite=0):
        blocks = "".join(f"block {number} 8 1\n" for number in range(5))
        unused = sorted(set(range(5)) - {*reachable, *possible, *lost})
        found = leak_graph.truth(leak_graph.read(blocks + text + "".join(f"freed {number}\n" for number in unused)))
        self.assertEqual(found, leak_graph.Truth(set(reachable), set(possible), set(lost), definite), text)

    def test_chains(self):
        self.check("root data 0 start\npointer 0 1 start\n", reachable=[0, 1], lost=[2, 3], definite=2)
        self.check("pointer 0 1 start\npointer 1 2 interior\n", lost=[0, 1, 2], definite=1)
        self.check("root stack 4 start\npointer 4 0 start\n", lost=[0], definite=1)  # 4 is freed

    def test_cycles(self):
        self.check("pointer 0 0 start\n", lost=[0], definite=1)
        self.check("pointer 0 1 start\npointer 1 0 start\n", lost=[0, 1], definite=1)
        self.check("pointer 0 1 start\npointer 1 0 start\npointer 2 1 start\npointer 0 3 start\n", lost=[0, 1, 2, 3], definite=1)

    def test_interior(self):
        self.check("root data 0 interior\npointer 0 1 start\n", possible=[0, 1])
        self.check("root data 0 interior\nroot bss 0 start\npointer 0 1 interior\n", reachable=[0], possible=[1])

    def test_by_line(self):
        graph = leak_graph.read("block 0 5 10\nblock 1 6 10\nblock 2 7 11\nroot data 0 start\n")
        self.assertEqual(leak_graph.expected_by_line(graph), {10: {"reachable": [1, 5], "possible": [0, 0], "lost": [1, 6]},
                                                              11: {"reachable": [0, 0], "possible": [0, 0], "lost": [1, 7]}})


class RandomGraphs(heaptap_test.TestCase):
    def check_seed(self, program, seed):
        bare = heaptap_test.run([program, seed], cwd=self.folder)
        self.assertEqual(bare.status, 0, str(bare))
        trace = self.folder / f"{seed}.htap"
        traced = heaptap_test.heaptap("run", "-q", "-o", trace, "--", program, seed, cwd=self.folder)
        self.assertEqual((traced.status, traced.stdout, traced.stderr), (0, bare.stdout, bare.stderr))
        report = heaptap_test.summary(trace)
        trace.unlink()
        self.assertEqual(self.problems(leak_graph.read(bare.stdout.decode()), report), [])

    def problems(self, graph, report):
        missing = leak_expectations.missing_scan(report)
        if missing is not None:
            return missing
        expected, found = leak_graph.expected_by_line(graph), leak_expectations.found_by_line("leak_random.c", report)
        problems = list(leak_expectations.conservation(report))
        nothing = {"reachable": [0, 0], "possible": [0, 0], "lost": [0, 0]}
        for line in sorted({*expected, *found}, key=lambda line: line or 0):
            counts = found.get(line, dict.fromkeys(leak_expectations.KINDS, [0, 0]))
            counts = {"reachable": counts["reachable"], "possible": counts["possible"],
                      "lost": [counts["definite"][i] + counts["indirect"][i] for i in (0, 1)]}
            wanted = expected.get(line) or {**nothing, "reachable": counts["reachable"]}
            if counts != wanted:
                problems.append(f"line {line}: blocks and bytes are {counts}, not {wanted}")
        definite = leak_graph.truth(graph).definite
        if report["leaks"]["definite"]["blocks"] != definite:
            problems.append(f"definite are {report['leaks']['definite']['blocks']} blocks, not {definite}")
        return problems

    def test_seeds(self):
        for seed in range(SEEDS):
            with self.subTest(seed=seed):
                self.check_seed(heaptap_test.built("leak_random", "-O2" if seed % 2 else ""), str(seed))


if __name__ == "__main__":
    unittest.main()
