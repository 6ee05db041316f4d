"""What wasn't seen accuses nobody, and passes no gate: lost events, releases past the hooks, traces that are cut off."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import LONG, TARGETS, heaptap, summary


# late FIFO FORKS: ends at once. Its last child, of so many generations, waits for the FIFO to be opened, and allocates.
LATE = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  if (count < 3) return 2;
  for (int left = atoi(words[2]); left > 0; --left) {
    if (fork() != 0) return 0;
  }
  for (int i = 0; i < 3; ++i) close(i);
  open(words[1], O_RDONLY);
  void* volatile lost = malloc(5000);
  lost = 0;
  _exit(lost != 0);
}
"""


def accusations(report):
    """What a report of a correct program may not say."""
    totals, leaks = report["totals"], report["leaks"]
    said = {key: totals[key] for key in ("bad_frees", "double_frees", "mismatched_frees")}
    said.update({kind: leaks[kind]["blocks"] for kind in ("definite", "indirect")})
    return {key: count for key, count in said.items() if count}


class Unknown(heaptap_test.TestCase):
    def record(self, program, *options, name="trace"):
        trace = self.directory / f"{name}.htap"
        outcome = heaptap("run", "-q", "--force", "-o", trace, *options, "--", TARGETS / program)
        self.assertEqual(outcome.status, 0, outcome)
        return trace

    def check(self, trace, *limits):
        outcome = heaptap("check", trace, "--json", *limits)
        return outcome.status, heaptap_test.read_report(outcome.stdout)


class Lossy(Unknown):
    """A correct program of six threads, faster than its small log is read."""

    def record_lossy(self, number=0):
        options = ("--sanity", "--via", "agent", "--on-overflow", "drop", "--log-memory", "1M")
        for _ in range(5):
            trace = self.record("lossy_vectors", *options, name=f"lossy{number}")
            report = summary(trace)
            if report["capture"]["lost_events"]:
                return trace, report
        self.skipTest("nothing was lost: the machine is too fast for this program")

    def test_nobody_is_accused(self):
        for number in range(20 if LONG else 3):
            _, report = self.record_lossy(number)
            self.assertEqual(accusations(report), {}, report["totals"])
            self.assertEqual(report["errors"], [])
            self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})
            self.assertFalse(report["capture"]["complete"])
            kinds = ("definite", "indirect", "possible", "reachable", "suppressed", "unknown")
            self.assertEqual(sum(report["leaks"][kind]["blocks"] for kind in kinds), report["totals"]["live_blocks"])

    def test_text_says_it(self):
        trace, _ = self.record_lossy()
        text = heaptap("show", "summary", trace).stdout.decode()
        self.assertIn("uncertain: which blocks are lost, which releases are bad (events were lost", text)
        self.assertNotIn("from before the recording", text)

    def test_the_gate_does_not_know(self):
        trace, _ = self.record_lossy()
        for limit in (("--max-leaked", "0"), ("--max-peak", "1G"), ("--max-live", "1G"), ("--max-allocations", "1000000")):
            status, verdict = self.check(trace, *limit)
            self.assertEqual((status, verdict["passed"]), (3, False), verdict)
            self.assertFalse(verdict["limits"][0]["judged"])
            self.assertEqual(self.check(trace, *limit, "--allow-incomplete")[0], 0)
        status, verdict = self.check(trace, "--max-allocations", "1", "--max-peak", "1G")
        self.assertEqual(status, 1, "more allocations than that were seen")
        self.assertEqual([limit["certainty"] for limit in verdict["limits"]], ["unknown", "at least"])


OWN_MALLOC = """
static char area[1 << 20];
static unsigned long used;
HIDDEN void *malloc(unsigned long size) { used += (size + 15) & ~15ul; return area + used; }
HIDDEN void free(void *block) { (void)block; }
int main(void) {
  for (int i = 0; i < 100; i++) { void *volatile lost = malloc(100); lost = 0; (void)lost; }
  return 0;
}
"""
NO_ALLOCATION = "#include <unistd.h>\nint main(void) { return write(1, \"x\", 1) == 1 ? 0 : 1; }\n"
OWN_MAPPINGS = """
#include <sys/mman.h>
int main(void) { return mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED; }
"""


