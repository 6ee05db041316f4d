# CTEST COST 25
"""The same program by the agent and by ptrace: equal totals, equal stacks by module and offset, equal leaks and errors.
Where two runs by the agent differ already (threads, time), nothing is compared. HEAPTAP_LONG=1: all programs."""
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import comparison
import expectations
import heaptap_test
import variants
from heaptap_test import LONG, TARGET_SOURCES, TARGETS, summary

# One of each kind; what they show stands in them.
PROGRAMS = """malloc_family standard_family realloc_rules zero_sizes failed_calls operator_new operator_delete mismatched
    bad_free_double bad_free_interior bad_free_unknown libc_allocations own_operator_new tail_calls no_frame_pointers
    frame_pointers_only inlined_frames large_frames recursion longjmp_frames exceptions coroutines ucontext_stacks stripped
    signal_raise signal_unwind dlopen_loop constructors preinit_array binding_lazy binding_now static_libstdcxx noise peak
    large_blocks qsort_callback jemalloc_linked jemalloc_preloaded map_functions map_remap leak_definite leak_chain leak_cycle leak_tree
    leak_interior leak_realloc leak_shop leak_containers leak_root_bss leak_root_library leak_clean_iostream
    leak_clean_locale leak_exceptions leak_coroutine leak_threads_alive leak_thread_detached leak_ended_thread_stack
    leak_root_thread_stack leak_root_dynamic_tls""".split()

# What people have on their machines, without symbols.
SYSTEM = {
    "ls": ["/bin/ls", "-l", "/"],
    "sh": ["/bin/sh", "-c", "x=1; for i in a b c; do x=$x$i; done; echo $x"],
    "bash": ["/bin/bash", "-c", "x=1; for i in a b c; do x=$x$i; done; echo $x"],
    "perl": ["/usr/bin/perl", "-e", "my %h; $h{$_ % 7} .= $_ for 1..200; print sort values %h"],
    "sqlite3": ["/usr/bin/sqlite3", ":memory:", "create table t(a); insert into t values(1),(2); select sum(a) from t"],
    "sed": ["/bin/sed", "-n", "s/a/b/p", "/etc/passwd"],
    "sort": ["/usr/bin/sort", "--parallel=1", "/etc/passwd"],
    "cpp": ["/usr/bin/cpp", "-dM", "/dev/null"],
}

# Where the two see different things by their nature, and why.
DIFFERENT = {
    "own_malloc": "by ptrace the program's own malloc is seen, which is not interposed for the agent",
    "own_operator_new": "by ptrace the program's own operators are seen, for the agent only the malloc below them",
    "static_libstdcxx": "by ptrace the operators in the program are seen, for the agent only the malloc below them",
    "ucontext_stacks": "the agent's own frames overwrite dead parts of the contexts' stacks, so less is reachable",
    "leak_exceptions": "the agent's own frames overwrite what a dead frame left, so less is reachable",
    "leak_clean_iostream": "it reads /proc/self/stat, whose length varies",
}

FEWER = {"noise": ["10000"]}  # arguments for programs that take long with two stops of each allocation


class Via(heaptap_test.TestCase):
    def compare(self, name):
        source = TARGET_SOURCES[name]
        target = expectations.read(source, TARGETS)
        if target.trace == "none" or name in variants.read()[variants.USUAL].without:
            self.skipTest("not for this test")
        if name in DIFFERENT:
            self.skipTest(DIFFERENT[name])
        program = heaptap_test.built(name)
        for number, run in enumerate(target.runs):
            if not run.long or LONG:
                arguments = run.arguments if LONG else FEWER.get(name, run.arguments)
                with self.subTest(arguments=arguments):
                    self.compare_command([program, *arguments], target, run.status, str(number))

    def compare_system(self, name):
        command = SYSTEM[name]
        if not os.path.exists(command[0]):
            heaptap_test.skip_what_is_missing(f"{command[0]} isn't there")
        self.compare_command(command, expectations.Target([], ["--no-leak-scan"], b"", {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}, "", None), 0, name)

    def compare_command(self, command, target, status, name):
        for attempt in range(3):
            agent, again, ptrace = (self.report(command, target, status, via, f"{name}-{attempt}-{number}")
                                    for number, via in enumerate(("agent", "agent", "ptrace")))
            # Shells keep the numbers of processes as texts: after 9999 comes one that is longer.
            if len({len(str(report["target"]["pid"])) for report in (agent, again, ptrace)}) == 1:
                break
        if differing := list(comparison.differences(agent, again)):
            self.skipTest(f"two runs by the agent differ: {differing[0]}")
        comparison.take_out_agents_share(agent)
        found = list(comparison.differences(agent, ptrace))
        self.assertEqual(found, [], "agent and ptrace differ:\n" + "\n".join(found[:30]))

    def report(self, command, target, status, via, name):
        trace = self.directory / f"{name}.htap"
        directory = self.directory / name
        directory.mkdir()
        outcome = heaptap_test.heaptap("run", "-q", *target.options, "--via", via, "-o", trace, "--", *command,
                                       stdin=target.stdin, env={**os.environ, **target.environment}, cwd=directory)
        self.assertEqual(outcome.status, status, f"by {via}: {outcome}")
        return summary(trace)


    def test_a_program_is_named_by_the_link_that_was_executed(self):
        program = heaptap_test.built("stripped")
        (self.directory / "server").symlink_to(program)
        (self.directory / "elsewhere").mkdir()
        (self.directory / "elsewhere" / program.name).symlink_to(program)
        for via in ("agent", "ptrace"):
            for executed, known in (("./server", self.directory.resolve() / "server"), (f"elsewhere/{program.name}", program.resolve())):
                with self.subTest(via=via, executed=executed):
                    trace = self.directory / "named.htap"
                    outcome = heaptap_test.heaptap("run", "-q", "--force", "--via", via, "-o", trace, "--", executed, cwd=self.directory)
                    self.assertEqual(outcome.status, 0, outcome)
                    modules = {frame["module"] for stack in summary(trace)["stacks"] for frame in stack["frames"]}
                    self.assertIn(str(known), modules)
                    self.assertNotIn(str(program.resolve() if executed == "./server" else self.directory / executed), modules)
                    text = heaptap_test.heaptap("show", "top", trace).stdout.decode()
                    self.assertRegex(text, rf" {known.name}\+0x[0-9a-f]+")


for _name in sorted(TARGET_SOURCES if LONG else PROGRAMS):
    setattr(Via, f"test_{_name}", lambda self, name=_name: self.compare(name))
for _name in SYSTEM:
    setattr(Via, f"test_system_{_name}", lambda self, name=_name: self.compare_system(name))

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(word if word.startswith("-") else f"Via.test_{word}" for word in sys.argv[1:])])
