"""A scan where exit begins: kept in the trace if a destructor or an exit handler drops what a root led to, and never in the program's way."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import TARGETS, heaptap

# tests/targets/answers/answers_cache.cc
LOST = {"blocks": 1000, "bytes": 1000 * 1000}


class ExitStart(heaptap_test.TestCase):
    def recorded(self, *words, options=()):
        outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / "answers_cache", *words)
        self.assertEqual(outcome.status, 0, outcome)

    def shown(self, *words):
        outcome = heaptap(*words, self.trace)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def scans(self):
        return json.loads(self.shown("show", "leaks", "--scans", "--json"))["scans"]

    def stack(self):
        document = json.loads(self.shown("show", "leaks", "--json"))
        self.assertEqual(document["leaks"]["definite"], LOST)
        (stack,) = [stack["id"] for stack in document["stacks"] if stack["leaks"].get("definite") == LOST]
        return stack

    def check_kept(self, variable="g_cache"):
        start, end = self.scans()
        self.assertEqual((start["at_end"], start["definite"]["blocks"]), (False, 0))
        self.assertEqual((end["at_end"], end["definite"]), (True, LOST))
        why = self.shown("show", "leaks", "--why", f"#{self.stack()}")
        self.assertRegex(why, rf"\n  global [^\n]*{variable} \(answers_cache\.cc:\d+\)")

    def check_not_kept(self):
        (end,) = self.scans()
        self.assertEqual((end["number"], end["at_end"]), (1, True))

    def test_main_returns(self):
        self.recorded()
        self.check_kept()

    def test_exit_is_called(self):
        self.recorded("exit")
        self.check_kept()

    def test_another_thread_calls_exit(self):
        self.recorded("thread")
        self.check_kept()

    def test_a_static_object_of_a_function_is_gone_before_it(self):
        self.recorded("local")
        self.check_not_kept()
        self.stack()

    def test_the_same_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        for way, variable in (("return", "g_cache"), ("exit", "g_cache"), ("thread", "g_cache"), ("local", "cache")):
            with self.subTest(way):
                self.recorded(way, options=("--via", "ptrace"))
                self.check_kept(variable)

    def test_the_same_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            for way in ("return", "exit"):
                with self.subTest(way):
                    self.recorded(way, options=("-H", self.directory / "far.sock"))
                    self.check_kept()

    def test_a_program_that_drops_nothing_has_one_scan(self):
        outcome = heaptap("run", "-o", self.trace, "--force", "--", TARGETS / "answers_trifle", "lost")
        self.assertEqual(outcome.status, 0, outcome)
        self.check_not_kept()

    def test_a_c_program_is_spared_it(self):
        for via in ("agent", "ptrace") if heaptap_test.has_tracer() else ("agent",):
            with self.subTest(via):
                outcome = heaptap("run", "--via", via, "-o", self.trace, "--force", "--", TARGETS / "drops_at_exit")
                self.assertEqual(outcome.status, 0, outcome)
                (end,) = self.scans()
                self.assertEqual((end["at_end"], end["definite"]["blocks"]), (True, 10))

    def test_without_a_leak_scan_there_is_none(self):
        self.recorded("exit", options=("--no-leak-scan",))
        self.assertEqual(json.loads(self.shown("show", "summary", "--json"))["leaks"]["definite"], {"blocks": None, "bytes": None})


if __name__ == "__main__":
    unittest.main()
