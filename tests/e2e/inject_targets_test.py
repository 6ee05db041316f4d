# CTEST PROCESSORS 2
"""Target programs that the agent is put into before their main() begins: what they say of themselves holds for its trace, as it does by the
other ways, and their output and status are those of a run without it."""
import os
import pathlib
import platform
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
import leak_expectations
from heaptap_test import HEAPTAP, TARGETS, TARGET_SOURCES, built, has_library, summary
from waiting import finished

# Of forked and executed programs, and of the end of the program the agent tells nothing here.
PROGRAMS = ["operator_new", "operator_delete", "mismatched", "new_fails", "new_handler", "malloc_family", "standard_family", "realloc_rules",
            "zero_sizes", "failed_calls", "one_leak", "peak", "temporary", "large_blocks", "realloc_across_threads",
            "exact_threads", "many_threads", "thread_storm", "exchange", "producer_consumer", "recursion", "recursion_deep",
            "longjmp_frames", "coroutines", "exceptions", "no_frame_pointers", "inlined_frames", "tail_calls", "small_thread_stacks",
            "map_functions", "map_fixed_over", "map_partial_unmap", "map_protection", "map_remap", "sigaltstack_stack_unmapped",
            "signal_storm", "signal_timer", "sigaltstack_guarded", "thread_local_destructors", "tsd_destructors", "libc_allocations"]


# What they leave behind has to be told as by ptrace, from a scan before detaching.
LEAVING = ["leak_definite", "leak_chain", "leak_cycle", "leak_tree", "leak_interior", "leak_globals", "leak_root_bss", "leak_root_data",
           "leak_root_static_tls", "leak_threads_alive", "leak_containers", "leak_many", "leak_realloc", "leak_list_reachable", "leak_double_list",
           "leak_objects", "leak_array_cookie", "leak_vector_of_pointers", "leak_unaligned", "leak_root_thread_stack", "leak_mixed_threads",
           "leak_clean_iostream", "leak_shared_cycle"]


VIA_AGENT = ["--via", "agent", "--no-leak-scan"]