PAST_HOOKS_AND_LOST = """
#include <stdlib.h>
extern void *__libc_malloc(size_t);
static void *volatile lost, *volatile held;
__attribute__((noinline)) static void lose(void) {
  lost = malloc(500000);
  lost = malloc(50);
  held = malloc(70);
  lost = 0;
}
int main(void) {
  lose();
  free(__libc_malloc(3));
  return 0;
}
"""


class NothingSeen(Unknown):
    """A program whose allocator isn't the one that is watched: nothing seen is not clean."""

    def build(self, text, *options):
        source = self.directory / "program.c"
        source.write_text(text)
        subprocess.run(["cc", "-O1", "-fno-builtin", source, "-o", self.directory / "program", *options], check=True)
        return self.directory / "program"

    def assert_nothing_was_seen(self, program, *options, reason):
        trace = self.directory / "trace.htap"
        outcome = heaptap("run", "--force", "-o", trace, "--error-exitcode", "9", *options, "--", program)
        said = outcome.stderr.decode()
        self.assertEqual(outcome.status, 3, said)
        self.assertIn("UNKNOWN: nothing was seen of what it allocates", said)
        self.assertNotIn("no leaks", said)
        self.assertRegex(said, reason)
        status, verdict = self.check(trace, "--max-leaked", "0", "--max-peak", "1G")
        self.assertEqual((status, [limit["judged"] for limit in verdict["limits"]]), (3, [False, False]))
        passed = heaptap("check", trace, "--max-leaked", "0", "--allow-incomplete")
        self.assertEqual(passed.status, 0, passed)
        self.assertIn(b"not judged: leaked unknown", passed.stdout)
        report = summary(trace)
        self.assertFalse(report["capture"]["known"]["leaks"])
        self.assertIn("nothing_seen", report["capture"]["gaps"])
        text = heaptap("show", "summary", trace).stdout.decode()
        self.assertIn("nothing was seen of what it allocates", text)
        page = self.directory / "page.html"
        heaptap("report", trace, "-o", page, "--force")
        findings = heaptap_test.document_of(page.read_text())["verdict"]
        self.assertTrue(any("UNKNOWN: nothing was seen" in str(finding) for finding in findings), findings)

    def test_its_own_malloc_and_nothing_that_asks_for_its_modules(self):
        program = self.build(OWN_MALLOC, "-DHIDDEN=", "-rdynamic")
        for options in (["--aggregate"], ["--no-leak-scan"]):
            with self.subTest(options):
                trace = self.directory / "unasked.htap"
                said = heaptap("run", "--force", "-o", trace, *options, "--", program).stderr.decode()
                self.assertIn("UNKNOWN: nothing was seen of what it allocates", said)
                self.assertRegex(said, "defines its own malloc.*--via ptrace")
                self.assertFalse(summary(trace)["capture"]["complete"])

    def test_a_malloc_inside_the_executable(self):
        for name, options in (("shown", ["-DHIDDEN=", "-rdynamic"]), ("hidden", ['-DHIDDEN=__attribute__((visibility("hidden")))'])):
            with self.subTest(name):
                self.assert_nothing_was_seen(self.build(OWN_MALLOC, *options), reason="defines its own malloc.*--via ptrace")

    def test_a_static_program_without_symbols(self):
        if not heaptap_test.has_tracer():
            self.skipTest("no tracer")
        self.assert_nothing_was_seen(self.build(NO_ALLOCATION, "-static", "-s"), reason="static and stripped")

    def test_known_leaks_stay_known_whatever_holds_others(self):
        trace = self.directory / "trace.htap"
        program = self.build(PAST_HOOKS_AND_LOST)
        self.assertEqual(heaptap("run", "-q", "-o", trace, "--via", "agent", "--", program).status, 0)
        self.assertIn("past_hooks", summary(trace)["capture"]["gaps"])
        for kinds in ((), ("--no-roots", "stack,register"), ("--no-roots", "global"), ("--no-roots", "global,stack,register,thread-local,mapping")):
            leaks = heaptap_test.read_report(heaptap("show", "leaks", trace, "--json", *kinds).stdout)["leaks"]
            expected = 3 if "global" in "".join(kinds) else 2
            self.assertEqual((leaks["definite"]["blocks"], leaks["unknown"]["blocks"]), (expected, 0), kinds)

    def test_mappings_alone(self):
        program = self.build(OWN_MAPPINGS)
        self.assert_nothing_was_seen(program, "--via", "agent", reason="0 allocations")

    def test_a_program_that_was_seen_and_allocates_nothing_is_clean(self):
        program = self.build(NO_ALLOCATION)
        for via in ("agent", "ptrace") if heaptap_test.has_tracer() else ("agent",):
            with self.subTest(via):
                trace = self.directory / f"{via}.htap"
                outcome = heaptap("run", "-o", trace, "--via", via, "--error-exitcode", "9", "--", program)
                self.assertEqual(outcome.status, 0, outcome)
                self.assertIn(b"heaptap: no leaks\n", outcome.stderr)
                self.assertEqual(self.check(trace, "--max-leaked", "0")[0], 0)


