"""Runs the target programs with and without heaptap: output and status are equal, and the expectations in the program
hold for its trace. Arguments: names of programs (default: all). --via=ptrace: by this way. --variant=NAME: the programs that
are built so (tests/targets/variants.txt); with --everyday those that are always built. --far=unix, --far=tcp (with a token): on another machine, as it were, by
heaptap-target. --part=1/4: the first quarter of the programs, in turns. HEAPTAP_AGGREGATE=1: with --aggregate.
HEAPTAP_SAMPLED=1: with --sample, where counts are estimates and expectations don't hold."""
import itertools
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import far
import heaptap_test
import leak_expectations
import variants
from heaptap_test import LONG, TARGET_SOURCES, TARGETS


# With --aggregate: what is kept then has to hold too, and to be null where it isn't known.
AGGREGATE = os.environ.get("HEAPTAP_AGGREGATE") == "1"
SAMPLED = os.environ.get("HEAPTAP_SAMPLED") == "1"

# Where a stack that is whole may end: the first functions of a process and of a thread, or one without a name.
FIRST_FUNCTIONS = {"_start", "_dl_start_user", "clone", "__clone", "clone3", "__clone3", "_start_c", "start", "?"}
# Where _start jumps, and doesn't call.
FIRST_FUNCTIONS_OF = {"powerpc": {"__libc_start_main"}}

VARIANTS = variants.read()


