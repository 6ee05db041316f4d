# CTEST COST 20
"""Go programs. With C code: stacks of C code that Go called go on in its caller, which runs on a stack of its own. Without: nothing of
what they allocate is seen, which is said, and passes no gate. Without the Go tools: skipped, in CI they have to be there
(tools/packages.txt)."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import heaptap, skip_what_is_missing, summary

PROGRAM = """package main
/*
#include <stdlib.h>
void goAgain(int);
static void* keep(size_t n) { return malloc(n); }
static void again(int n) { goAgain(n); }
*/
import "C"
import ("sync"; "unsafe")
func keepOne() { C.keep(64) }
//go:noinline
func leakString(text string) unsafe.Pointer { return unsafe.Pointer(C.CString(text)) }
//go:noinline
func deep(n int) { if n > 0 { deep(n - 1) } else { keepOne() } }
//export goAgain
func goAgain(n C.int) { C.keep(C.size_t(n)) }
//go:noinline
func callsBack() { C.again(1000) }
func main() {
  var done sync.WaitGroup
  for i := 0; i < 4; i++ {
    done.Add(1)
    go func() { defer done.Done(); for i := 0; i < 50; i++ { leakString("a string"); deep(5); deep(20) } }()
  }
  done.Wait()
  callsBack()
}
"""


ALL_GO = """package main
import "fmt"
var kept [][]byte
func main() {
  for i := 0; i < 10000; i++ { kept = append(kept, make([]byte, 1000)) }
  fmt.Println(len(kept))
}
"""


class Go(heaptap_test.TestCase):
    def build(self, text, *flags, **environment):
        if shutil.which("go") is None:
            skip_what_is_missing("golang-go")
        source, program = self.directory / "program.go", self.directory / "program"
        source.write_text(text)
        environment = {**os.environ, "GOCACHE": str(self.directory / "cache"), "GO111MODULE": "off", "GOFLAGS": "", **environment}
        subprocess.run(["go", "build", *flags, "-o", program, source], env=environment, check=True, cwd=self.directory)
        return program


class WithoutC(Go):
    """Static, with an allocator of its own. What its runtime maps is seen by ptrace, and is no answer to what it allocates."""

    def setUp(self):
        super().setUp()
        self.program = self.build(ALL_GO, CGO_ENABLED="0")
        self.outcome = heaptap("run", "--error-exitcode", "42", "-o", self.trace, "--", self.program)

    def test_it_is_said_that_nothing_was_seen(self):
        self.assertEqual(self.outcome.stdout, b"10000\n", self.outcome)
        said = b" ".join(self.outcome.stderr.split())
        self.assertIn(b"nothing was seen", said)
        self.assertNotIn(b"no leaks", said)
        self.assertIn(b"Go program", said)

    def test_no_gate_passes(self):
        self.assertEqual(self.outcome.status, 3, self.outcome)
        for limit in (("--max-leaked", "0"), ("--max-peak", "1G"), ("--max-allocations", "1000000")):
            judged = heaptap("check", self.trace, *limit)
            self.assertEqual(judged.status, 3, judged)
            self.assertNotIn(b"no leaks", judged.stdout + judged.stderr)

    def test_json_knows_nothing(self):
        report = summary(self.trace)
        self.assertEqual(report["capture"]["known"], {"leaks": False, "releases": False})
        self.assertIn("nothing_seen", report["capture"]["gaps"])
        self.assertEqual(report["totals"]["allocations"], 0)
        judged = heaptap("check", self.trace, "--json", "--max-leaked", "0")
        verdict = heaptap_test.read_report(judged.stdout)
        self.assertEqual((judged.status, verdict["passed"], verdict["limits"][0]["judged"]), (3, False, False), verdict)


class Cgo(Go):
    via = "agent"
    flags = ()

    def setUp(self):
        super().setUp()
        self.build(PROGRAM, *self.flags)
        outcome = heaptap("run", "-q", "--via", self.via, "-o", self.trace, "--", self.directory / "program")
        self.assertEqual(outcome.status, 0, outcome)
        self.stacks = [(stack, [frame["function"] for frame in stack["frames"]]) for stack in summary(self.trace)["stacks"]
                       if stack["function"] == "malloc"]

    def allocations_through(self, *names):
        return sum(stack["allocations"] for stack, frames in self.stacks if all(name in frames for name in names))

    def test_stacks_of_c_code_go_on_in_the_go_code_that_called_it(self):
        self.assertEqual(self.allocations_through("main.leakString", "main.main.func1"), 200)
        self.assertEqual(self.allocations_through("main.deep", "main.main.func1"), 400)
        deep = sorted((frames.count("main.deep"), stack["allocations"]) for stack, frames in self.stacks if "main.deep" in frames)
        self.assertEqual(deep, [(6, 200), (21, 200)])
        for stack, frames in self.stacks:
            if "main.leakString" in frames:
                self.assertIsNone(stack["ends_early"], frames)

    def test_a_call_that_went_back_and_forth_is_whole(self):
        self.assertEqual(self.allocations_through("main.goAgain"), 1)


class CgoByPtrace(Cgo):
    via = "ptrace"


class CgoWithPlainDebugFrames(Cgo):
    flags = ("-ldflags=-compressdwarf=false",)


if __name__ == "__main__":
    unittest.main()
