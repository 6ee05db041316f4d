# CTEST COST 8
"""Recordings that go on: views, marks, the switch, detaching, and clients that don't behave."""
import json
import os
import pathlib
import random
import re
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, TARGETS
from waiting import ended, wait_for

VIEWS = ("summary", "leaks", "top", "tree", "stats", "sizes", "lifetimes", "timeline", "blocks")


def message(kind, number, *fields):
    """As docs/wire.md has it; numbers below 128."""
    payload = bytes([kind, number])
    for which, value in fields:
        payload += bytes([which, len(value)]) + value
    return struct.pack("<I", len(payload)) + payload


HELLO = message(1, 0, (1, b"\x01"), (2, b"\x00"))


class Steered:
    """tests/targets/threads/steered_threads.c, recorded; `options` are those of `heaptap run`."""

    def __init__(self, test, *options, env=None):
        directory = tempfile.TemporaryDirectory()
        test.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.trace = self.directory / "steered.htap"
        self.process = subprocess.Popen([HEAPTAP, "run", "-q", *options, "-o", self.trace, "--", TARGETS / "steered_threads"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.directory, env=env)
        test.addCleanup(self.end)
        self.process.stdout.readline()
        (self.pid,) = [pid for pid in heaptap_test.descendants(self.process.pid)
                       if heaptap_test.executable(pid).endswith("/steered_threads")]

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def end(self):
        if self.process.stdin.closed:
            return self.process.returncode
        self.process.stdin.close()
        status = ended(self.process)
        self.process.stdout.close()
        return status

    def console(self, *commands):
        script = "\n".join(commands) + "\n"
        return subprocess.run([HEAPTAP, "console", str(self.pid)], input=script, capture_output=True, text=True,
                              cwd=self.directory, timeout=heaptap_test.TIMEOUT_S)

    def shown(self, view, *options):
        run = subprocess.run([HEAPTAP, "show", view, "--json", *options, self.trace], capture_output=True, text=True)
        if run.returncode != 0:
            raise AssertionError(run.stderr)
        return heaptap_test.read_report(run.stdout) if view != "stats" else json.loads(run.stdout)

    def connection(self):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        one.connect(f"\0heaptap.recording.{self.pid}")
        one.settimeout(heaptap_test.TIMEOUT_S)
        return one


class Live(unittest.TestCase):
    def check(self, run):
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def test_views_are_those_of_the_file_up_to_then(self):
        target = Steered(self)
        for moment in range(3):
            target.say("go")
            target.say("pause")  # whatever was recorded meanwhile: the comparison is of what there is
            commands = [f"show {view} {form} > {moment}.{view}{form or '.txt'}" for view in VIEWS for form in ("", "--json")]
            self.check(target.console("scan all >| scan.txt", *commands))
            for view in VIEWS:
                for form in ("", "--json"):
                    later = subprocess.run([HEAPTAP, "show", view, *([form] if form else []), target.trace], capture_output=True, text=True)
                    self.assertEqual(later.returncode, 0, later.stderr)
                    live = (target.directory / f"{moment}.{view}{form or '.txt'}").read_text()
                    self.assertEqual(live, later.stdout, (moment, view, form))
        self.assertEqual(target.end(), 0)

    def test_a_view_is_of_what_was_recorded_without_asking(self):
        target = Steered(self, env=heaptap_test.sooner(write="20ms"))
        target.say("pause")
        wait_for("an allocation is shown", lambda: target.shown("summary", "--no-sanity")["totals"]["allocations"], state=target.process)
        text = subprocess.run([HEAPTAP, "show", "summary", target.trace], capture_output=True, text=True).stdout
        self.assertIn("still being recorded", text)

    def test_views_say_up_to_when_they_know(self):
        target = Steered(self)
        target.say("pause")
        self.check(target.console("mark now", *[f"show summary {form} > live{form or '.txt'}" for form in ("", "--json")]))
        report = target.shown("summary")
        (mark,) = report["marks"]
        until = report["capture"]["known_until_ns"]
        self.assertGreater(until, 0)
        self.assertLessEqual(until, mark["time_ns"])  # the last event was before it
        self.assertIsNone(report["capture"]["duration_ns"])
        self.assertEqual(json.loads((target.directory / "live--json").read_text())["capture"]["known_until_ns"], until)
        shown = self.check(subprocess.run([HEAPTAP, "show", "summary", target.trace], capture_output=True, text=True)).stdout
        said = re.search(r"still being recorded: known up to ([0-9.]+) (s|ms)\b", shown)
        self.assertAlmostEqual(float(said[1]) * {"s": 1e9, "ms": 1e6}[said[2]] / until, 1, delta=0.01)
        self.assertIn(said[0], (target.directory / "live.txt").read_text())
        self.assertEqual(target.end(), 0)
        self.assertIsNone(target.shown("summary")["capture"]["known_until_ns"])

    def test_a_thousand_marks_cut_the_recording_into_parts_that_add_up(self):
        target = Steered(self)
        self.check(target.console(*[f"mark m{number % 7}" for number in range(1000)]))
        target.say("pause")
        self.assertEqual(target.end(), 0)
        whole = target.shown("summary")
        marks = whole["marks"]
        self.assertEqual([mark["number"] for mark in marks], list(range(1, 1001)))
        self.assertEqual([mark["name"] for mark in marks], [f"m{number % 7}" for number in range(1000)])
        self.assertEqual(sorted(mark["events_before"] for mark in marks), [mark["events_before"] for mark in marks])
        numbers = sorted(random.Random(3).sample(range(1, 1001), 8))
        cuts = ["start", *[f"#{number}" for number in numbers], "end"]
        sums = {"allocations": 0, "allocated_bytes": 0}
        growth = 0
        for begin, end in zip(cuts, cuts[1:]):
            part = target.shown("summary", "--from", begin, "--to", end)
            for name in sums:
                sums[name] += part["totals"][name]
            growth += part["window"]["growth_bytes"]
        for name, value in sums.items():
            self.assertEqual(value, whole["totals"][name], name)
        self.assertEqual(growth, whole["totals"]["live_bytes"])
        by_name = target.shown("summary", "--from", "m3:2", "--to", "m3:3")["window"]
        self.assertEqual((by_name["from_ns"], by_name["to_ns"]), (marks[10]["time_ns"], marks[17]["time_ns"]))

    def check_windows(self, target, whole):
        """Those between switches add up to the whole."""
        numbers = sorted(random.Random(5).sample(range(1, len(whole["marks"]) + 1), 8))
        cuts = ["start", *[f"#{number}" for number in numbers], "end"]
        counted = ("allocations", "allocated_bytes", "frees")
        sums = dict.fromkeys(counted, 0)
        growth = {"bytes": 0, "blocks": 0}
        for begin, end in zip(cuts, cuts[1:]):
            part = target.shown("summary", "--from", begin, "--to", end)
            for unit in growth:
                growth[unit] += part["window"][f"growth_{unit}"]
            for name in counted:
                sums[name] += part["totals"][name]
            sums["frees"] += part["window"]["older_freed_blocks"] or 0
        self.assertEqual(sums, {name: whole["totals"][name] for name in counted})
        self.assertEqual(growth, {unit: whole["totals"][f"live_{unit}"] for unit in growth})

    def switched(self, *options):
        target = Steered(self, *options)
        self.check(target.console(*["stop", "start"] * 200))
        target.say("pause")
        self.check(target.console("scan all > scan.txt"))
        target.say("go")
        self.check(target.console("stop"))
        self.assertEqual(target.end(), 0)
        report = target.shown("summary")
        totals = report["totals"]
        self.assertEqual(totals["allocations"] - totals["frees"], totals["live_blocks"])
        self.check_windows(target, report)
        self.assertEqual(totals["bad_frees"] + totals["double_frees"], 0, "who was not seen isn't accused")
        self.assertFalse(report["capture"]["known"]["leaks"])
        self.assertFalse(report["capture"]["known"]["releases"])
        self.assertEqual(report["leaks"]["definite"]["blocks"], 0)
        self.assertEqual([mark["kind"] for mark in report["marks"]], ["off", "on"] * 200 + ["off"])
        self.assertEqual(report["capture"]["lost_events"], 0)
        text = subprocess.run([HEAPTAP, "show", "summary", target.trace], capture_output=True, text=True).stdout
        self.assertIn("recording was switched off for a while", text)

    def test_what_was_released_while_it_was_off_is_not_lost(self):
        self.switched()

    def test_the_same_by_ptrace(self):
        self.switched("--via=ptrace")

    def test_nothing_is_recorded_while_it_is_off(self):
        target = Steered(self)
        target.say("pause")
        self.check(target.console("stop", "show summary --json > before.json"))
        before = json.loads((target.directory / "before.json").read_text())["totals"]
        target.say("go")
        target.say("pause")
        self.check(target.console("status > status.txt", "show summary --json > off.json", "start"))
        self.assertIn("off", (target.directory / "status.txt").read_text())
        off = json.loads((target.directory / "off.json").read_text())["totals"]
        self.assertEqual(off["allocations"], before["allocations"])
        target.say("go")
        self.assertEqual(target.end(), 0)
        self.assertGreater(target.shown("summary")["totals"]["allocations"], before["allocations"])

    def test_depth_is_that_of_stacks_from_then_on(self):
        target = Steered(self)
        self.check(target.console("set depth 1", "mark cut"))
        target.say("pause")
        self.assertEqual(target.end(), 0)
        report = target.shown("summary", "--from", "cut")
        for stack in report["stacks"]:
            if stack["allocations"] > 0:
                self.assertEqual(stack.get("ends_early"), "limit of the recording (--depth; of releases --release-stacks)")
                self.assertLessEqual(len(stack["frames"]), 1)

    def test_a_detached_program_goes_on(self):
        for options in ((), ("--via=ptrace",)):
            with self.subTest(options=options):
                target = Steered(self, *options)
                self.check(target.console("detach"))
                target.say("go")
                target.say("pause")
                self.assertEqual(target.end(), 0)
                shown = subprocess.run([HEAPTAP, "show", "summary", target.trace], capture_output=True, text=True)
                self.assertIn("still running", shown.stdout)

    def test_clients_that_do_not_behave_cost_the_recording_nothing(self):
        target = Steered(self)
        dice = random.Random(9)
        deaf = target.connection()
        deaf.sendall(HELLO + message(29, 1))
        silent = [target.connection() for _ in range(10)]
        for _ in range(10_000):
            with target.connection() as one:
                said = bytearray(HELLO + message(dice.randrange(256), 1, (5, b"\x01"), (66, b"name")))
                for _ in range(dice.randrange(4)):
                    said[dice.randrange(len(said))] = dice.randrange(256)
                try:
                    one.sendall(said[:dice.randrange(len(said) + 1)])
                except OSError:
                    pass
        self.check(target.console(*["mark loud"] * 3000))
        target.say("pause")
        self.check(target.console("status"))
        for one in (deaf, *silent):
            one.close()
        self.assertEqual(target.end(), 0)
        report = target.shown("summary")
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assertEqual(len([mark for mark in report["marks"] if mark["name"] == "loud"]), 3000)

    def test_the_socket_is_for_its_user(self):
        target = Steered(self)
        (file,) = [path for directory in heaptap_test.socket_directories() for path in directory.glob(f"{target.process.pid}.sock")]
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.check(subprocess.run([HEAPTAP, "console", file, "-x", "status"], capture_output=True, text=True))
        if os.geteuid() == 0:
            other = {"user": 65534, "group": 65534, "extra_groups": []}
            own = subprocess.run([HEAPTAP, "console", "-x", "processes"], capture_output=True, text=True)
            self.assertRegex(own.stdout + own.stderr, rf"\b{target.pid}\b")  # connected to, or one of several that are offered
            for command in (["leaks", str(target.pid)], ["mark", str(target.pid), "x"], ["console", str(target.pid), "-x", "status"]):
                run = subprocess.run([HEAPTAP, *command], capture_output=True, text=True, cwd="/", **other)
                self.assertEqual(run.returncode, 125, command)
                self.assertIn("another user", run.stderr)
            offered = subprocess.run([HEAPTAP, "console", "-x", "status"], capture_output=True, text=True, cwd="/", **other)
            self.assertNotRegex(offered.stdout + offered.stderr, rf"\b{target.pid}\b")
        self.assertEqual(target.end(), 0)
        self.assertFalse(file.exists())

    def test_marks_come_by_themselves(self):
        target = Steered(self, "--mark-every=10ms")
        wait_for("three marks", lambda: len(target.shown("summary").get("marks", [])) >= 3, state=target.process)
        self.assertEqual({mark["name"] for mark in target.shown("summary")["marks"]}, {"every"})


if __name__ == "__main__":
    unittest.main()
