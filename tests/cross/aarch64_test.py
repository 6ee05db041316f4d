"""heaptap, built for AArch64: it tells of a trace from x86-64 what the native one tells, the same bytes in every view; and it records the
target programs there, under qemu-user, with the expectations that they have here.

The environment names the native program (HEAPTAP), a program to record (SHOP), the sources (SOURCE) and a directory that is kept between
runs for what is built (BUILD)."""
import os
import pathlib
import sys
import unittest

import aarch64_build

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import emulated
import heaptap_test
from heaptap_test import heaptap, run

SOURCE = pathlib.Path(os.environ["SOURCE"])
BUILD = pathlib.Path(os.environ["BUILD"])
SHOP = pathlib.Path(os.environ["SHOP"])

VIEWS = [["summary"], ["leaks"], ["top"], ["tree"], ["tree", "--bottom-up"], ["stats"], ["sizes"], ["lifetimes"], ["timeline"],
         ["blocks"], ["top", "--sort", "peak", "-n", "3", "-d", "0"], ["leaks", "--scans"], ["leaks", "--globals"],
         ["leaks", "--retained"], ["leaks", "--why", "#1"], ["leaks", "--gen-suppressions"], ["top", "--function", "Basket"],
         ["stats", "--thread", "2"]]


def not_for_the_emulator():
    """The names in emulated.txt."""
    lines = (SOURCE / "tests/cross/emulated.txt").read_text().splitlines()
    return {name for line in lines if line and not line.startswith("#") for name in line.split(":")[0].split()}


class AArch64(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        aarch64_build.build("heaptap", "heaptap_agent", "target_programs")
        cls.foreign = ["qemu-aarch64-static", "-L", BUILD / "sysroot", BUILD / "bin/heaptap"]

    def foreign_heaptap(self, *arguments):
        return run([*self.foreign, *arguments], env=os.environ, cwd=self.directory)

    def same(self, *arguments):
        """What both say, after a look that it is the same."""
        native = heaptap(*arguments, env=os.environ, cwd=self.directory)
        foreign = self.foreign_heaptap(*arguments)
        self.assertEqual((native.status, native.stdout, native.stderr), (foreign.status, foreign.stdout, foreign.stderr), arguments)
        return native

    def test_tells_the_same(self):
        for way in ("agent", "ptrace"):
            trace = f"{way}.htap"
            recorded = heaptap("run", f"--via={way}", "-q", "-o", trace, "--", SHOP, cwd=self.directory)
            self.assertEqual(recorded.status, 3, recorded)
            for view in VIEWS:
                for form in ([], ["--json"]):
                    if form and "--gen-suppressions" in view:
                        continue
                    with self.subTest(way=way, view=view, form=form):
                        told = self.same("show", *view, trace, *form)
                        self.assertEqual(told.status, 0, told)
                        self.assertTrue(told.stdout)
            # Names are those of the program, not only equal.
            self.assertIn(b"shop::Basket<shop::Item>::add", self.same("show", "leaks", trace).stdout)
            summary = heaptap_test.read_report(self.same("show", "summary", trace, "--json").stdout)
            self.assertEqual(summary["target"]["arch"], "x86_64")
            self.assertEqual(summary["leaks"]["definite"]["blocks"], 4)
            self.assertEqual(self.same("check", "--max-leaked", "0", trace).status, 1)

    def test_says_what_it_can_not_do(self):
        outcome = self.foreign_heaptap("run", "--", SHOP)
        self.assertEqual(outcome.status, 126, outcome)
        self.assertIn(b"it is a program for another CPU", outcome.stderr)
        # The emulator has no ptrace; aarch64_kernel_test.py has a kernel.
        for command in (["attach", str(os.getpid())], ["run", "--via=ptrace", "--", BUILD / "tests/targets/malloc_family"]):
            outcome = self.foreign_heaptap(*command)
            self.assertNotEqual(outcome.status, 0, outcome)
            self.assertRegex(outcome.stderr, b"Function not implemented|another CPU")

    def test_records_the_target_programs(self):
        run_targets = SOURCE / "tests/e2e/run_targets.py"
        names = sorted(set(heaptap_test.TARGET_SOURCES) - not_for_the_emulator())
        self.assertGreater(len(names), 150)
        environment = {**os.environ, "HEAPTAP": str(BUILD / "bin/heaptap"), "TARGETS": str(BUILD / "tests/targets"), "HEAPTAP_NO_LEAK_SCAN": "1"}
        environment.pop("CI", None)  # those that are about x86-64 weren't built
        outcome = run([*emulated.command("aarch64", BUILD / "sysroot"), sys.executable, run_targets, *names], env=environment,
                      cwd=self.directory, timeout_s=1800)
        self.assertEqual(outcome.status, 0, outcome)

    def test_is_built_without_multicast_dns(self):
        outcome = self.foreign_heaptap("discover")
        self.assertEqual(outcome.status, 2, outcome)
        self.assertIn(b"no multicast DNS", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
