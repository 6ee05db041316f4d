"""`heaptap leaks --core`: a core file tells of the same leaks as the process that it was written of. Of what a core lacks nothing is
concluded; a core that can't be used is refused with a cure."""
# CTEST COST 60
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import earlier_blocks_test
import heaptap_test
from heaptap_test import heaptap
from waiting import finished, until_it_waits

HIDING = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **arguments) {
  int is_protected = count > 1 && !strcmp(arguments[1], "protected");
  int file = count > 1 && !is_protected ? open(arguments[1], O_RDWR | O_CREAT, 0600) : -1;
  if (file >= 0) ftruncate(file, 4096);
  void **hidden = mmap(NULL, 4096, PROT_READ | PROT_WRITE, file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file, 0);
  if (file < 0) madvise(hidden, 4096, MADV_DONTDUMP);
  void *volatile some[40];
  for (int i = 0; i < 40; i++) some[i] = malloc(32 + i);
  for (int i = 0; i < 40; i++) free(some[i]);
  for (int i = 0; i < 40; i++) some[i] = NULL;
  hidden[0] = malloc(1500);
  if (is_protected) mprotect(hidden, 4096, PROT_READ);
  puts("ready");
  fflush(stdout);
  pause();
  abort();
}
"""
EPOLL = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
__attribute__((noinline)) static void give(int set, int file) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = malloc(1500)};
  epoll_ctl(set, EPOLL_CTL_ADD, file, &event);
  event.data.ptr = NULL;
}
__attribute__((noinline)) static void wipe(void) {
  volatile char stack[16384];
  for (size_t i = 0; i < sizeof stack; i++) stack[i] = 0;
}
int main(void) {
  int ends[2];
  pipe(ends);
  free(malloc(40));
  give(epoll_create1(0), ends[0]);
  wipe();
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
"""


def dumps_go_to_a_file():
    return pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip() == "core"


