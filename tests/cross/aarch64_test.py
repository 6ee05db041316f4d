"""heaptap, built for AArch64: it tells of a trace from x86-64 what the native one tells, the same bytes in every view; and it records the
target programs there, under qemu-user, with the expectations that they have here.

The environment names the native program (HEAPTAP), a program to record (SHOP), the sources (SOURCE), the native second witnesses (VERIFY)
and a directory that is kept between runs for what is built (BUILD)."""
import os
import pathlib
import re
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
VERIFY = pathlib.Path(os.environ["VERIFY"])

VIEWS = [["summary"], ["leaks"], ["top"], ["tree"], ["tree", "--bottom-up"], ["stats"], ["sizes"], ["lifetimes"], ["timeline"],
         ["blocks"], ["top", "--sort", "peak", "-n", "3", "-d", "0"], ["leaks", "--scans"], ["leaks", "--globals"],
         ["leaks", "--retained"], ["leaks", "--why", "#1"], ["leaks", "--gen-suppressions"], ["top", "--function", "Basket"],
         ["stats", "--thread", "2"]]

# What the size of a page could matter to: memory of mappings, stacks, modules, children; and how blocks are found.
ON_LARGER_PAGES = ["constructors", "dlopen_loop", "exact_threads", "exceptions", "large_frames", "malloc_family", "operator_new", "own_malloc",
                   "realigned_frames", "recursion", "stack_maze", "ucontext_stacks"]
# tests/verify/stacks_verify.py, test_target_programs.
STACKS_VERIFIED = ["changed_caller", "constructors", "coroutines", "deep_leaf", "exceptions", "inlined_frames", "large_frames", "longjmp_frames",
                   "malloc_family", "no_frame_pointers", "operator_new", "qsort_callback", "realigned_frames", "realloc_rules", "recursion",
                   "signal_raise", "siglongjmp_altstack", "stack_maze", "tail_calls"]


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

    def emulating(self, script, *arguments, timeout_s=1800, **variables):
        """A script of this machine where the kernel starts AArch64's programs, with those of them that were built."""
        environment = {**os.environ, "HEAPTAP": str(BUILD / "bin/heaptap"), "TARGETS": str(BUILD / "tests/targets"), "HEAPTAP_NO_LEAK_SCAN": "1",
                       **{name: str(value) for name, value in variables.items()}}
        environment.pop("CI", None)  # those that are about x86-64 weren't built
        outcome = run([*emulated.command("aarch64", BUILD / "sysroot"), sys.executable, SOURCE / script, *arguments], env=environment,
                      cwd=self.directory, timeout_s=timeout_s)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome

    def test_records_the_target_programs(self):
        names = sorted(set(heaptap_test.TARGET_SOURCES) - not_for_the_emulator())
        self.assertGreater(len(names), 150)
        self.emulating("tests/e2e/run_targets.py", *names)

    def test_records_them_where_pages_are_larger(self):
        """As the emulator tells programs, and as it maps memory for them."""
        for page_bytes in (16384, 65536):
            with self.subTest(page_bytes=page_bytes):
                told = self.emulating("tests/e2e/run_targets.py", *ON_LARGER_PAGES, QEMU_PAGESIZE=page_bytes)
                self.assertIn(f"Ran {len(ON_LARGER_PAGES)} tests".encode(), told.stderr)

    def verify_stacks(self, tests, fewest, **variables):
        """tests/verify there: each stack is what libgcc's unwinder sees. The emulator's signal frames are known to that one alone."""
        oracle = self.directory / "libstack_oracle.so"
        aarch64_build.compile_shared(SOURCE / "tests/verify/stack_oracle.c", oracle)
        loader = next((BUILD / "sysroot/lib").rglob("ld-linux-aarch64.so.1"))
        outcome = self.emulating("tests/verify/stacks_verify.py", *(f"StacksVerify.test_{name}" for name in tests), VERIFY=VERIFY,
                                 STACK_ORACLE=oracle, LOADER=loader, WITHOUT="signal_raise siglongjmp_altstack", **variables)
        distinct = sum(map(int, re.findall(rb"compared, (\d+) distinct", outcome.stdout)))
        self.assertGreaterEqual(distinct, fewest, outcome)

    def test_stacks_are_those_of_another_unwinder(self):
        self.verify_stacks(["a_program_of_the_standard_library", "target_programs", "contexts_on_stacks_of_their_own"], 1000,
                           COMPILER=f"{aarch64_build.TRIPLET}-g++")

    def test_stacks_of_signed_return_addresses_too(self):
        protection = "-mbranch-protection=standard"
        compiler = [f"{aarch64_build.TRIPLET}-g++", protection]
        programs = self.directory / "signed"
        programs.mkdir()
        for built in (BUILD / "tests/targets").iterdir():
            source = heaptap_test.TARGET_SOURCES.get(built.name)
            if source and built.name in STACKS_VERIFIED and aarch64_build.is_alone(source):
                aarch64_build.compile_target(source, programs / built.name, protection)
                listing = run([f"{aarch64_build.TRIPLET}-objdump", "--disassemble", programs / built.name])
                self.assertIn(b"paciasp", listing.stdout)
            elif built.is_file():
                (programs / built.name).symlink_to(built)
        self.verify_stacks(["a_program_of_the_standard_library", "target_programs"], 1000, COMPILER=" ".join(compiler), TARGETS=programs)

    def test_agents_code_may_be_guarded(self):
        """Where indirect branches must land at landing pads (BTI), its hooks are entered and left by them."""
        guarded = self.directory / "guarded_agent"
        aarch64_build.run_or_fail([f"{aarch64_build.TRIPLET}-gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", guarded,
                                   SOURCE / "tests/cross/guarded_agent.c"])
        told = run([*emulated.command("aarch64", BUILD / "sysroot"), BUILD / "bin/heaptap", "run", "-q", "-f", "--no-leak-scan", "-o",
                    "%p.htap", "--", guarded], cwd=self.directory)
        self.assertEqual((told.status, told.stdout), (0, b"guarded\n"), told)

    def test_is_built_without_multicast_dns(self):
        outcome = self.foreign_heaptap("discover")
        self.assertEqual(outcome.status, 2, outcome)
        self.assertIn(b"no multicast DNS", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
