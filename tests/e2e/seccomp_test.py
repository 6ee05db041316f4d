"""What a program forbids itself by strict mode or a filter isn't asked of the kernel on its account: strace shows the calls
that are made without heaptap, and no others."""
import collections
import pathlib
import os
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import HEAPTAP, built, heaptap, run, summary

CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
RESULT = re.compile(r"\) += (-?\w+)")
MAKES_TASK = {"clone", "clone3", "fork", "vfork"}


class Calls:
    """The calls of a program's tasks behind a restriction, and all calls of the processes that it forked, by name."""

    def __init__(self, log, program):
        self.program = program
        self.counts = collections.Counter()
        self.counted = {}  # tasks of the program: whether their calls count now
        self.begun = {}    # the text of a call that hasn't returned
        self.early = collections.defaultdict(list)  # lines of tasks whose making hasn't been seen yet
        for line in log.read_text(errors="replace").splitlines():
            self.see(line)

    def see(self, line):
        begins, resumed = CALL.match(line), RESUMED.match(line)
        if not begins and not resumed:
            return
        pid, name, text = (begins or resumed).groups()
        if begins:
            self.begun[pid] = ""
        text = self.begun[pid] = self.begun.get(pid, "") + text
        result = RESULT.search(text)
        if name == "execve" and self.program in text and result and result[1] == "0":
            self.counted[pid] = False
        elif pid not in self.counted:
            self.early[pid].append(line)
        else:
            if begins and self.counted[pid] and name != "futex":  # how often a thread waits is chance
                self.counts[name] += 1
            if result:
                self.note_result(pid, name, text, result[1])

    def note_result(self, pid, name, text, result):
        if result == "0" and (name == "seccomp" or (name == "prctl" and "PR_SET_SECCOMP" in text)):
            self.counted[pid] = True
        if name in MAKES_TASK and result.isdigit():
            self.counted[result] = self.counted[pid] or "CLONE_THREAD" not in text
            for line in self.early.pop(result, []):
                self.see(line)


class Seccomp(heaptap_test.TestCase):
    def calls(self, name, *command):
        log = self.directory / "strace.log"
        # One arena: how often the C library unmaps what is left around another one depends on where the kernel puts it.
        outcome = run(["strace", "-f", "-o", log, *command], env={**os.environ, "GLIBC_TUNABLES": "glibc.malloc.arena_max=1"})
        return outcome, Calls(log, f"/{name}").counts

    def check(self, name, *arguments, options=()):
        if not shutil.which("strace"):
            heaptap_test.skip_what_is_missing("strace")
        command = [built(name), *arguments]
        bare, wanted = self.calls(name, *command)
        traced, made = self.calls(name, HEAPTAP, "run", "-q", "--no-leak-scan", *options, "--force", "-o", self.trace, "--", *command)
        self.assertEqual((traced.status, traced.stdout), (bare.status, bare.stdout), str(traced))
        self.assertTrue(wanted, "the program made calls behind its restriction")
        self.assertEqual(made, wanted)

    def test_filter_installed(self):
        self.check("seccomp_filter")

    def test_strict_mode(self):
        self.check("seccomp_strict")

    def test_children(self):
        for mode in ("strict", "filter", "nested"):
            with self.subTest(mode=mode):
                self.check("seccomp_child", mode)

    def test_stack_growth(self):
        for mode in ("strict", "filter"):
            with self.subTest(mode=mode):
                self.check("seccomp_stack_growth", mode)

    def test_code_without_tables(self):
        for mode in ("EPERM", "ENOSYS"):
            with self.subTest(mode=mode):
                self.check("seccomp_refused_calls", mode)

    def test_trapped_calls(self):
        for mode in ("first", "later"):
            with self.subTest(mode=mode):
                self.check("seccomp_trapped_calls", mode)

    def test_new_threads(self):
        self.check("seccomp_threads")

    def test_full_log(self):
        self.check("seccomp_log_full", options=["--log-memory", "512K"])


class Followed(heaptap_test.TestCase):
    def test_children_that_cannot_be_recorded_are_told_of(self):
        outcome = heaptap("run", "-q", "-f", "-o", self.trace, "--", built("seccomp_child_followed"), "strict")
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertIn(b"1 forked child was not recorded", heaptap("show", "stats", self.trace).stdout)


class Inherited(heaptap_test.TestCase):
    def test_recorded_under_filters_of_heaptaps_own(self):
        """As in a container: what heaptap itself lives under is known."""
        outcome = run([built("seccomp_before_exec"), HEAPTAP, "run", "-q", "-o", self.trace, "--", built("seccomp_before_exec"), "again"])
        self.assertEqual((outcome.status, outcome.stdout), (5, b"still there\n"), str(outcome))
        self.assertEqual(summary(self.trace)["totals"]["allocations"], 1000)

    def test_program_is_known_where_its_link_cannot_be_read(self):
        """By the name that it was executed by, whole or from the working directory."""
        program = built("seccomp_before_exec")
        for name in (program, f"./{program.name}"):
            with self.subTest(name=name):
                outcome = run([program, "no-links", HEAPTAP, "run", "-q", "--force", "-o", self.trace, "--", name, "again"], cwd=program.parent)
                self.assertEqual((outcome.status, outcome.stdout), (5, b"still there\n"), str(outcome))
                self.assertEqual(expectations.check("stack function=malloc caller=main allocations=1000", summary(self.trace)), [])

    def test_kernel_that_cannot_clear_memory_in_forked_children(self):
        """Before Linux 4.14 the agent would take a child for its parent: heaptap takes ptrace, and the agent by itself records nothing."""
        forks = built("raw_fork")
        outcome = run([built("before_wipe_on_fork"), HEAPTAP, "run", "-o", self.trace, "--", forks])
        self.assertEqual(outcome.status, 0, str(outcome))
        recorded = summary(self.trace)
        self.assertEqual(recorded["capture"]["via"], "ptrace")
        for expected in ("stack function=malloc caller=in_child allocations=0", "stack function=malloc caller=in_parent allocations=20 frees=20"):
            self.assertEqual(expectations.check(expected, recorded), [])
        outcome = run([built("before_wipe_on_fork"), HEAPTAP, "run", "--via=agent", "-o", self.trace, "--", forks])
        self.assertEqual(outcome.status, 126, str(outcome))
        self.assertIn(b"MADV_WIPEONFORK (Linux 4.14 has it)", outcome.stderr)
        outcome = heaptap("run", "-o", self.trace, "--force", "--", built("before_wipe_on_fork"), forks)
        self.assertEqual(outcome.status, 0, str(outcome))
        self.assertNotIn(b"no leaks", outcome.stderr)
        self.assertEqual(expectations.check("stack function=malloc caller=in_child allocations=0", summary(self.trace)), [])

    def test_environment_is_the_programs_own(self):
        outcome = run([built("seccomp_before_exec"), HEAPTAP, "run", "-q", "-o", self.trace, "--", "env"], cwd=self.directory)
        ours = {name.encode() for name in os.environ}
        seen = {line.split(b"=", 1)[0] for line in outcome.stdout.splitlines()}
        self.assertEqual({name for name in seen - ours if name.startswith(b"HEAPTAP")}, set(), str(outcome))
        self.assertIn(b"PATH", seen, str(outcome))


if __name__ == "__main__":
    unittest.main()
