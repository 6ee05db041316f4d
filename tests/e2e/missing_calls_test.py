# CTEST COST 60
"""Kernels and filters without one of the newer system calls: heaptap records the same, and what it can't do without it says in a
sentence. docs/libc.md lists them."""
import errno
import functools
import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import heaptap_test
import refused_calls
from heaptap_test import Outcome
from waiting import TIMEOUT_S

ROOT = HERE.parent.parent
NUMBERS = refused_calls.numbers()
OLDEST = "process_vm_readv"  # since Linux 3.2; their numbers ascend with time
WAYS = ("--via=agent", "--via=ptrace", "--far=unix")


def rows():
    """The table's rows: names of system calls, since when, what is without them."""
    for line in (ROOT / "docs/libc.md").read_text().partition("| system call |")[2].splitlines()[2:]:
        names, since, without = (cell.strip() for cell in line.strip("|").split("|"))
        yield re.findall(r"`(\w+)`", names), since, without


LISTED = {name for names, _, _ in rows() for name in names}
NEEDED = sorted({name for names, since, _ in rows() if since for name in names}, key=NUMBERS.get)


def called():
    """Newer system calls that the sources name."""
    newer = {name for name, number in NUMBERS.items() if number >= NUMBERS[OLDEST]}
    found = set()
    for file in (ROOT / "src").rglob("*"):
        if file.suffix in (".cc", ".h", ".S"):
            code = re.sub(r"//.*", "", file.read_text())
            found |= newer & set(re.findall(r"\b(?:SYS_|__NR_)?(\w+)\b(?=\s*[(,);\]])", code))
    return found


class MissingCalls(heaptap_test.TestCase):
    def run_without(self, calls, *words, error=errno.ENOSYS, env=None):
        prepare = functools.partial(refused_calls.refuse, [NUMBERS[call] for call in calls], error)
        ended = subprocess.run([str(word) for word in words], capture_output=True, preexec_fn=prepare, cwd=self.directory, timeout=TIMEOUT_S,
                               stdin=subprocess.DEVNULL, env=env, check=False)
        return Outcome(heaptap_test.shell_status(ended.returncode), ended.stdout, ended.stderr)

    def check_targets(self, calls, way, *names):
        """The expectations of these target programs hold."""
        options = [] if way == "--via=agent" else [way]
        told = self.run_without(calls, sys.executable, HERE / "run_targets.py", *options, *names, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        self.assertEqual(told.status, 0, told)
        self.assertIn(f"Ran {len(names)} test".encode(), told.stderr)

    def test_all_are_listed(self):
        self.assertEqual(called(), LISTED)

    def test_records_the_same_without_one(self):
        for call in NEEDED:
            for way in WAYS if heaptap_test.LONG else WAYS[:1]:
                with self.subTest(call=call, way=way):
                    self.check_targets([call], way, "malloc_family", "leak_definite")

    def test_records_the_same_without_all(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.check_targets(NEEDED, way, "malloc_family", "leak_definite", "fork_chain")

    def test_says_that_there_are_no_random_numbers(self):
        """Refused by a filter; nothing is there in their place."""
        told = self.run_without(["getrandom"], heaptap_test.HEAPTAP, "run", "-o", self.trace, "--", "/bin/echo", "ran", error=errno.EPERM)
        self.assertEqual((told.status, told.stdout), (125, b""), told)
        self.assertIn(b"the kernel gives no random numbers: Operation not permitted", told.stderr)

    def test_ring_says_what_it_needs(self):
        told = self.run_without(["memfd_create"], heaptap_test.HEAPTAP, "run", "--ring=1M", "-o", self.trace, "--", "/bin/echo", "ran")
        self.assertEqual((told.status, told.stdout), (0, b"ran\n"), told)
        self.assertIn(b"no memory for the last events: Function not implemented", told.stderr)


if __name__ == "__main__":
    unittest.main()