class CoreFile(heaptap_test.SteppedTestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory_of_class = cls.make_class_directory()
        cls.program = cls.build("grows", earlier_blocks_test.PROGRAM)

    @classmethod
    def build(cls, name, text):
        program = cls.directory_of_class / name
        subprocess.run(["gcc", "-w", "-g", "-O0", "-fno-builtin", "-pthread", "-x", "c", "-", "-o", program], input=text.encode(), check=True)
        return program

    def core_of(self, pid):
        """Written by gdb, of a process that goes on."""
        if shutil.which("gcore") is None:
            heaptap_test.skip_what_is_missing("gcore", "apt-get install gdb")
        subprocess.run(["gcore", "-o", self.directory / "core", str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return self.directory / f"core.{pid}"

    def kernels_core_of(self, process, number=signal.SIGSEGV):
        """Written by the kernel, of a process that this ends."""
        if not dumps_go_to_a_file():
            self.skipTest("the kernel doesn't write core files into the working directory here")
        resource.prlimit(process.pid, resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.kill(process.pid, number)
        finished(process)
        for core in pathlib.Path(self.cores).glob("core*"):
            return core
        self.fail("no core file was written")

    def begin(self, *command):
        self.cores = self.directory / "cores"
        self.cores.mkdir(exist_ok=True)
        return self.start("ready", "sh", "-c", 'cd "$0" && exec "$@"', self.cores, *command)

    def report(self, *arguments):
        outcome = heaptap("leaks", "--json", *arguments)
        self.assertEqual(outcome.status, 0, outcome)
        return heaptap_test.read_report(outcome.stdout)

    def live_report(self, pid):
        return self.report("--duration", "1ms", str(pid))

    lost_in = staticmethod(earlier_blocks_test.EarlierBlocks.lost_in)

    def assert_same_verdicts(self, core, live):
        self.assertEqual(self.lost_in(core), self.lost_in(live))
        for kind in ("definite", "indirect", "possible", "unknown"):
            self.assertEqual(core["leaks"][kind]["blocks"], live["leaks"][kind]["blocks"], kind)

    def test_a_core_has_the_leaks_of_its_process(self):
        process = self.begin(self.program)
        core = self.core_of(process.pid)
        live = self.live_report(process.pid)
        report = self.report("--core", core)
        self.assertEqual(self.lost_in(report), earlier_blocks_test.LOST)
        self.assert_same_verdicts(report, live)
        held = {entry["variable"]["name"]: entry["retained"]["blocks"]
                for entry in self.report("--globals", "--core", core)["entries"] if entry["variable"]}
        self.assertGreaterEqual(held["list"], 1200)
        self.assertEqual(held["inside"], 1)

    def test_a_crash_is_told_with_its_leaks(self):
        process = self.begin(self.program)
        live = self.live_report(process.pid)
        core = self.kernels_core_of(process)
        report = self.report("--core", core)
        self.assert_same_verdicts(report, live)
        self.assertEqual(report["target"]["exit"], {"signal": signal.SIGSEGV})
        trace = self.directory / "crash.htap"
        self.assertEqual(heaptap("leaks", "--core", core, "-o", trace).status, 0)
        text = heaptap("show", trace).stdout.decode()
        self.assertIn("killed by SIGSEGV", text)
        self.assertRegex(text, r"main +<stdin>:\d+")
        self.assertRegex(text, "definitely lost +.* in 23 blocks")
        self.assertNotIn("allocations", text)
        self.assertEqual(heaptap("check", trace, "--max-leaked", "0").status, 1)
        self.assertEqual(heaptap("check", trace, "--max-live", "1G").status, 3, "only glibc's heaps are known")
        self.assertEqual(heaptap("report", trace, "-o", self.directory / "crash.html").status, 0)

    def test_what_a_thread_took_or_gave_back_as_it_crashed_is_no_leak(self):
        """In one of 60 a thread was just changing a heap: then what is in there is unknown."""
        known = 0
        for _ in range(3):
            core = self.kernels_core_of(self.begin(self.program, "storm"))
            report = self.report("--core", core)
            is_known = not any(note["kind"] == "heap_not_known" for note in report["notes"])
            self.assertEqual(self.lost_in(report), earlier_blocks_test.LOST if is_known else {})
            self.assertEqual(report["capture"]["known"]["leaks"], is_known)
            known += is_known
            shutil.rmtree(self.cores)
        self.assertGreater(known, 0)

    def test_the_trace_is_kept_where_that_is_asked_for(self):
        process = self.begin(self.program)
        core = self.core_of(process.pid)
        trace = self.directory / "kept.htap"
        direct = heaptap("leaks", "--core", core, "-o", trace)
        shown = heaptap("show", "leaks", trace)
        self.assertEqual(direct.stdout, shown.stdout)
        self.assertIn(b"from a core file", shown.stdout)
        again = heaptap("leaks", "--core", core, "-o", trace)
        self.assertNotEqual(again.status, 0)
        self.assertIn(b"already exists", again.stderr)

    def test_a_damaged_heap_is_unknown(self):
        process = self.begin(self.program, "damaged")
        report = self.report("--core", self.core_of(process.pid))
        self.assertIn("nothing_seen", report["capture"]["gaps"])
        self.assertEqual(report["leaks"]["definite"]["blocks"], 0)
        self.assertFalse(report["capture"]["known"]["leaks"])

    def test_of_a_truncated_core_nothing_is_lost(self):
        process = self.begin(self.program)
        core = self.kernels_core_of(process)
        whole = core.stat().st_size
        text = core.read_bytes()
        cut = self.directory / "cut"
        for share in range(1, 20):
            cut.write_bytes(text[:whole * share // 20])
            report = self.report("--core", cut)
            self.assertEqual(self.lost_in(report), {}, share)
            shown = heaptap("leaks", "--core", cut).stdout.decode()
            self.assertIn(f"truncated: it has {whole * share // 20} of {whole} bytes", shown)
        cut.write_bytes(text[:-0x8000])  # the stack is last
        report = self.report("--core", cut)
        self.assertEqual(self.lost_in(report), {})
        self.assertGreaterEqual(report["leaks"]["unknown"]["blocks"], sum(earlier_blocks_test.LOST.values()))
        for size in (1, 16, 63, 64, 200, 1000):
            cut.write_bytes(text[:size])
            outcome = heaptap("leaks", "--core", cut)
            self.assertEqual(outcome.status, 125, outcome)
            self.assertRegex(outcome.stderr, b"is not a core file|is truncated")

    def test_memory_that_was_left_out_may_hold_what_seems_lost(self):
        hides = self.build("hides", HIDING)
        for place in ([], ["shared"], ["protected"]):
            report = self.report("--core", self.kernels_core_of(self.begin(hides, *place)))
            self.assertEqual(report["leaks"]["definite"]["blocks"], 0, place)
            self.assertEqual(report["leaks"]["unknown"]["blocks"], 1, place)
            self.assertIn("not in the core", " ".join(heaptap_test.notes_of(report, 1)))
            shutil.rmtree(self.cores)

    def test_what_a_debugger_left_out_is_named(self):
        process = self.begin(self.build("hides", HIDING), "shared")
        report = self.report("--core", self.core_of(process.pid))
        self.assertIn("1 mapping of files is not in the core", " ".join(heaptap_test.notes_of(report, 1)))

    def test_what_the_kernel_keeps_is_no_certain_leak(self):
        process = self.begin(self.build("waits", EPOLL))
        self.assertEqual(self.lost_in(self.live_report(process.pid)), {})
        core = self.core_of(process.pid)
        self.assertIn("epoll", " ".join(heaptap_test.notes_of(self.report("--core", core), 1)))

    def move_program_away(self):
        """For this test alone."""
        away = self.program.with_suffix(".away")
        self.program.rename(away)
        self.addCleanup(away.rename, self.program)

    def test_the_program_may_have_moved(self):
        process = self.begin(self.program)
        core = self.core_of(process.pid)
        other = self.directory / "moved"
        shutil.copy(self.program, other)
        self.move_program_away()
        text = heaptap("leaks", "--core", core).stdout.decode()
        self.assertRegex(text, "grows: its file can't be read: No such file")
        report = self.report("--globals", "--core", core, other)
        self.assertIn("list", {entry["variable"]["name"] for entry in report["entries"] if entry["variable"]})
        wrong = heaptap("leaks", "--core", core, sys.executable)
        self.assertEqual(wrong.status, 125, wrong)
        self.assertIn(b"is not the program of", wrong.stderr)

    def test_another_build_of_the_program_is_not_read(self):
        process = self.begin(self.program)
        core = self.core_of(process.pid)
        self.move_program_away()
        shutil.copy("/bin/true", self.program)
        text = heaptap("leaks", "--core", core).stdout.decode()
        self.assertIn("the file here is not the one of the core", text)

    def test_what_is_no_core_is_refused_with_a_cure(self):
        file = self.directory / "file"
        for content, message in ((b"\x28\xb5\x2f\xfd" + bytes(40), "'zstd -d "), (b"\x1f\x8b" + bytes(40), "'gunzip -k "),
                                 (b"text", "is not a core file"), (b"", "is not a core file")):
            file.write_bytes(content)
            outcome = heaptap("leaks", "--core", file)
            self.assertEqual(outcome.status, 125, outcome)
            self.assertIn(message, outcome.stderr.decode())
        for path, message in ((sys.executable, "but a program or a library"), (self.directory, "is not a core file"),
                              (self.directory / "none", "No such file")):
            outcome = heaptap("leaks", "--core", path)
            self.assertEqual(outcome.status, 125, outcome)
            self.assertIn(message, outcome.stderr.decode())
        file.write_bytes(b"text")
        heaptap("leaks", "--core", file, "-o", self.directory / "none.htap")
        self.assertEqual(list(self.directory.glob("none*")), [])
        outcome = heaptap("leaks", "--core", file, "--duration", "1s")
        self.assertEqual(outcome.status, 2, outcome)

    def check_real_program(self, *command, stdin=b"", environment=None):
        if shutil.which(command[0]) is None:
            heaptap_test.skip_what_is_missing(command[0])
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.directory)
        self.addCleanup(self.end, process)
        process.stdin.write(stdin)
        process.stdin.flush()
        until_it_waits(process.pid)
        core = self.core_of(process.pid)
        live = self.live_report(process.pid)
        report = self.report("--core", core)
        knows_live, knows = ("from before the recording" in " ".join(heaptap_test.notes_of(each, 1)) for each in (live, report))
        self.assertEqual(knows, knows_live)
        self.assertEqual(knows, "nothing_seen" not in report["capture"]["gaps"], "it may have another allocator")
        lost = self.lost_in(live)
        for name, blocks in self.lost_in(report).items():
            self.assertLessEqual(blocks, lost.get(name, 0), name)

    def test_python(self):
        self.check_real_program("/usr/bin/python3", "-q", "-i", "-c", "import json, re, subprocess, threading")

    def test_bash(self):
        self.check_real_program("bash", "--norc", stdin=b"a=1; f() { echo $a; }; f; x=(1 2 3)\n")

    def test_sqlite(self):
        self.check_real_program("sqlite3", stdin=b"create table t(a); insert into t values (1), (2);\n")

    def test_redis(self):
        self.check_real_program("redis-server", "--port", "0", "--unixsocket", "redis.socket")


if __name__ == "__main__":
    unittest.main()
