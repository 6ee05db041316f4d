# CTEST PROCESSORS 2
"""A program that overwrites a word of the memory that it shares with heaptap: heaptap lives, ends, and gives the program's
status. HEAPTAP_LONG=1: 10,000 runs."""
import concurrent.futures
import os
import pathlib
import random
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, LONG, built

HEADER_BYTES = 2240
# Where the header says at which offset a part lies, and how much of the part a short program uses: 0 is the header itself.
PARTS = {32: 1024, 40: 8192, 56: 1024, 64: 4096, 72: 65536, 80: 4096, 88: 4096}
TOTALS = 128  # the same for those of --aggregate; behind it lie names
BEHIND_NAMES = 1160
WORDS = (0, 1, 8, 0x7f, 0xffff, 0x4141414141414141, 2**31, 2**32 - 1, 2**32, 2**44, 2**47, 2**62, 2**63, 2**64 - 8, 2**64 - 1)


def cases(count, seed, options):
    """(part, offset, word): two of three in the header, where first each field has its turn, the others in the tables."""
    chance = random.Random(seed)
    fields = [*range(0, TOTALS + 8, 8), *range(BEHIND_NAMES, HEADER_BYTES, 8)]
    turns = iter(fields)
    parts = list(PARTS.items()) + ([(TOTALS, 65536)] if "--aggregate" in options else [])
    for number in range(count):
        word = chance.choice([chance.choice(WORDS), chance.getrandbits(64), chance.getrandbits(32), 1 << chance.randrange(64)])
        if number % 3:
            yield 0, next(turns, None) or chance.choice(fields), word
        else:
            part, size = chance.choice(parts)
            yield part, chance.randrange(size // 8) * 8, word


class OverwrittenLog(heaptap_test.TestCase):
    def run_case(self, number, part, offset, word, options=()):
        trace = self.directory / f"{number}.htap"
        command = [HEAPTAP, "run", "-q", "-o", trace, *options, "--", built("log_overwritten"), part, offset, word]
        try:
            ended = subprocess.run([str(text) for text in command], capture_output=True, timeout=120)
            status, said = ended.returncode, ended.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            status, said = "still running", ""
        trace.unlink(missing_ok=True)
        return "" if status == 5 else f"{part} {offset} {word} {' '.join(options)}: {status} {said[-300:]}"

    def run_all(self, count, seed, options=()):
        with concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            work = [pool.submit(self.run_case, number, *case, options) for number, case in enumerate(cases(count, seed, options))]
            wrong = [problem for problem in (one.result() for one in work) if problem]
        self.assertEqual(wrong, [], f"of {count} runs, seed {seed}")

    def test_any_word(self):
        self.run_all(10000 if LONG else 200, seed=random.randrange(2**32) if LONG else 1)

    def test_any_word_of_totals(self):
        self.run_all(1000 if LONG else 40, seed=2, options=("--aggregate",))


if __name__ == "__main__":
    unittest.main()