class UnrecordedChildren(Unknown):
    """Children that nobody recorded may have leaked."""

    ways = {
        "a shell's": (["sh", "-c", "ls / >/dev/null; ls / >/dev/null; exit 0"], 2),
        "system, fork, spawn": ([sys.executable, "-c", "import os\nos.system('exit 0')\nif os.fork() == 0: os._exit(0)\n"
                                "os.posix_spawn('/bin/true', ['true'], {})\nos.wait()"], 3),
    }

    def test_they_are_counted_and_pass_no_gate(self):
        for via in ("agent", "ptrace") if heaptap_test.has_tracer() else ("agent",):
            for name, (command, count) in self.ways.items():
                with self.subTest(f"{name} {via}"):
                    trace = self.directory / "trace.htap"
                    outcome = heaptap("run", "--force", "-o", trace, "--via", via, "--error-exitcode", "9", "--", *command)
                    said = outcome.stderr.decode()
                    self.assertEqual(outcome.status, 3, said)
                    self.assertIn(f"{count} child processes ran unrecorded: -f records children", said)
                    self.assertIn("no leaks in what was recorded", said)
                    report = summary(trace)
                    self.assertTrue(report["capture"]["known"]["leaks"], "of the process itself")
                    self.assertEqual(report["capture"]["gaps"], ["unrecorded_children"])
                    self.assertEqual(self.check(trace, "--max-leaked", "0")[0], 3)
                    self.assertEqual(self.check(trace, "--max-leaked", "0", "--allow-incomplete")[0], 0)

    def test_where_they_are_recorded_the_gate_knows(self):
        for command, _ in self.ways.values():
            trace = self.directory / "trace.htap"
            outcome = heaptap("run", "-f", "--force", "-o", trace, "--error-exitcode", "9", "--", *command)
            self.assertEqual(outcome.status, 0, outcome)
            self.assertNotIn(b"unrecorded", outcome.stderr)

    def test_those_that_first_allocate_after_its_end_are_counted(self):
        (self.directory / "late.c").write_text(LATE)
        subprocess.run(["cc", "-O0", self.directory / "late.c", "-o", self.directory / "late"], check=True)
        os.mkfifo(self.directory / "go")
        for via in ("agent", "ptrace") if heaptap_test.has_tracer() else ("agent",):
            for forks in ("1", "2"):
                with self.subTest(via=via, forks=forks):
                    trace = self.directory / "trace.htap"
                    outcome = heaptap("run", "--force", "-o", trace, "--via", via, "--error-exitcode", "9", "--",
                                      self.directory / "late", self.directory / "go", forks)
                    with open(self.directory / "go", "wb"):  # it waits for that
                        pass
                    self.assertEqual(outcome.status, 3, outcome)
                    self.assertEqual(self.check(trace, "--max-leaked", "0")[0], 3)

    def test_what_fails_to_be_executed_is_no_child(self):
        program = [sys.executable, "-c", "import os\ntry: os.posix_spawn('/none', ['none'], {})\nexcept OSError: pass"]
        trace = self.directory / "trace.htap"
        outcome = heaptap("run", "-o", trace, "--via", "agent", "--", *program)
        self.assertNotIn(b"unrecorded", outcome.stderr)


