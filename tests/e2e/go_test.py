# CTEST COST 20
"""Go programs with C code: stacks of C code that Go called go on in its caller, which runs on a stack of its own. Without the Go
tools: skipped, in CI they have to be there (tools/packages.txt)."""
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


class Cgo(heaptap_test.TestCase):
    via = "agent"
    flags = ()

    def setUp(self):
        super().setUp()
        if shutil.which("go") is None:
            skip_what_is_missing("golang-go")
        source = self.folder / "program.go"
        source.write_text(PROGRAM)
        environment = {**os.environ, "GOCACHE": str(self.folder / "cache"), "GO111MODULE": "off", "GOFLAGS": ""}
        subprocess.run(["go", "build", *self.flags, "-o", self.folder / "program", source], env=environment, check=True, cwd=self.folder)
        outcome = heaptap("run", "-q", "--via", self.via, "-o", self.trace, "--", self.folder / "program")
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
