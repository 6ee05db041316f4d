"""AArch64 under a kernel of its own, which has ptrace: Debian's, in qemu-system. Target programs are recorded there by heaptap-target for
the heaptap of this machine, by the agent and by ptrace, with the expectations that they have here.

The environment names the programs of this machine (HEAPTAP, HEAPTAP_TARGET), the sources (SOURCE), a directory that is kept between runs
for what is built (BUILD), where in it the target programs are (TARGETS), and the flavour of the kernel (FLAVOUR): arm64, or arm64-16k, whose
pages have 16 KiB, with fewer programs."""
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import aarch64_build
from aarch64_build import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "tests/support"))
sys.path.insert(0, str(SOURCE / "tests/e2e"))
import expectations
import heaptap_test
import machine
import run_targets
from waiting import finished, read_until

# A few by the agent, of which some need more than qemu-user has. By ptrace small ones: a stop takes a third of a millisecond.
BY_AGENT = ["malloc_family", "operator_new", "exceptions", "exact_threads", "fork_chain", "signal_storm", "seccomp_filter"]
BY_PTRACE = ["malloc_family", "operator_new", "operator_delete", "exceptions", "aliased_operators", "realloc_rules", "new_fails", "tail_calls",
             "longjmp_frames", "signal_raise", "kept_traps", "trap_ends_waits", "exit_ways", "fork_chain", "dlopen_loop", "map_functions",
             "own_malloc", "ifunc_resolver", "large_frames"]
WITHOUT = {("kept_traps", "forks"): "executes a shell, and there is none"}  # runs of programs that can't be there
# Leaks with their verdicts: roots of each kind, and what isn't one.
SCANNED = ["leak_definite", "leak_cycle", "leak_interior", "leak_tree", "leak_globals", "leak_headers", "leak_containers", "leak_root_static_tls",
           "leak_root_dynamic_tls", "leak_root_thread_stack", "leak_root_thread_specific", "leak_root_main_stack",
           "leak_dead_stack", "leak_dead_thread_stack", "leak_ended_thread_stack", "leak_threads_alive", "leak_thread_detached",
           "leak_root_context", "leak_root_alternate_stack", "leak_exception_held", "leak_clean_thread_local"]
EMULATED_ROUNDS = 60  # of each kind of instruction

FLAVOUR = os.environ["FLAVOUR"]
PAGE_BYTES = {"arm64": 4096, "arm64-16k": 16384}[FLAVOUR]
if FLAVOUR == "arm64-16k":
    BY_AGENT += ["constructors", "dlopen_loop", "large_frames", "map_functions", "own_malloc", "stack_maze", "ucontext_stacks"]
    BY_PTRACE = ["malloc_family", "exceptions", "dlopen_loop", "map_functions", "own_malloc", "fork_chain", "large_frames"]
    SCANNED = ["leak_definite", "leak_tree", "leak_globals", "leak_containers", "leak_root_dynamic_tls", "leak_root_thread_stack",
               "leak_dead_stack", "leak_threads_alive", "leak_root_alternate_stack"]


def setUpModule():
    """One boot for all tests: it takes longer than most of them."""
    aarch64_build.build("heaptap-target", "target_programs")
    kernel = BUILD / "kernels" / FLAVOUR
    aarch64_build.run_or_fail([SOURCE / "tools/cross_kernel.sh", "arm64", kernel, FLAVOUR])
    directory = tempfile.TemporaryDirectory(prefix="heaptap-test-")
    unittest.addModuleCleanup(directory.cleanup)
    emulates = pathlib.Path(directory.name) / "emulates"
    aarch64_build.run_or_fail([f"{aarch64_build.TRIPLET}-g++", "-std=c++23", "-O1", "-Wall", "-Wextra", "-Werror", "-static",
                               f"-I{SOURCE}/src", f"-I{SOURCE}/tests", SOURCE / "tests/cross/emulates.cc", SOURCE / "src/common/arch/aarch64/emulate.cc", "-o", emulates])
    page_size = pathlib.Path(directory.name) / "page_size"
    aarch64_build.compile_static(SOURCE / "tests/cross/page_size.c", page_size)
    files = {str(file): file for file in heaptap_test.TARGETS.iterdir() if file.is_file()}
    files |= {"/bin/emulates": emulates, "/bin/page_size": page_size}
    booted = machine.Machine("aarch64", pathlib.Path(directory.name), kernel, BUILD / "sysroot", BUILD / "bin/heaptap-target", files,
                             aarch64_build.compile_static)
    unittest.addModuleCleanup(booted.close)
    OnMachine.machine = booted