class WithoutATrace(Unknown):
    """A trace that can't be written passes no gate."""

    def test_a_child_whose_trace_cannot_be_made_is_unknown(self):
        (self.directory / "traces").mkdir()
        script = 'mv traces elsewhere; "$0"; mv elsewhere traces; exit 0'
        outcome = heaptap("run", "-f", "-o", "traces/%p.htap", "--error-exitcode", "9", "--", "sh", "-c", script,
                          heaptap_test.built("leak_definite"), cwd=self.directory)
        said = outcome.stderr.decode()
        self.assertEqual(outcome.status, 3, said)
        self.assertRegex(said, r"heaptap: can't write the trace to traces/\d+\.htap: No such file or directory")
        self.assertRegex(said, r"leak_definite \(pid \d+\) unknown: can't write the trace")
        self.assertIn("--error-exitcode: it is unknown whether it leaks: a trace is missing or incomplete", said)
        self.assertNotIn("processes: no leaks", said)


class PastTheHooks(Unknown):
    def test_releases_that_were_not_seen_do_not_mismatch(self):
        report = summary(self.record("unseen_release", "--sanity", "--via", "agent"))
        self.assertEqual(accusations(report), {})
        self.assertEqual(report["errors"], [])
        self.assertGreaterEqual(report["totals"]["unseen_frees"], 90)
        self.assertGreaterEqual(report["totals"]["allocations"], 100)
        self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})

    def test_the_last_one_is_not_lost(self):
        report = summary(self.record("unseen_release", "--via", "agent"))
        self.assertEqual(report["leaks"]["unknown"]["blocks"], 1, "nothing points to it, and the allocator has it free")

    def test_by_breakpoints_all_is_seen(self):
        if not heaptap_test.has_tracer():
            self.skipTest("no tracer")
        report = summary(self.record("unseen_release", "--sanity", "--via", "ptrace"))
        self.assertEqual(report["totals"]["unseen_frees"], 0)


class OtherScopes(Unknown):
    """What a library allocates and releases that is bound past the hooks."""

    def test_nobody_is_accused(self):
        for way in ("deepbind", "namespace", "inner", "inner-library"):
            with self.subTest(way):
                trace = self.directory / f"{way}.htap"
                outcome = heaptap("run", "-q", "-o", trace, "--sanity", "--via", "agent", "--", TARGETS / "past_hooks", way)
                self.assertEqual(outcome.status, 0, outcome)
                report = summary(trace)
                self.assertEqual(accusations(report), {}, report)
                self.assertEqual(report["leaks"]["possible"]["blocks"], 0)
                self.assertEqual(report["errors"], [])
                self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})
                self.assertEqual(self.check(trace, "--max-leaked", "0")[0], 3)
                if way != "namespace":
                    self.assertGreaterEqual(report["totals"]["unknown_frees"], 10)
                text = heaptap("show", "summary", trace).stdout.decode()
                self.assertIn("calls of some objects are not seen", text)
                self.assertRegex(text.replace("\n", " "), r"(past_hooks|their own scope|past_hooks\.so).*--via ptrace", "what and the remedy")

    def test_a_usual_library_is_seen(self):
        trace = self.directory / "usual.htap"
        outcome = heaptap("run", "-q", "-o", trace, "--sanity", "--via", "agent", "--", TARGETS / "leak_in_library")
        self.assertEqual(outcome.status, 0, outcome)
        self.assertEqual(summary(trace)["capture"]["known"], {"leaks": True, "releases": True})

    def test_children_have_the_libraries_too(self):
        trace = self.directory / "%p.htap"
        outcome = heaptap("run", "-q", "-f", "-o", trace, "--sanity", "--via", "agent", "--", TARGETS / "past_hooks", "deepbind", "fork")
        self.assertEqual(outcome.status, 0, outcome)
        traces = [trace for trace in self.directory.glob("*.htap") if not trace.is_symlink()]
        self.assertEqual(len(traces), 2)
        for each in traces:
            self.assertEqual(summary(each)["capture"]["known"], {"leaks": False, "releases": False})


