"""The variable that holds a program's memory is named first, however the program ends and while it runs."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, TARGETS, heaptap
from waiting import descendants, ended, read_until

# tests/targets/leaks/held_by_registry.c
HELD = {"blocks": 1000, "bytes": 1008 * 1000}
OWNERS = ("held", "thread_locals", "mappings", "stacks")


class Holders(heaptap_test.TestCase):
    def check_globals(self, text, data, on_stack):
        """`on_stack`: whether main's stack is a root of the scan for sure."""
        self.assertRegex(text, r"984\.4 KiB +1,000 +1 block" + (r"\s+stack" if on_stack else "") + r"[\w,\s-]* global registry \(held_by_registry\.c:\d+\)\n")
        first = data["entries"][0]
        self.assertEqual((first["variable"]["name"], first["retained"]), ("registry", HELD))
        if on_stack:
            self.assertIn("stack", first["also_from"])
            self.assertEqual(first["also"], HELD)
        for unit in ("blocks", "bytes"):
            parts = [*(entry["retained"] for entry in data["entries"]), data["unlisted"], data["shared"]]
            self.assertEqual(sum(part[unit] for part in parts), data["held"][unit])
            self.assertEqual(sum(data[owner][unit] for owner in OWNERS), data["reachable"][unit])

    def check_ending(self, way, status, on_stack, *options):
        outcome = heaptap("run", *options, "-o", self.trace, "--force", "--", TARGETS / "held_by_registry", way, cwd=self.directory)
        self.assertEqual(outcome.status, status, str(outcome))
        end = outcome.stderr.decode()
        self.assertRegex(end, r"no leaks; .* still reachable, 984\.4 KiB of them by global registry \(held_by_registry\.c:\d+\)\n")
        self.assertRegex(end, r"next:  heaptap show leaks --globals \S+trace\.htap\n")
        text, data = (heaptap("show", "leaks", "--globals", *words, self.trace, cwd=self.directory).stdout.decode() for words in ((), ("--json",)))
        self.check_globals(text, json.loads(data), on_stack)
        html = self.directory / "report.html"
        written = heaptap("report", "-o", html, "--force", self.trace, cwd=self.directory)
        self.assertEqual(written.status, 0, str(written))
        findings = [finding["text"] for finding in heaptap_test.document_of(html.read_text())["verdict"]]
        self.assertTrue(any(re.search(r"still reachable, 984\.4 KiB of them by global registry ", each) for each in findings), findings)

    def test_a_program_that_returns(self):
        self.check_ending("return", 0, False)

    def test_a_program_that_leaves_by__exit(self):
        self.check_ending("_exit", 0, False)

    def test_a_service_that_is_terminated(self):
        self.check_ending("term", 128 + signal.SIGTERM, True)

    def test_a_program_that_crashes(self):
        self.check_ending("segv", 128 + signal.SIGSEGV, True)

    def test_a_program_that_crashes_recorded_by_ptrace(self):
        if not heaptap_test.has_tracer():
            self.skipTest("this heaptap has no tracer")
        self.check_ending("segv", 128 + signal.SIGSEGV, True, "--via", "ptrace")

    def test_a_service_that_waits(self):
        recorder = subprocess.Popen([HEAPTAP, "run", "-q", "-o", self.trace, "--", TARGETS / "held_by_registry", "wait"],
                                    stdout=subprocess.PIPE, cwd=self.directory)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(heaptap_test.end, recorder)
        read_until(recorder.stdout.fileno(), "ready", lambda text: text.endswith(b"ready\n"), state=[recorder])
        (pid,) = [pid for pid in descendants(recorder.pid) if heaptap_test.executable(pid).endswith("/held_by_registry")]
        text, data = (heaptap("leaks", "--globals", *words, pid, cwd=self.directory).stdout.decode() for words in ((), ("--json",)))
        self.check_globals(text, json.loads(data), True)
        os.kill(pid, signal.SIGTERM)
        ended(recorder)


if __name__ == "__main__":
    unittest.main()