class OnMachine(run_targets.Targets):
    """Target programs there, each in a directory of its own."""
    machine = None
    directories = map("/tmp/{}".format, itertools.count())

    @staticmethod
    def environment():
        return {}

    def read_target(self, source):
        target, directory = super().read_target(source)
        target.repeat, target.levels = 1, []  # for machines that are faster
        target.runs = [run for run in target.runs if (source.stem, *run.arguments) not in WITHOUT]
        return target, directory

    def run_bare(self, command, cwd, **how):
        command = self.machine.start(command, cwd=next(self.directories), **how)
        return command.wait(), command.files

    def run_traced(self, directory, words, cwd, timeout_s, **how):
        with self.machine.serving("--once", cwd=next(self.directories), **how) as (server, line):
            done = heaptap_test.heaptap("run", *line, *words, timeout_s=timeout_s)
            told = server.wait()
        own_words = re.sub(rb"^heaptap-target: .*\n", b"", told.stderr, flags=re.MULTILINE)
        return heaptap_test.Outcome(done.status, told.stdout, own_words + done.stdout + done.stderr, done.seconds), server.files


class ByAgent(OnMachine):
    pass


class ByPtrace(OnMachine):
    via = "ptrace"


class Scanned(OnMachine):
    """By the agent; ptrace stops the threads for the scan."""


def _add(case, names):
    for name in names:
        setattr(case, f"test_{name}", lambda self, source=heaptap_test.TARGET_SOURCES[name]: self.check_target(source))


_add(ByAgent, BY_AGENT)
_add(ByPtrace, BY_PTRACE)
_add(Scanned, SCANNED)


class Kernel(heaptap_test.TestCase):
    """What ptrace does there."""

    def obeying(self):
        """The target program obeys.cc, which runs there and is ready."""
        program = OnMachine.machine.start([heaptap_test.built("obeys")], stdin=None)
        self.addCleanup(program.end)
        program.said(b"ready\n")
        return program

    def attached(self, line, program):
        """`heaptap attach` here, once it records that program."""
        process = subprocess.Popen([heaptap_test.HEAPTAP, "attach", *line, "-o", self.trace, str(program.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        read_until(process.stderr.fileno(), "that it records", lambda text: b"recording process" in text, state=[process, program])
        return process

    def test_has_pages_of_this_size(self):
        self.assertEqual(OnMachine.machine.run(["/bin/page_size"]).stdout, f"{PAGE_BYTES}\n".encode())

    def test_attaches_and_detaches(self):
        program = self.obeying()
        with OnMachine.machine.serving() as (_, line):
            host = self.attached(line, program)
            program.write(b"pairs 20\nlose 0\nobjects 5\nthreads 2\n")
            program.said(b"threads 0\n")
            host.send_signal(signal.SIGINT)
            finished(host)
        program.write(b"pairs 5\nexit 6\n")
        self.assertEqual(program.wait().status, 6)
        report = heaptap_test.summary(self.trace)
        made = 20 + 1 + 2 * 2
        self.assertEqual(expectations.check(f"stack function=malloc caller=make allocations={made} frees={made - 1}", report), [])
        self.assertEqual(report["leaks"]["definite"]["blocks"], 1, report["leaks"])

    def test_scans_what_it_has_not_recorded(self):
        """`heaptap leaks PID`, which says of the live blocks who holds them."""
        program = self.obeying()
        with OnMachine.machine.serving() as (server, line):
            told = heaptap_test.heaptap("leaks", *line, "--duration", "500ms", program.pid, cwd=self.directory)
            self.assertIn(told.status, (0, 1), f"{told} {told.seconds} {server}")
        program.write(b"exit 3\n")
        self.assertEqual(program.wait().status, 3)

    def test_emulates_as_the_cpu_executes(self):
        told = OnMachine.machine.run(["/bin/emulates", str(EMULATED_ROUNDS)])
        self.assertEqual(told.status, 0, told)


if __name__ == "__main__":
    unittest.main()
