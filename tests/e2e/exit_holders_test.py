"""What a destructor or an exit handler drops is lost at the end, and the variable that held it until then is named."""
import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import far
import heaptap_test
from heaptap_test import TARGETS, heaptap

# tests/targets/answers/answers_cache.cc
LOST = {"blocks": 1000, "bytes": 1000 * 1000}
HELD = r"held by global .*g_cache \(answers_cache\.cc:\d+\) until its destructor or an exit handler ran"


class ExitHolders(heaptap_test.TestCase):
    def recorded(self, *words, options=()):
        outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / "answers_cache", *words)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stderr.decode()

    def shown(self, *words):
        outcome = heaptap(*words, self.trace)
        self.assertEqual(outcome.status, 0, outcome)
        return outcome.stdout.decode()

    def lost_stack(self):
        document = json.loads(self.shown("show", "leaks", "--json"))
        (stack,) = [stack for stack in document["stacks"] if stack["leaks"].get("definite") == LOST]
        return stack, document

    def check_told(self, end):
        self.assertRegex(end, r"LEAKED 1,000,000 bytes in 1,000 blocks.*\n.*make_page.*\n[^\n]*    " + HELD)
        leaks = self.shown("show", "leaks")
        self.assertRegex(leaks, r"definitely lost at .*make_page.*\n +" + HELD + r"\n")
        stack, document = self.lost_stack()
        held = stack["leaks"]["held_until_exit"]
        self.assertRegex(held["variable"], r"g_cache$")
        self.assertEqual({key: held[key] for key in LOST}, LOST)
        self.assertTrue(document["leaks"]["scan"]["at_end"])
        self.assertEqual(document["leaks"]["definite"], LOST)
        why = self.shown("show", "leaks", "--why", f"#{stack['id']}")
        self.assertRegex(why, r"Nothing points to it\.\n\nUntil destructors and exit handlers ran it was reachable:\n +global .*g_cache ")
        scans = json.loads(self.shown("show", "leaks", "--scans", "--json"))["scans"]
        self.assertEqual([(scan["at_end"], scan.get("at_exit_start", False)) for scan in scans], [(False, True), (True, False)])
        self.assertEqual(scans[0]["definite"]["blocks"], 0)
        html = self.directory / "report.html"
        self.shown("report", "-o", html, "--force")
        texts = [finding["text"] for finding in heaptap_test.document_of(html.read_text())["verdict"]]
        self.assertTrue(any(re.search(r"lost(, growing through the whole run)?; " + HELD, text) for text in texts), texts)

    def check_unknown(self, end):
        self.assertRegex(end, r"LEAKED 1,000,000 bytes in 1,000 blocks")
        self.assertNotIn("held by", end)
        stack, document = self.lost_stack()
        self.assertNotIn("held_until_exit", stack["leaks"])
        self.assertEqual(document["leaks"]["scan"]["number"], 1)

    def test_main_returns(self):
        self.check_told(self.recorded())

    def test_exit_is_called(self):
        self.check_told(self.recorded("exit"))

    def test_another_thread_calls_exit(self):
        self.check_told(self.recorded("thread"))

    def test_a_static_object_of_a_function_is_destroyed_earlier_than_the_scan(self):
        self.check_unknown(self.recorded("local"))

    def test_the_same_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        for way in ("return", "exit", "thread"):
            with self.subTest(way):
                self.check_told(self.recorded(way, options=("--via", "ptrace")))

    def test_by_ptrace_a_static_object_of_a_function_is_told_too(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.assertRegex(self.recorded("local", options=("--via", "ptrace")), r"held by global .*cache \(answers_cache\.cc:\d+\) until ")

    def test_the_same_of_another_machine(self):
        with far.serving(str(self.directory / "far.sock"), "-q"):
            for way in ("return", "exit"):
                with self.subTest(way):
                    self.check_told(self.recorded(way, options=("-H", self.directory / "far.sock")))

    def test_without_a_leak_scan_there_is_none_before_exit(self):
        end = self.recorded("exit", options=("--no-leak-scan",))
        self.assertIn("no leak scan", end)
        self.assertEqual(json.loads(self.shown("show", "summary", "--json"))["leaks"]["definite"], {"blocks": None, "bytes": None})

    def test_a_program_that_loses_nothing_at_exit_has_one_scan(self):
        outcome = heaptap("run", "-o", self.trace, "--force", "--", TARGETS / "answers_trifle", "lost")
        self.assertEqual(outcome.status, 0, outcome)
        self.assertEqual(len(json.loads(self.shown("show", "leaks", "--scans", "--json"))["scans"]), 1)


if __name__ == "__main__":
    unittest.main()
