# CTEST COST 15
"""Recording that is switched off for a while: what was recorded before is released all the same, and what came meanwhile is
nobody's error. By the program itself, from a console, from the start; by the agent, by ptrace and from another machine."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from api_building import INCLUDE, SOURCES, STUBS, build
from heaptap_test import HEAPTAP, heaptap, summary

OPTIONS = "-std=gnu11 -O1 -g -fno-builtin -pthread"
SIZE = 100


class TestCase(heaptap_test.TestCase):
    via = "agent"
    program = "alone"
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.programs = cls.make_class_directory()
        source = SOURCES / "pauses.c"
        build("gcc", OPTIONS, "-I", INCLUDE, source, "-o", cls.programs / "alone")
        build("gcc", OPTIONS, "-static -DHEAPTAP_STUBS -I", INCLUDE, source, STUBS, "-o", cls.programs / "static")

    def command(self, way, *options):
        return ["run", "-q", "--via", self.via, "--force", "-o", self.trace, *self.options, *options, "--", self.programs / self.program, way]

    def pause(self, way, *options):
        done = heaptap(*self.command(way, *options), cwd=self.directory)
        self.assertEqual(done.status, 5, str(done))
        return summary(self.trace)

    def of(self, report, function):
        """Sums over the stacks of what this function got."""
        names = ("allocations", "frees", "live_blocks", "live_bytes")
        found = [stack for stack in report["stacks"] if any(frame["function"] == function for frame in stack["frames"])]
        return {name: sum(stack[name] for stack in found) for name in names}

    def accuses_nobody(self, report):
        for count in ("bad_frees", "double_frees", "mismatched_frees", "unknown_pool_frees"):
            self.assertEqual(report["totals"][count], 0, count)
        self.assertEqual(report.get("errors", []), [])

    def expect_what_is_left(self, report):
        self.assertEqual(self.of(report, "fill"), {"allocations": 1000, "frees": 910, "live_blocks": 90, "live_bytes": 90 * SIZE})
        self.accuses_nobody(report)
        self.assertEqual(report["capture"]["gaps"], ["switched_off"])
        leaks = report["leaks"]
        self.assertTrue(leaks["scanned"], report["notes"])
        self.assertEqual(leaks["unknown"], {"blocks": 0, "bytes": 0})
        # Chunks that are free are roots, and what glibc keeps in them may look like a pointer, where the heap lies low.
        self.assertEqual(leaks["definite"]["blocks"] + leaks["possible"]["blocks"], 30)
        self.assertGreater(leaks["definite"]["blocks"], 5)
        self.assertGreaterEqual(leaks["reachable"]["blocks"], 60)


class Pausing:
    def test_what_was_recorded_is_released_meanwhile(self):
        report = self.pause("window")
        self.expect_what_is_left(report)
        totals = report["totals"]
        self.assertEqual((totals["pool_allocations"], totals["pool_live_blocks"], totals["pool_live_bytes"]), (2, 1, 200))
        unmapped = [stack for stack in report["stacks"] if stack["function"] == "mmap"]
        self.assertEqual(sum(stack["live_bytes"] for stack in unmapped), 1 << 20)

    def test_nothing_is_accused_where_it_begins_off(self):
        report = self.pause("first", "-E", "HEAPTAP_ENABLED=0")
        self.accuses_nobody(report)
        self.assertEqual((report["totals"]["allocations"], report["totals"]["live_blocks"]), (1, 0))

    def test_the_verdict_names_what_is_certain(self):
        self.pause("window")
        text = heaptap("show", self.trace).stdout.decode()
        self.assertIn("switched off", text)
        self.assertEqual(heaptap("check", "--max-leaked", 5 * SIZE, self.trace).status, 1)
        self.assertEqual(heaptap("check", "--max-leaked", 500 * SIZE, self.trace).status, 3)


class Switched:
    """From outside, with `heaptap console`."""

    def test_by_a_console(self):
        with subprocess.Popen([HEAPTAP, *map(str, self.command("asked"))], cwd=self.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            self.addCleanup(heaptap_test.end, process)
            word, program = process.stdout.readline().split()
            self.assertEqual(word, b"filled")
            for order in ("stop", "start"):
                outcome = heaptap("console", program.decode(), "-x", order)
                self.assertEqual(outcome.status, 0, outcome)
                process.stdin.write(b"\n")
                process.stdin.flush()
                if order == "stop":
                    self.assertEqual(process.stdout.readline(), b"off\n")
            self.assertEqual(process.wait(), 5)
        self.expect_what_is_left(summary(self.trace))


class ByAgent(Pausing, Switched, TestCase):
    def test_threads(self):
        """None of their blocks is left, and none was released badly, however often it is switched."""
        for options in ((), ("--aggregate",)):
            with self.subTest(options=options):
                report = self.pause("threads", *options)
                self.accuses_nobody(report)
                self.assertEqual(self.of(report, "churn")["live_blocks"], 0)
                self.assertNotIn("missed_releases", report["capture"]["gaps"])

    def test_totals(self):
        report = self.pause("window", "--aggregate")
        self.assertEqual(self.of(report, "fill")["live_blocks"], 90)
        self.accuses_nobody(report)


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap has no tracer")
class ByPtrace(Pausing, Switched, TestCase):
    via = "ptrace"
    program = "static"


class FromAnotherMachine(TestCase):
    def setUp(self):
        super().setUp()
        address = str(self.directory / "far.sock")
        self.options = ("-H", address)
        server = far.serving(address, "-q")
        server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def test_what_was_recorded_is_released_meanwhile(self):
        for via, program in (("agent", "alone"), ("ptrace", "static")):
            if via == "agent" or heaptap_test.has_tracer():
                with self.subTest(via=via):
                    self.via, self.program = via, program
                    self.expect_what_is_left(self.pause("window"))

    def test_nothing_is_accused_where_it_begins_off(self):
        report = self.pause("first", "-E", "HEAPTAP_ENABLED=0")
        self.accuses_nobody(report)
        self.assertEqual((report["totals"]["allocations"], report["totals"]["live_blocks"]), (1, 0))


if __name__ == "__main__":
    unittest.main()