class Gate(Unknown):
    def test_a_whole_trace_is_judged(self):
        trace = self.record("leak_definite")
        self.assertEqual(summary(trace)["capture"]["known"], {"leaks": True, "releases": True})
        self.assertEqual(self.check(trace, "--max-leaked", "1K", "--max-peak", "1M")[0], 0)
        self.assertEqual(self.check(trace, "--max-leaked", "100")[0], 1)

    def test_a_trace_that_is_cut_off(self):
        whole = self.record("leak_definite")
        cut = self.directory / "cut.htap"
        data = whole.read_bytes()
        for length in (len(data) - 20, len(data) // 2):
            cut.write_bytes(data[:length])
            for limit in ("--max-leaked", "--max-peak", "--max-live", "--max-allocations"):
                self.assertEqual(self.check(cut, limit, "1000000")[0], 3, f"{limit}, {length} of {len(data)} bytes")
                self.assertEqual(self.check(cut, limit, "1000000", "--allow-incomplete")[0], 0)

    def test_what_is_beyond_a_limit_for_certain_in_a_cut_trace(self):
        whole = self.record("leak_definite")
        cut = self.directory / "cut.htap"
        cut.write_bytes(whole.read_bytes()[:-20])
        self.assertEqual(self.check(cut, "--max-leaked", "100")[0], 1)
        self.assertEqual(self.check(cut, "--max-allocations", "2", "--max-live", "1G")[0], 1)
        self.assertEqual(self.check(cut, "--max-live", "1")[0], 3, "it may have been released later")

    def test_no_leak_scan(self):
        trace = self.record("leak_definite", "--no-leak-scan")
        status, verdict = self.check(trace, "--max-leaked", "0")
        self.assertEqual(status, 3)
        self.assertIsNone(verdict["limits"][0]["figure"])
        self.assertIn("no leak scan", " ".join(verdict["remarks"]))
        self.assertEqual(self.check(trace, "--max-leaked", "0", "--allow-incomplete")[0], 0)
        self.assertEqual(self.check(trace, "--max-leaked", "0", "--max-allocations", "1")[0], 1)

    def test_a_scan_in_the_middle_is_not_the_final_one(self):
        command = [heaptap_test.HEAPTAP, "run", "-q", "--no-leak-scan", heaptap_test.built("sleeper")]
        with subprocess.Popen(command, cwd=self.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), b"ready 1\n")
            trace = next(trace for trace in self.directory.glob("heaptap.sleeper.*.htap") if not trace.is_symlink())
            asked = heaptap("leaks", trace.name.split(".")[2])
            self.assertEqual(asked.status, 0, asked)
            run.stdin.close()
        status, verdict = self.check(trace, "--max-leaked", "1G")
        self.assertEqual((status, verdict["limits"][0]["certainty"]), (3, "at least"), verdict)
        self.assertIn("later leaks are not in it", " ".join(verdict["remarks"]))
        self.assertEqual(self.check(trace, "--max-leaked", "1G", "--scan", "1")[0], 0)

    def test_what_aggregate_does_not_keep(self):
        trace = self.record("leak_definite", "--aggregate")
        self.assertEqual(self.check(trace, "--max-leaked", "0")[0], 3)
        self.assertEqual(self.check(trace, "--max-allocations", "1")[0], 1)


if __name__ == "__main__":
    unittest.main()
