"""The order of events is possible, and none is missing, while eight threads hand blocks to each other.

Environment: HEAPTAP (the program), VERIFY (folder of order_storm and order_check).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HEAPTAP = os.environ["HEAPTAP"]
VERIFY = pathlib.Path(os.environ["VERIFY"])
RUNS = 5
ROUNDS_A_THREAD = int(os.environ.get("ORDER_ROUNDS", "150000"))  # a little over two events each, in all eight


class OrderVerify(unittest.TestCase):
    def test_every_run(self):
        for number in range(RUNS):
            with self.subTest(run=number), tempfile.TemporaryDirectory(prefix="heaptap-verify-") as folder:
                trace = pathlib.Path(folder) / "trace.htap"
                command = [HEAPTAP, "run", "-q", "--no-leak-scan", "-o", trace, "--", VERIFY / "order_storm",
                           str(ROUNDS_A_THREAD)]
                storm = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
                self.assertEqual(storm.returncode, 0, storm.stderr)
                check = subprocess.run([VERIFY / "order_check", trace, *storm.stdout.split()], capture_output=True, text=True,
                                       timeout=120, check=False)
                print(check.stdout.splitlines()[-1] if check.stdout else check.stderr, flush=True)
                self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
