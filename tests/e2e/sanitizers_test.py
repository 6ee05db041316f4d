# CTEST COST 18
"""Programs that are built with gcc's and clang's sanitizers, by both ways of capture, and attached to: each is recorded, with the
output and the status that it has without heaptap, or refused before it starts, with a way out that works."""
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import heaptap, summary
from waiting import finished

# Threads, a block that is lost if an argument asks for it, an end by return; with a line on stdin it ends.
SOURCE = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static __thread void* volatile held;
__attribute__((noinline)) static void* keep(size_t size) { return held = malloc(size); }
static void* work(void* unused) {
  for (int i = 0; i < 50; i++) free(keep(10));
  return unused;
}
__attribute__((noinline)) static void lose(void) { keep(77); held = NULL; }
int main(int count, char** arguments) {
  char line[16];
  pthread_t threads[3];
  if (count > 1 && !strcmp(arguments[1], "waits")) {
    puts("ready");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return 1;
  }
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  if (count > 1 && !strcmp(arguments[1], "loses")) lose();
  printf("%d\\n", count);
  return 3;
}
"""

NAMES = {"address": "AddressSanitizer", "leak": "LeakSanitizer", "thread": "ThreadSanitizer", "undefined": ""}
CHECKS_LEAKS = {"address", "leak"}


def kinds():
    for sanitizer, name in NAMES.items():
        library = {"address": "asan", "leak": "lsan", "thread": "tsan", "undefined": "ubsan"}[sanitizer]
        yield "gcc", sanitizer, name, []
        # gcc 12's LeakSanitizer fails by itself in a program that has it inside.
        if sanitizer != "leak":
            yield "gcc", sanitizer, name, [f"-static-lib{library}"]
        yield "clang-19", sanitizer, name, []
        if sanitizer != "leak":  # there is no library of it
            resources = subprocess.run(["clang-19", "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
            yield "clang-19", sanitizer, name, ["-shared-libsan", f"-Wl,-rpath,{resources}/lib/linux"]


@unittest.skipUnless(heaptap_test.has_tracer(), "this heaptap can't trace by ptrace")
class Sanitizers(heaptap_test.TestCase):
    def built(self, compiler, sanitizer, options):
        if not shutil.which(compiler):
            heaptap_test.skip_what_is_missing(f"{compiler} is missing")
        source, program = self.directory / "sanitized.c", self.directory / "sanitized"
        source.write_text(SOURCE)
        made = heaptap_test.run([compiler, "-g", "-O1", "-pthread", f"-fsanitize={sanitizer}", *options, source, "-o", program])
        if made.status != 0:
            heaptap_test.skip_what_is_missing(f"{compiler} has no -fsanitize={sanitizer}: {made}")
        return program

    def environment(self, changes=()):
        environment = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
        return {**environment, **dict(change.split("=", 1) for change in changes)}

    def record(self, program, *options, changes=(), argument="plain"):
        """Recorded, and unchanged."""
        environment = self.environment(changes)
        bare = heaptap_test.run([program, argument], env=environment)
        recorded = heaptap("run", "-q", "--force", "-o", self.trace, *options, "--", program, argument, env=environment)
        self.assertEqual(bare.status, 3 if program.name == "sanitized" else 0, str(bare))
        self.assertEqual((recorded.status, recorded.stdout, recorded.stderr), (bare.status, bare.stdout, bare.stderr), str(recorded))
        report = summary(self.trace)
        self.assertGreaterEqual(report["totals"]["allocations"], 150, report["capture"])
        self.assertEqual(report["capture"]["lost_events"], 0, report["capture"])
        self.assertEqual([report["totals"][kind] for kind in ("bad_frees", "double_frees", "mismatched_frees")], [0, 0, 0])
        return report

    def refused(self, words, *arguments):
        outcome = heaptap(*arguments, cwd=self.directory, env=self.environment())
        self.assertIn(outcome.status, (125, 126), str(outcome))
        self.assertEqual(outcome.stdout, b"", "it was started")
        for word in words:
            self.assertIn(word, outcome.stderr.decode())
        return outcome.stderr.decode()

    def way_out(self, text):
        """The variable that the message says is to be set."""
        return re.search(r"[A-Z]+_OPTIONS=\S*detect_leaks=0", text)[0]

    def by_ptrace(self, program, sanitizer, name):
        if sanitizer not in CHECKS_LEAKS:
            self.record(program, "--via", "ptrace")
            return []
        change = self.way_out(self.refused([name, "leak"], "run", "--via", "ptrace", "--", program))
        report = self.record(program, "--via", "ptrace", changes=[change], argument="loses")
        lost = [report["leaks"][kind]["bytes"] for kind in ("definite", "possible")]
        self.assertEqual(sum(lost), 77, report["leaks"])
        return [change]

    def by_agent(self, program, name, changes):
        if not name:
            return self.record(program, "--via", "agent")
        self.refused([name, "--via agent"], "run", "--via", "agent", "--", program)
        return self.record(program, changes=changes)  # the way out: no --via

    def attached(self, program, sanitizer, name, changes):
        def started(changes):
            process = subprocess.Popen([program, "waits"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment(changes))
            self.addCleanup(process.communicate)
            self.addCleanup(heaptap_test.end, process)
            self.assertEqual(process.stdout.readline(), b"ready\n")
            return process
        if sanitizer in CHECKS_LEAKS:
            process = started([])
            change = self.way_out(self.refused([name, "leak"], "attach", process.pid))
            self.assertEqual(change, changes[0])
            self.assertEqual((finished(process, b"\n")[0], process.returncode), (b"2\n", 3))
        process = started(changes)
        command = [heaptap_test.HEAPTAP, "attach", "--force", "-o", self.trace, str(process.pid)]
        attached = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(attached.communicate)
        self.addCleanup(heaptap_test.end, attached)
        self.assertIn(b"recording process", attached.stderr.readline())
        self.assertEqual((finished(process, b"\n")[0], process.returncode), (b"2\n", 3))
        finished(attached)
        self.assertEqual(attached.returncode, 0)
        self.assertGreaterEqual(summary(self.trace)["totals"]["allocations"], 150)

    def test_all(self):
        for compiler, sanitizer, name, options in kinds():
            with self.subTest(compiler=compiler, sanitizer=sanitizer, options=options):
                program = self.built(compiler, sanitizer, options)
                changes = self.by_ptrace(program, sanitizer, name)
                self.by_agent(program, name, changes)
                self.attached(program, sanitizer, name, changes)

    def test_settings_of_the_user_stay(self):
        program = self.built("gcc", "address", [])
        outcome = heaptap("run", "--", program, env=self.environment(["ASAN_OPTIONS=color=never"]))
        self.assertIn(b"ASAN_OPTIONS=color=never:detect_leaks=0", outcome.stderr, str(outcome))
        for setting in ("detect_leaks=0", "color=never:detect_leaks=0", "detect_leaks=1,detect_leaks=false"):
            self.record(program, "-E", f"ASAN_OPTIONS={setting}", changes=[f"ASAN_OPTIONS={setting}"])
        outcome = heaptap("run", "--", program, env=self.environment(["ASAN_OPTIONS=detect_leaks=0:detect_leaks=1"]))
        self.assertEqual(outcome.status, 126, str(outcome))
        # In all of them LeakSanitizer's own settings count last.
        outcome = heaptap("run", "--", program, env=self.environment(["ASAN_OPTIONS=detect_leaks=0", "LSAN_OPTIONS=detect_leaks=1"]))
        self.assertEqual(self.way_out(outcome.stderr.decode()), "LSAN_OPTIONS=detect_leaks=1:detect_leaks=0")
        self.record(program, changes=["ASAN_OPTIONS=detect_leaks=1", "LSAN_OPTIONS=detect_leaks=0"])

    def test_one_that_is_preloaded(self):
        library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
        if not os.path.exists(library):
            heaptap_test.skip_what_is_missing("gcc's libasan.so")
        outcome = heaptap("run", "--", "/bin/true", env=self.environment([f"LD_PRELOAD={os.path.realpath(library)}"]), cwd=self.directory)
        self.assertEqual(outcome.status, 126, str(outcome))
        self.assertIn(b"AddressSanitizer", outcome.stderr)

    def test_one_that_another_program_executes(self):
        program = self.built("gcc", "leak", [])
        command = ["sh", "-c", f"exec {shlex.quote(str(program))} plain"]
        bare = heaptap_test.run(command, env=self.environment())
        traced = heaptap("run", "-q", "-o", self.directory / "%p.htap", "--via", "ptrace", "-e", "--", *command, env=self.environment())
        self.assertEqual((traced.status, traced.stdout, traced.stderr), (bare.status, bare.stdout, bare.stderr), str(traced))
        notes = heaptap_test.notes_of(summary(next(self.directory.glob("*.htap"))))
        self.assertTrue(any("a program that isn't recorded" in note for note in notes), notes)
        self.assertFalse(any("had to detach" in note for note in notes), notes)


if __name__ == "__main__":
    unittest.main()
