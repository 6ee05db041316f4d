"""--ring: the last events are kept in memory, and written when something happens; as a trace, which has what is live."""
import json
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, TARGETS, heaptap, notes_of, summary
from waiting import ended, wait_for

PROGRAM = TARGETS / "last_words"
ROUNDS = 2_000_000  # more than a ring of 1 MiB has room for


class Ring(heaptap_test.TestCase):
    def record(self, end, *options, rounds=ROUNDS, ring=("--ring", "1M"), name="last.htap"):
        outcome = heaptap("run", *ring, "-o", self.directory / name, *options, "--", PROGRAM, str(rounds), end)
        return outcome, self.directory / name

    def files(self):
        return sorted(path.name for path in self.directory.iterdir() if path.suffix == ".htap" and not path.is_symlink())

    def assert_is_last_part(self, trace, status=None, whole=None):
        report = summary(trace)
        self.assertEqual(report["totals"]["live_blocks"], 1000)
        self.assertFalse(report["capture"]["truncated"], report["capture"])
        self.assertEqual(report["totals"]["bad_frees"] + report["totals"]["double_frees"] + report["totals"]["mismatched_frees"], 0)
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assertTrue([note for note in notes_of(report) if note.startswith("--ring: everything after ")], report)
        self.assertIn("dropped_past", report["capture"]["gaps"])
        if whole is not None:
            self.assertEqual(report["totals"]["live_bytes"], whole["totals"]["live_bytes"])
            self.assertLess(report["totals"]["allocations"], whole["totals"]["allocations"])
        return report

    def test_a_good_end_writes_nothing(self):
        outcome, _ = self.record("well")
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn("ended well: nothing is written", outcome.stderr.decode())
        self.assertEqual(self.files(), [])

    def test_a_crash_a_kill_and_a_failure_are_written(self):
        _, path = self.record("fail", ring=(), name="whole.htap")
        whole = summary(path)
        for end, status in (("crash", 139), ("kill", 137), ("fail", 3)):
            with self.subTest(end=end):
                outcome, trace = self.record(end, name=f"{end}.htap")
                self.assertEqual(outcome.status, status, str(outcome))
                report = self.assert_is_last_part(trace, whole=whole)
                if end == "crash":
                    self.assertIn("killed by SIGSEGV in crash", outcome.stderr.decode())
                    self.assertEqual(report["leaks"]["definite"]["blocks"], 0)
                    self.assertIn("no leaks", outcome.stderr.decode())
                views = heaptap("show", "top", trace)
                self.assertIn("keep_one", views.stdout.decode())

    def test_so_by_ptrace(self):
        outcome, trace = self.record("kill", "--via", "ptrace", rounds=60_000)
        self.assertEqual(outcome.status, 137, str(outcome))
        self.assertEqual(summary(trace)["totals"]["live_blocks"], 1000)

    def test_a_ring_that_is_large_enough_has_everything(self):
        _, whole = self.record("fail", rounds=1000, ring=(), name="whole.htap")
        _, part = self.record("fail", rounds=1000, ring=("--ring", "64M"))
        one, other = summary(whole), summary(part)
        for key in ("allocations", "allocated_bytes", "frees", "live_blocks", "live_bytes"):
            if key in one["totals"]:
                self.assertEqual(one["totals"][key], other["totals"][key], key)
        self.assertNotIn("dropped_past", other["capture"]["gaps"])

    def test_a_mark_and_a_signal_write_files_of_their_own(self):
        trace = self.directory / "asked.htap"
        process = subprocess.Popen([HEAPTAP, "run", "--ring", "1M", "-o", trace, "--", PROGRAM, str(ROUNDS), "wait"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        program = int(pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[-1])
        mark = heaptap("mark", str(program), "slow")
        self.assertEqual(mark.status, 0, str(mark))
        wait_for("the first file", lambda: (self.directory / "asked-1.htap").exists() and self.is_whole("asked-1.htap"))
        self.assertEqual(self.files(), ["asked-1.htap"])
        marked = self.assert_is_last_part(self.directory / "asked-1.htap")
        self.assertIn("slow", str(marked["marks"]))
        refused = heaptap("leaks", str(program))
        self.assertNotEqual(refused.status, 0)
        self.assertIn("heaptap mark", refused.stderr.decode())
        process.send_signal(signal.SIGUSR1)
        wait_for("the second file", lambda: (self.directory / "asked-2.htap").exists() and self.is_whole("asked-2.htap"))
        self.assert_is_last_part(self.directory / "asked-2.htap")
        _, errors = process.communicate("\n")
        self.assertEqual(ended(process), 0, errors)
        self.assertIn("mark 'slow': ", errors)
        self.assertEqual(self.files(), ["asked-1.htap", "asked-2.htap"])

    def is_whole(self, name):
        outcome = heaptap("show", "summary", "--json", self.directory / name)
        return outcome.status == 0 and not json.loads(outcome.stdout)["capture"]["truncated"]

    def test_a_rule_writes_when_it_begins_to_hold(self):
        outcome, _ = self.record("grow", "--when", "live > 20M", "--when", "growth > 1G/s", rounds=1000)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(self.files(), ["last-1.htap"], str(outcome))
        live = summary(self.directory / "last-1.htap")["totals"]["live_bytes"]
        self.assertGreater(live, 20 << 20)
        self.assertLess(live, 60 << 20)
        self.assertIn("live > 20M: ", outcome.stderr.decode())

    def test_a_place_that_cant_be_written_is_told_at_the_start(self):
        outcome = heaptap("run", "--ring", "1M", "-o", self.directory / "none" / "x.htap", "--", PROGRAM, "10", "crash")
        self.assertIn("can't write", outcome.stderr.decode())
        (self.directory / "there.htap").write_text("text")
        outcome = heaptap("run", "--ring", "1M", "-o", self.directory / "there.htap", "--", PROGRAM, "10", "fail")
        self.assertIn("exists already", outcome.stderr.decode())
        self.assertEqual((self.directory / "there.htap").read_text(), "text")
        (self.directory / "link.htap").symlink_to("there.htap")
        outcome = heaptap("run", "--ring", "1M", "--force", "-o", self.directory / "link.htap", "--", PROGRAM, "10", "fail")
        self.assertIn("symbolic link", outcome.stderr.decode())
        self.assertEqual((self.directory / "there.htap").read_text(), "text")

    def test_what_it_cant_do_is_refused(self):
        for options, words in (((["--when", "live > 1"]), "--ring"), (["--ring", "1K"], "at least 1M"),
                               (["--ring", "1M", "--aggregate"], "--aggregate"), (["--ring", "1M", "--sample", "4K"], "--sample"),
                               (["--ring", "1M", "--when", "often"], "growth > 10M/min"),
                               (["--ring", "1M", "--error-exitcode", "3"], "--error-exitcode")):
            outcome = heaptap("run", *options, "--", PROGRAM, "10", "well")
            self.assertEqual(outcome.status, 2, str(outcome))
            self.assertIn(words, outcome.stderr.decode())


if __name__ == "__main__":
    unittest.main()
