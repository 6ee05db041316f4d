# CTEST COST 26
"""`heaptap attach` to processes in unusual states: the first thread gone, in another namespace or root, under seccomp, just about
to end or to execute another program. What can be recorded is; whatever happens, nobody is harmed, and nothing hangs."""
import ctypes
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import heaptap_test
from attach_test import Attached, Obeying
from heaptap_test import LONG, built, heaptap, summary
from process_image import Image
from waiting import at_any_moment, ended, until_it_woke, wait_for

PTRACE_SEIZE = 0x4206


def tracer_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("TracerPid:")[2].split()[0])


class Inside(Obeying):
    """obeys, started by `command`, which makes it its child; known by the number that it has here."""

    def __init__(self, test, command, program=None):
        self.process = subprocess.Popen([*command, program or built("obeys")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        test.addCleanup(self._end)
        if self.process.stdout.readline() != "ready\n":
            test.skipTest(f"not here: {self.process.stderr.read()}")
        (self.pid,) = heaptap_test.descendants(self.process.pid)[-1:] or [self.process.pid]
        self.image = Image(self.pid, [self.pid])


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Edges(heaptap_test.TestCase):
    def record(self, target, allocations=20):
        """Pairs and a lost block, once, while it is recorded."""
        attached = Attached(self, "-o", self.trace, "--force", target.pid)
        self.assertEqual(target.tell("pairs", allocations), "pairs 0")
        target.tell("lose")
        outcome = attached.stop()
        self.assertEqual(outcome.status, 0, str(outcome))
        report = summary(self.trace)
        self.assertEqual(report["totals"]["allocations"], allocations + 1, report["totals"])
        self.assertEqual(report["capture"]["lost_events"], 0)
        self.assert_lost(report)
        self.assertEqual(target.image.differences(), [])
        self.assertEqual(target.tell("pairs", 7), "pairs 0")
        return report

    def assert_lost(self, report):
        """Of an arena whose blocks aren't all known the allocator's own pointer at the last one isn't told from the program's."""
        self.assertTrue(report["leaks"]["scanned"], report["capture"])
        lost = [report["leaks"][kind]["bytes"] for kind in ("definite", "possible")]
        self.assertEqual(sum(lost), 100, report["leaks"])

    def unshared(self, *words):
        """A command that starts another one in namespaces of its own; skips the test where that isn't possible, as in a chroot."""
        tried = heaptap_test.run(["unshare", *words, "true"])
        if tried.status != 0:
            self.skipTest(f"`unshare {' '.join(words)}` doesn't work here: {tried.stderr.decode()}")
        return ["unshare", *words]

    def without_first_thread(self):
        target = Obeying(self)
        target.process.stdin.write("other 0\n")
        target.process.stdin.flush()
        self.assertEqual(target.process.stdout.readline(), "other 0\n")
        (thread,) = set(os.listdir(f"/proc/{target.pid}/task")) - {str(target.pid)}
        target.image = Image(int(thread), [])
        return target

    def test_the_first_thread_has_ended(self):
        target = self.without_first_thread()
        report = self.record(target)
        self.assertTrue(report["target"]["command"][0].endswith("obeys"), report["target"])
        self.assertEqual(self.record(target)["target"]["pid"], target.pid)
        self.assertEqual(target.finish(), 0)

    def test_the_first_thread_has_ended_and_the_others_end(self):
        target = self.without_first_thread()
        attached = Attached(self, "-o", self.trace, target.pid)
        target.tell("lose")
        self.assertEqual(target.tell("exit", 4), "")
        outcome = attached.wait()
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertEqual(summary(self.trace)["target"]["exit"]["code"], 4)
        self.assertEqual(target.finish(), 4)

    def test_the_first_thread_ends_while_it_is_recorded(self):
        for end in (True, False):
            with self.subTest(ends=end):
                target = Obeying(self)
                attached = Attached(self, "-o", self.trace, "--force", target.pid)
                target.process.stdin.write("other 0\n")
                target.process.stdin.flush()
                self.assertEqual(target.process.stdout.readline(), "other 0\n")
                target.tell("pairs", 20)
                target.tell("lose")
                if end:
                    target.tell("exit", 4)
                outcome = attached.wait() if end else attached.stop()
                self.assertEqual(outcome.status, 0, str(outcome))
                report = summary(self.trace)
                self.assertFalse([note for note in heaptap_test.notes_of(report) if "did not detach in time" in note],
                                 "it waits for a thread that is gone")
                self.assertGreaterEqual(report["totals"]["allocations"], 21)
                self.assert_lost(report)
                if end:
                    self.assertEqual(report["target"]["exit"]["code"], 4)
                self.assertEqual(target.finish(), 4 if end else 0)

    def test_other_pid_namespace(self):
        target = Inside(self, self.unshared("--fork", "--pid", "--mount-proc"))
        self.assertEqual(self.record(target)["target"]["pid"], target.pid)
        self.assertEqual(target.finish(), 0)

    def test_other_user_and_pid_namespace(self):
        target = Inside(self, self.unshared("--user", "--map-root-user", "--fork", "--pid", "--mount-proc"))
        self.record(target)
        self.assertEqual(target.finish(), 0)

    def test_run_in_another_pid_namespace(self):
        outcome = heaptap_test.run([*self.unshared("--fork", "--pid", "--mount-proc"), heaptap_test.HEAPTAP, "run", "-q", "--via", "ptrace", "-o",
                                    self.trace, "--", built("obeys")], stdin=b"pairs 30\nlose\nexit 6\n")
        self.assertEqual(outcome.status, 6, str(outcome))
        self.assertGreaterEqual(summary(self.trace)["totals"]["allocations"], 31)
        self.assertTrue(summary(self.trace)["leaks"]["scanned"])

    def test_other_files_in_another_mount_namespace(self):
        place = self.directory / "place"
        place.mkdir()
        # Its directory is hidden from everybody else, and the name of its program is another one's here.
        shutil.copy(built("obeys"), self.directory / "program")
        (place / "program").write_text("something else")
        script = f'mount -t tmpfs none "{place}" && cp "{self.directory}/program" "{place}/program" && exec "{place}/program"'
        target = Inside(self, [*self.unshared("--mount", "--fork"), "sh", "-c", script], program="x")
        report = self.record(target)
        self.assertTrue(any("make_pairs" in str(stack["frames"]) or "main" in str(stack["frames"]) for stack in report["stacks"]), report["stacks"])
        self.assertEqual(target.finish(), 0)

    def test_other_root(self):
        if os.getuid() != 0:
            self.skipTest("needs root")
        root = self.directory / "root"
        listing = subprocess.run(["ldd", built("obeys")], capture_output=True, text=True, check=True).stdout
        libraries = [word for line in listing.splitlines() for word in line.split() if word.startswith("/")]
        for file in libraries:
            copy = root / file[1:]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        shutil.copy(built("obeys"), root / "program")
        target = Inside(self, ["chroot", root], program="/program")
        self.record(target)
        self.assertEqual(target.finish(), 0)

    def test_seccomp(self):
        for mode, end in (("strict", -signal.SIGKILL), ("filter", 0)):
            with self.subTest(mode=mode):
                target = Obeying(self)
                target.tell("pairs", 3)
                self.assertEqual(target.tell(mode), f"{mode} 0")
                self.record(target)
                self.record(target)
                self.assertEqual(target.finish(), end)  # the strict mode knows no exit_group

    def test_it_ends_while_it_is_attached(self):
        rounds = 200 if LONG else 12
        for number in range(rounds):
            target = subprocess.Popen([built("one_leak")] if number % 2 else [built("many_threads")], stdout=subprocess.DEVNULL)
            at_any_moment(random, 0.004)
            outcome = heaptap("attach", "-o", self.trace, "--force", target.pid, timeout_s=heaptap_test.TIMEOUT_S)
            status = ended(target)
            self.assertEqual(status, 3 if number % 2 else 0, str(outcome))
            self.assertIn(outcome.status, (0, 125), str(outcome))
            if outcome.status == 125:
                self.assertRegex(outcome.stderr.decode(), f"process {target.pid}.*ended|no process {target.pid}")

    def start_slow_fork(self):
        target = subprocess.Popen([built("slow_fork")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(lambda: (target.kill(), target.communicate()))
        said = target.stdout.readline()
        if said != "ready\n":
            self.skipTest(f"not here: {said}")
        return target

    def assert_its_child_is_unharmed(self, target):
        target.stdin.write("go on\n")
        self.assertEqual(target.stdout.readline(), "child 7\n")
        self.assertEqual(ended(target), 0)

    def test_left_in_the_middle_of_a_fork(self):
        for number in (signal.SIGINT, signal.SIGKILL):
            with self.subTest(number=number):
                target = self.start_slow_fork()
                attached = Attached(self, "--no-leak-scan", "-o", self.trace, "--force", target.pid)
                target.stdin.write("fork\n")
                self.assertEqual(target.stdout.readline(), "held up\n")
                attached.process.send_signal(number)
                # Its copy has breakpoints: a tracer that doesn't mind is gone soon.
                if tracer := tracer_of(target.pid):
                    until_it_woke(tracer, 20)
                self.assert_its_child_is_unharmed(target)
                self.assertEqual(attached.wait().status, 0 if number == signal.SIGINT else 137)

    def test_attached_to_in_the_middle_of_a_fork(self):
        target = self.start_slow_fork()
        target.stdin.write("fork\n")
        self.assertEqual(target.stdout.readline(), "held up\n")
        outcome = heaptap("attach", "-o", self.trace, target.pid)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertRegex(outcome.stderr.decode(), "may be starting another one: try again")
        self.assert_its_child_is_unharmed(target)

    def test_its_memory_is_gone_but_it_has_not_ended(self):
        # The first process of a namespace waits in its end for all others there, and these for their tracer.
        outside = subprocess.Popen([*self.unshared("--fork", "--pid"), "sh", "-c", "sleep 1000 & echo ready; read line"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(outside.communicate)
        self.assertEqual(outside.stdout.readline(), b"ready\n")
        first, other = heaptap_test.descendants(outside.pid)
        self.assertEqual(ctypes.CDLL(None).ptrace(PTRACE_SEIZE, other, None, None), 0)
        self.addCleanup(os.waitpid, other, 0)
        outside.stdin.write(b"\n")
        outside.stdin.flush()
        wait_for("its memory is gone", lambda: not os.path.exists(f"/proc/{first}/exe"), state=first)
        outcome = heaptap("attach", "-o", self.trace, first)
        self.assertEqual(outcome.status, 125, str(outcome))
        self.assertRegex(outcome.stderr.decode(), f"process {first}.*ended")

    def test_it_executes_while_it_is_attached(self):
        # A shell that executes another one, many times.
        script = 'if [ $1 -gt 0 ]; then exec sh "$0" $(($1 - 1)); else exit 7; fi'
        file = self.directory / "again.sh"
        file.write_text(script)
        for number in range(40 if LONG else 8):
            target = subprocess.Popen(["sh", file, "300"], stdout=subprocess.DEVNULL)
            at_any_moment(random, 0.01)
            options = ["-e"] if number % 2 else []
            outcome = heaptap("attach", *options, "--duration", "200ms", "-o", self.directory / f"{number}-%p.htap", "--force", target.pid,
                              timeout_s=heaptap_test.TIMEOUT_S)
            self.assertIn(outcome.status, (0, 125), str(outcome))
            self.assertEqual(ended(target), 7, str(outcome))


if __name__ == "__main__":
    unittest.main()
