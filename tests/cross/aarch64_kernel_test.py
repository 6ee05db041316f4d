"""AArch64 under a kernel of its own, which has ptrace: Debian's, in qemu-system. Target programs are recorded there by heaptap-target for
the heaptap of this machine, by the agent and by ptrace, with the expectations that they have here.

The environment names the programs of this machine (HEAPTAP, HEAPTAP_TARGET), the sources (SOURCE), a directory that is kept between runs
for what is built (BUILD), and where in it the target programs are (TARGETS)."""
import itertools
import os
import pathlib
import re
import sys
import tempfile
import unittest

import aarch64_build
from aarch64_build import BUILD, SOURCE

sys.path.insert(0, str(SOURCE / "tests/support"))
sys.path.insert(0, str(SOURCE / "tests/e2e"))
import heaptap_test
import machine
import run_targets

BY_AGENT = ["malloc_family", "operator_new", "exceptions", "exact_threads", "fork_chain", "signal_storm", "seccomp_filter"]


def setUpModule():
    """One boot for all tests: it takes longer than most of them."""
    aarch64_build.build("heaptap-target", "target_programs")
    kernel = BUILD / "kernel"
    aarch64_build.run_or_fail([SOURCE / "tools/cross_kernel.sh", "arm64", kernel])
    directory = tempfile.TemporaryDirectory(prefix="heaptap-test-")
    unittest.addModuleCleanup(directory.cleanup)
    files = {str(file): file for file in heaptap_test.TARGETS.iterdir() if file.is_file()}
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
        target.repeat = 1  # chance is for machines that are faster
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


def _add(case, names):
    for name in names:
        setattr(case, f"test_{name}", lambda self, source=heaptap_test.TARGET_SOURCES[name]: self.check_target(source))


_add(ByAgent, BY_AGENT)

if __name__ == "__main__":
    unittest.main()