class Gate:
    """A program that waits before its main(), and where it is asked to once more at its exit."""

    def __init__(self, test, program, arguments, environment, preloaded=(), waits_at_exit=False):
        self.output = [test.directory / name for name in ("out", "err")]
        reader, self.end = os.pipe()
        self.at_exit, exiting = os.pipe()
        left, self.leave = os.pipe()
        environment = {**environment, **({"HEAPTAP_TEST_END_GATE": str(exiting), "HEAPTAP_TEST_LEFT_GATE": str(left)} if waits_at_exit else {})}
        preload = " ".join(map(str, [TARGETS / "libgate.so", *preloaded]))
        with open(self.output[0], "wb") as out, open(self.output[1], "wb") as err:
            self.process = subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=[reader, exiting, left],
                                            env={**os.environ, **environment, "LD_PRELOAD": preload, "HEAPTAP_TEST_GATE": str(reader)})
        for descriptor in (reader, exiting, left):
            os.close(descriptor)
        test.addCleanup(self.process.wait)
        test.addCleanup(heaptap_test.end, self.process)
        test.addCleanup(self.open)
        test.addCleanup(os.close, self.at_exit)
        test.addCleanup(self.let_go)

    def open(self):
        if self.end is not None:
            os.close(self.end)
        self.end = None

    def wait_for_exit(self):
        while os.read(self.at_exit, 1):
            pass

    def let_go(self):
        if self.leave is not None:
            os.close(self.leave)
        self.leave = None

    def outcome(self):
        return (heaptap_test.shell_status(self.process.wait()), *(path.read_bytes() for path in self.output))


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class InjectTargets(heaptap_test.TestCase):
    def attach(self, gate, trace, *options):
        heaptap = subprocess.Popen([HEAPTAP, "attach", *(options or VIA_AGENT), "--force", "-o", trace, str(gate.process.pid)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(heaptap.communicate)
        self.addCleanup(heaptap_test.end, heaptap)
        line = heaptap.stderr.readline()
        self.assertIn(b"recording process", line, line + (heaptap.stderr.read() if b"recording" not in line else b""))
        return heaptap

    def record(self, name, run, target, preloaded=()):
        """The outcome, and the report."""
        trace = self.directory / "t.htap"
        gate = Gate(self, built(name), run.arguments, target.environment, preloaded)
        heaptap = self.attach(gate, trace)
        gate.open()
        outcome = gate.outcome()
        finished(heaptap)
        return outcome, summary(trace)

    def check_program(self, name, preloaded=()):
        target = expectations.read(TARGET_SOURCES[name], TARGETS)
        for run in target.runs:
            if run.long:
                continue
            with self.subTest(arguments=run.arguments):
                bare = heaptap_test.run([built(name), *run.arguments], stdin=target.stdin, env={**os.environ, **target.environment,
                                        **({"LD_PRELOAD": str(preloaded[0])} if preloaded else {})})
                outcome, report = self.record(name, run, target, preloaded)
                self.assertEqual(outcome, (bare.status, bare.stdout, bare.stderr))
                problems = [problem for text in run.expectations if not self.is_of_others(text) for problem in expectations.check(text, report)]
                problems += expectations.conservation(report)
                if report["capture"]["lost_events"]:
                    problems = []  # the machine is busy: the log was full
                self.assertEqual(problems, [], "\n".join(f"{stack['function']} {expectations.names(stack['frames'])[:5]} {stack['allocations']} "
                                                         f"{stack['frees']}" for stack in report["stacks"]))
                self.assertEqual(report["capture"]["via"], "agent")

    def left_at_exit(self, name, run, target, via):
        trace = self.directory / f"{via}.htap"
        gate = Gate(self, built(name), run.arguments, target.environment, waits_at_exit=True)
        heaptap = self.attach(gate, trace, "--via", via)
        gate.open()
        gate.wait_for_exit()
        heaptap.send_signal(signal.SIGINT)
        finished(heaptap)
        gate.let_go()
        self.assertEqual(gate.outcome()[0], run.status)
        report = summary(trace)
        leaks = report["leaks"]
        self.assertTrue(leaks["scanned"], report["notes"])
        self.assertEqual((report["capture"]["lost_events"], list(leak_expectations.conservation(report))), (0, []))
        return {verdict: leaks[verdict] for verdict in ("definite", "indirect", "possible")}, report

    def check_leaks(self, name):
        target = expectations.read(TARGET_SOURCES[name], TARGETS)
        for run in target.runs:
            if not run.long:
                with self.subTest(arguments=run.arguments):
                    # A word that earlier calls have left in a frame (of exit, say) may hold blocks, in some runs.
                    for _ in range(4):
                        by_agent, report = self.left_at_exit(name, run, target, "agent")
                        by_ptrace, other = self.left_at_exit(name, run, target, "ptrace")
                        if by_agent == by_ptrace:
                            break
                    self.assertEqual(by_agent, by_ptrace, f"{report['stacks']}\n{other['stacks']}"[:3000])

    def test_other_allocators(self):
        for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
            if not has_library(library):
                continue
            fails = [] if "mimalloc" in library else ["new_fails"]  # mimalloc ends the program
            for name in (*fails, "operator_new", "operator_delete", "mismatched", "exact_threads", "exchange", "zero_sizes"):
                with self.subTest(library=library, program=name):
                    self.check_allocator(name, library)

    def check_allocator(self, name, library):
        """An allocator may have one function for several: then their names are of no use, and the sums are as said."""
        target = expectations.read(TARGET_SOURCES[name], TARGETS)
        bare = heaptap_test.run([built(name)], env={**os.environ, "LD_PRELOAD": library})
        outcome, report = self.record(name, target.runs[0], target, [library])
        self.assertEqual(outcome, (bare.status, bare.stdout, bare.stderr))
        self.assertEqual(list(expectations.conservation(report)), [])
        totals = report["totals"]
        self.assertGreater(totals["allocations"], 0)
        if report["capture"]["lost_events"]:
            return  # the machine is busy: the log was full
        self.assertEqual((totals["unknown_frees"], totals["bad_frees"], totals["double_frees"]), (0, 0, 0), report["errors"])
        if name != "mismatched":
            self.assertEqual(totals["mismatched_frees"], 0, report["errors"])
        problems = [problem for text in target.runs[0].expectations if "function=" not in text for problem in expectations.check(text, report)
                    if not self.is_of_others(text) and "mismatched" not in text]
        self.assertEqual(problems, [], "\n".join(f"{stack['function']} {expectations.names(stack['frames'])[:5]} {stack['allocations']} "
                                                 f"{stack['frees']}" for stack in report["stacks"]))

    def test_what_defines_its_own(self):
        """Where it isn't known which blocks are whose, operators are malloc and free, and the trace says so."""
        for name, said in (("own_operator_new", True), ("static_libstdcxx", True), ("jemalloc_linked", False), ("own_malloc", False)):
            with self.subTest(program=name):
                target = expectations.read(TARGET_SOURCES[name], TARGETS)
                bare = heaptap_test.run([built(name)])
                outcome, report = self.record(name, target.runs[0], target)
                self.assertEqual(outcome, (bare.status, bare.stdout, bare.stderr))
                self.assertEqual(list(expectations.conservation(report)), [])
                self.assertGreater(report["totals"]["allocations"], 0)
                self.assertEqual(report["totals"]["mismatched_frees"], 0, report["errors"])
                self.assertEqual(any("recorded as malloc and free" in note["text"] for note in report["notes"]), said, report["notes"])

    @staticmethod
    def is_of_others(text):
        """Of what is one function with another one here, or of a recording from the program's beginning."""
        return any(word in text for word in ("capture.complete", "function=memalign", "function=mmap64"))


def _add(name):
    setattr(InjectTargets, f"test_{name}", lambda self: self.check_program(name))


def _add_leaving(name):
    setattr(InjectTargets, f"test_leaks_of_{name}", lambda self: self.check_leaks(name))


for _name in PROGRAMS:
    _add(_name)
for _name in LEAVING:
    _add_leaving(_name)

if __name__ == "__main__":
    unittest.main()