class Targets(heaptap_test.TestCase):
    via = ""
    far = ""
    variant = variants.USUAL
    part = "1/1"

    def read_target(self, source):
        """What the program says of itself, and the directory that it is in."""
        directory = TARGETS if self.variant == variants.USUAL else TARGETS / self.variant
        target = expectations.read(source, directory)
        if self.variant != variants.USUAL:
            target.levels = []
        if self.via == "ptrace" or self.variant != variants.USUAL:
            self.skip_left_out(source)
            variants.adapt(target, VARIANTS[self.variant].differs.get(source.stem, []))
        if self.far and source.stem == "environment":
            self.skipTest("what it has open is of this test")
        if target.trace == "none" or ((AGGREGATE or SAMPLED) and ("--via" in target.options or target.trace == "threads")):
            self.skipTest("not for this test")
        return target, directory

    def skip_left_out(self, source):
        variant = VARIANTS[self.variant]
        if source.stem in variant.without:
            self.skipTest(variant.without[source.stem])
        if self.via == "ptrace" and source.stem in variant.long and not LONG:
            self.skipTest("takes long: HEAPTAP_LONG=1 runs it")
        if variant.only_c and source.suffix != ".c":
            self.skipTest("there is no C++ library there")

    def check_target(self, source):
        target, directory = self.read_target(source)
        rounds = range(target.repeat * 10 if LONG and target.repeat > 1 else target.repeat)
        for level, run, number in itertools.product(["", *target.levels], target.runs, rounds):
            if run.long and not LONG:
                continue
            with self.subTest(arguments=" ".join(run.arguments), level=level, number=number):
                name = "-".join(["run", level, str(number), *run.arguments])[:60].replace("/", "_")
                self.check_run(heaptap_test.built(source.stem, level, directory), target, run, name)

    def check_run(self, program, target, run, name):
        """Once; what may be chance is none if it comes again."""
        leaks = self.run_once(program, target, run, name)
        if leaks:
            leaks = self.run_once(program, target, run, f"{name}-again")
        self.assertEqual(leaks, [], "twice")

    def run_once(self, program, target, run, name):
        """Fails where something is wrong; the ways in which leaks are wrong by chance."""
        env = {**self.environment(), **target.environment}
        directories = [self.directory / kind / name for kind in ("bare", "traced")]
        for directory in directories:
            directory.mkdir(parents=True)
        command = [program, *run.arguments]
        bare, bare_files = self.run_bare(command, stdin=target.stdin, env=env, cwd=directories[0])
        self.assertEqual(bare.status, run.status, f"without heaptap: {bare}")
        trace = directories[1].parent / f"{directories[1].name}.htap"
        via = ["--via", self.via] if self.via and "--via" not in target.options else []
        options = [*target.options, *(["--aggregate"] if AGGREGATE else ["--sample", "1024"] if SAMPLED else []), *via]
        how = {"stdin": target.stdin, "env": env, "cwd": directories[1], "timeout_s": heaptap_test.TIMEOUT_S + 20 * bare.seconds}
        words = ["-q", *options, "-o", trace, "--", *command]
        traced, traced_files = self.run_traced(trace.parent, words, **how)
        for what in ("status", "stdout", "stderr"):
            self.assertEqual(getattr(traced, what), getattr(bare, what), f"{what} under heaptap and without it differ\n{traced}")
        self.assertEqual(traced_files, bare_files, "files in the working directory")
        return self.check_trace(trace, target, run) if target.trace != "any" else []

    # Where the programs run: here.
    @staticmethod
    def environment():
        return os.environ

    def run_bare(self, command, cwd, **how):
        """The outcome, and the files in the working directory."""
        return heaptap_test.run(command, cwd=cwd, **how), os.listdir(cwd)

    def run_traced(self, directory, words, cwd, **how):
        """The same of `heaptap run WORDS`."""
        traced = far.run(self.far, directory, *words, cwd=cwd, **how) if self.far else heaptap_test.heaptap("run", *words, cwd=cwd, **how)
        return traced, os.listdir(cwd)

    def check_trace(self, trace, target, run):
        report = heaptap_test.summary(trace)
        checked = [] if SAMPLED else run.expectations
        leaks = [] if AGGREGATE or SAMPLED else leak_expectations.check(target.leaks, run.arguments, report)  # no leak scan with --aggregate
        problems = list(expectations.conservation(report))
        for text in checked:
            (leaks if text.startswith("leaks.") else problems).extend(expectations.check(text, report))
        if not leak_expectations.may_be_chance(report):
            problems, leaks = problems + leaks, []
        capture, end = report["capture"], report["target"]["exit"]
        if capture["lost_events"] != 0:
            problems.append(f"{capture['lost_events']} lost events")
        says_itself = any(text.startswith("capture.complete ") for text in run.expectations)
        is_incomplete = target.trace == "incomplete" or target.trace == "incomplete-by-agent" and self.via != "ptrace"
        if not says_itself and capture["complete"] == is_incomplete or capture["truncated"]:
            problems.append(f"whether the trace is complete: {capture}")
        if (128 + end["signal"] if end.get("signal") else end.get("code")) != run.status:
            problems.append(f"the trace says {end}, the status is {run.status}")
        first_functions = FIRST_FUNCTIONS | FIRST_FUNCTIONS_OF.get(report["target"]["arch"], set())
        for stack in report["stacks"]:
            path = expectations.names(stack["frames"])
            if not stack["ends_early"] and path[-1:] and path[-1] not in first_functions:
                problems.append(f"a stack ends in {path[-1]}, and the report doesn't say why: {stack['function']} from {' < '.join(path)}")
        if problems:
            self.fail("\n".join([*problems, *self.stacks_of(report), *self.who_holds(report, trace)]))
        return leaks

    @staticmethod
    def who_holds(report, trace):
        """What points to blocks that are neither lost nor reachable for sure."""
        doubtful = [stack["id"] for stack in report["stacks"] if stack.get("leaks") and stack["leaks"]["possible"]["blocks"]]
        return [heaptap_test.heaptap("show", "leaks", "--why", f"#{number}", trace).stdout.decode() for number in doubtful[:3]]

    @staticmethod
    def stacks_of(report):
        """The stacks with most allocations, one line each, to show what was there instead."""
        yield f"there are: {report['totals']}"
        for stack in sorted(report["stacks"], key=lambda stack: -stack["allocations"])[:25]:
            numbers = " ".join(f"{key}={stack[key]}" for key in ("allocations", "frees", "allocated_bytes", "live_bytes"))
            path = " < ".join(expectations.names(stack["frames"])[:8])
            yield f"  {stack['function']} from {path}: {numbers} {stack.get('ends_early') or ''}"
        for error in report["errors"][:10]:
            yield f"  error {error['kind']} {error['function']} from {' < '.join(expectations.names(error['frames'])[:4])}"


def _add(source):
    setattr(Targets, f"test_{source.stem}", lambda self: self.check_target(source))


def _main(words):
    for word in [word for word in words if word.startswith(("--via=", "--variant=", "--part=", "--far="))]:
        words.remove(word)
        setattr(Targets, *word[2:].split("="))
    wanted = VARIANTS[Targets.variant].programs
    if "--everyday" in words:
        words.remove("--everyday")
        wanted = VARIANTS[Targets.variant].everyday
    part, parts = (int(number) for number in Targets.part.split("/"))
    for source in sorted(TARGET_SOURCES.values(), key=lambda path: path.name)[part - 1::parts]:
        if Targets.variant == variants.USUAL or source.stem in wanted:
            _add(source)
    unittest.main(argv=[sys.argv[0], *(word if word.startswith("-") else f"Targets.test_{word}" for word in words)])


if __name__ == "__main__":
    _main(sys.argv[1:])
