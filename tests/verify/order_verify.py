# CTEST PROCESSORS 2
"""The order of events is possible, and none is missing, while threads hand blocks to each other: eight that do so at random, and
two that hand each block over through one place. By the processors' clocks, and by the counter that stands in for them.

Environment: HEAPTAP (the program), VERIFY (directory of order_storm, order_handover and order_check). With HEAPTAP_LONG set there
are 100 million hand-overs.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HEAPTAP = os.environ["HEAPTAP"]
VERIFY = pathlib.Path(os.environ["VERIFY"])
IS_LONG = bool(os.environ.get("HEAPTAP_LONG"))
RUNS = 5
ROUNDS_A_THREAD = int(os.environ.get("ORDER_ROUNDS", "150000"))  # a little over two events each, in all eight
HANDOVERS_A_RUN = 2_000_000  # a trace of them is checked in memory
HANDOVER_RUNS = 50 if IS_LONG else 1
# How far the consumer counts between two looks: by how long a block lies there, it depends how far it runs ahead of the load.
DELAYS = ["0", "100", "200", "300", "400", "600", "1000", "2000"]


class OrderVerify(unittest.TestCase):
    def check(self, program, arguments, clock):
        with tempfile.TemporaryDirectory(prefix="heaptap-verify-") as directory:
            trace = pathlib.Path(directory) / "trace.htap"
            command = [HEAPTAP, "run", "-q", "--no-leak-scan", "-o", trace, "--", VERIFY / program, *arguments]
            run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                                 env={**os.environ, "HEAPTAP_CLOCK": clock})
            self.assertEqual(run.returncode, 0, run.stderr)
            check = subprocess.run([VERIFY / "order_check", trace, *run.stdout.split()], capture_output=True, text=True,
                                   timeout=600, check=False)
            print(check.stdout.splitlines()[-1] if check.stdout else check.stderr, flush=True)
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
            summary = subprocess.run([HEAPTAP, "show", "summary", trace], capture_output=True, text=True, timeout=600, check=True)
            self.assertEqual("events are ordered by a counter" in summary.stdout, clock == "counter", summary.stdout)

    def test_storm(self):
        for number in range(RUNS):
            with self.subTest(run=number):
                self.check("order_storm", [str(ROUNDS_A_THREAD)], "processor")

    def test_storm_by_the_counter(self):
        self.check("order_storm", [str(ROUNDS_A_THREAD)], "counter")

    def test_handover(self):
        for number in range(HANDOVER_RUNS):
            with self.subTest(run=number):
                self.check("order_handover", [str(HANDOVERS_A_RUN), *DELAYS], "processor")

    def test_handover_by_the_counter(self):
        self.check("order_handover", [str(HANDOVERS_A_RUN), *DELAYS], "counter")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
