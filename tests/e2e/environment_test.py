# CTEST COST 20
"""Machines and limits that lack what heaptap would like to have: it records all the same, or says before the program runs
what is missing; the program's status is never lost."""
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import expectations
import heaptap_test
from heaptap_test import LONG, Outcome, built, heaptap, summary
from refused_calls import refuse
from waiting import finished

WAYS = ("agent", "ptrace")
PIDFD_OPEN, MEMFD_CREATE, PROCESS_VM_READV, MKNOD, CLONE3 = 434, 319, 310, 133, 435
ENOSYS, EPERM = 38, 1
FIRST = "stack function=malloc caller=first allocations=1000 frees=500 allocated_bytes=100000 live_blocks=500"
AGAIN = "stack function=malloc caller=again allocations={0} frees={0}"


FILE_LIMIT = 4096
# Writes more into its file than it may; says how far it came, what the last call said, and how often it was told.
WRITER = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
static volatile sig_atomic_t signals;
static void on_signal(int number) { (void)number; signals = signals + 1; }
__attribute__((noinline)) void keep_many(void) {
  unsigned chance = 12345;
  for (int i = 0; i < 4000; i++) {
    chance = chance * 1103515245 + 12345;
    if (malloc(chance >> 16 & 4095) == NULL) abort();
  }
}
int main(int count, char** arguments) {
  static char text[3000];
  size_t done = 0;
  ssize_t last;
  struct rlimit limit;
  if (strcmp(arguments[2], "handled") == 0) signal(SIGXFSZ, on_signal);
  keep_many();
  int file = open(arguments[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
  while ((last = write(file, text, sizeof text)) > 0) done += (size_t)last;
  int error = errno;
  getrlimit(RLIMIT_FSIZE, &limit);
  printf("%zu written, error %d, %d signals, limits %lu %lu\n", done, error, (int)signals, (unsigned long)limit.rlim_cur,
         (unsigned long)limit.rlim_max);
  return count == 3 ? 0 : 1;
}
"""


class Environment(heaptap_test.TestCase):
    def run_under(self, prepare, *arguments, stdin=b"x\ny\n", timeout=120):
        """`heaptap run ARGUMENTS` after prepare() was called in its process."""
        ended = subprocess.run([str(word) for word in (heaptap_test.HEAPTAP, "run", *arguments)], input=stdin, capture_output=True,
                               preexec_fn=prepare, cwd=self.directory, timeout=timeout)
        return Outcome(heaptap_test.shell_status(ended.returncode), ended.stdout, ended.stderr)

    def check_sleeper(self, prepare, via, *options):
        self.trace.unlink(missing_ok=True)
        blocks = 10_000 if via == "agent" or LONG else 100  # ten times, for each of two lines: with two stops of each
        outcome = self.run_under(prepare, "--via", via, "-o", self.trace, *options, "--", built("sleeper"), blocks)
        self.assertEqual(outcome.status, 9, str(outcome))
        report = summary(self.trace)
        self.assertEqual(expectations.check(FIRST, report) + expectations.check(AGAIN.format(20 * blocks), report), [])
        self.assertTrue(report["capture"]["complete"], report["capture"])
        self.assertEqual(report["target"]["exit"], {"code": 9})
        return report

    def test_system_calls_that_are_missing(self):
        for via in WAYS:
            for error, calls in ((ENOSYS, [PIDFD_OPEN]), (EPERM, [MEMFD_CREATE]), (EPERM, [PROCESS_VM_READV]),
                                 (EPERM, [PIDFD_OPEN, MEMFD_CREATE]), (ENOSYS, [PIDFD_OPEN, MEMFD_CREATE, PROCESS_VM_READV])):
                if via == "ptrace" and PROCESS_VM_READV in calls:
                    continue
                with self.subTest(via=via, error=error, calls=calls):
                    report = self.check_sleeper(lambda: refuse(calls, error), via)
                    self.assertTrue(report["leaks"]["scanned"])

    def test_threads_that_may_not_be_made(self):
        """clone3 fails in a way that the C library doesn't take for a missing call."""
        for via in WAYS:
            with self.subTest(via=via):
                outcome = self.run_under(lambda: refuse([CLONE3], EPERM), "--via", via, "-o", self.trace, "--", "/bin/echo", "ran")
                self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
                self.assertIn(b"clone3", outcome.stderr)

    def test_followed_children_without_pidfd(self):
        trace = self.directory / "%p.htap"
        script = "(eval 'x=1; y=$x$x'; exit 3); (sleep 0.3; eval 'x=1'; exit 4) & exit 5"
        outcome = self.run_under(lambda: refuse([PIDFD_OPEN], ENOSYS), "-f", "-o", trace, "--", "/bin/sh", "-c", script)
        self.assertEqual(outcome.status, 5, str(outcome))
        traces = sorted(self.directory.glob("[0-9]*.htap"))
        reports = [summary(one) for one in traces]
        self.assertGreaterEqual(len(traces), 3, f"{outcome}\n{[report['target'] for report in reports]}")
        for report in reports:
            self.assertFalse(report["capture"]["truncated"], report["capture"])

    def test_small_stack(self):
        for via in WAYS:
            with self.subTest(via=via):
                self.check_sleeper(lambda: resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536)), via)

    def test_processor_time(self):
        """A limit for the program ends the program only."""
        for via in WAYS:
            with self.subTest(via=via):
                limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))
                outcome = self.run_under(limit, "--via", via, "-o", self.directory / f"{via}.htap", "--", "/bin/sh", "-c", "ulimit -St; exit 5")
                self.assertEqual((outcome.status, outcome.stdout), (5, b"1\n"), str(outcome))

    def test_limits_of_the_program_are_its_own(self):
        script = "import resource as r; print([r.getrlimit(n) for n in (r.RLIMIT_NOFILE, r.RLIMIT_STACK, r.RLIMIT_CPU)])"
        script += "; import signal as s; print([s.getsignal(n) for n in (s.SIGXFSZ, s.SIGXCPU)])"
        def limit():
            for what, soft in ((resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_STACK, 1 << 20), (resource.RLIMIT_CPU, 100)):
                resource.setrlimit(what, (soft, resource.getrlimit(what)[1]))
            for number in (signal.SIGXFSZ, signal.SIGXCPU):
                signal.signal(number, signal.SIG_DFL)
        bare = subprocess.run([sys.executable, "-c", script], capture_output=True, preexec_fn=limit)
        for via in WAYS:
            with self.subTest(via=via):
                outcome = self.run_under(limit, "-q", "--via", via, "-o", self.directory / f"{via}.htap", "--", sys.executable, "-c", script)
                self.assertEqual((outcome.status, outcome.stdout), (0, bare.stdout), str(outcome))

    def test_file_size(self):
        """A soft limit is the program's alone. Where not even a log may be made, that is said before the program runs."""
        for via in WAYS:
            with self.subTest(via=via):
                soft = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
                self.check_sleeper(soft, via)
                outcome = self.run_under(soft, "-q", "--via", via, "-o", self.directory / f"{via}.htap", "--", "/bin/sh", "-c", "ulimit -Sf")
                self.assertIn(outcome.stdout, (b"4\n", b"8\n"), str(outcome))
                hard = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
                outcome = self.run_under(hard, "--via", via, "-o", self.directory / f"{via}.hard", "--", "/bin/echo", "ran")
                self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
                self.assertIn(b"ulimit -f", outcome.stderr)
                self.check_sleeper(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, 16 << 20)), via)

    def test_what_the_program_writes_is_limited_as_bare_and_the_trace_is_not(self):
        """By the signal, or by an error where that is ignored or handled. root may raise a hard limit for heaptap itself (CAP_SYS_RESOURCE)."""
        (self.directory / "writer.c").write_text(WRITER)
        writer = self.directory / "writer"
        subprocess.run(["cc", "-O1", "-fno-builtin", "-o", writer, self.directory / "writer.c"], check=True)
        is_lifted = int(re.search(r"CapEff:\s+(\w+)", pathlib.Path("/proc/self/status").read_text())[1], 16) >> 24 & 1
        for hard in (resource.RLIM_INFINITY, *([FILE_LIMIT] if is_lifted else [])):
            for action in ("default", "ignored", "handled"):
                def prepare():
                    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, hard))
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN if action == "ignored" else signal.SIG_DFL)
                bare_file = self.directory / "bare.out"
                bare = subprocess.run([writer, bare_file, action], capture_output=True, preexec_fn=prepare)
                self.assertEqual(bare.returncode, -signal.SIGXFSZ if action == "default" else 0, bare)
                self.assertEqual(bare_file.stat().st_size, FILE_LIMIT)
                bare_file.unlink()
                for via in WAYS:
                    with self.subTest(via=via, hard=hard, action=action):
                        trace, file = (self.directory / f"{via}.{name}" for name in ("htap", "out"))
                        outcome = self.run_under(prepare, "-q", "--force", "--via", via, "-o", trace, "--", writer, file, action)
                        self.assertEqual((outcome.status, outcome.stdout), (heaptap_test.shell_status(bare.returncode), bare.stdout), str(outcome))
                        self.assertEqual(file.stat().st_size, FILE_LIMIT)
                        file.unlink()
                        self.assertGreater(trace.stat().st_size, FILE_LIMIT)
                        report = summary(trace)
                        self.assertEqual(sum(stack["allocations"] for stack in report["stacks"] if "keep_many" in str(stack)), 4000)
                        self.assertEqual(report["capture"]["lost_events"], 0)
                        self.assertFalse(report["capture"]["truncated"])

    def test_trace_that_grows_too_large(self):
        """As on a full disk: the program's status is kept, and the cause is named."""
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5 << 20, 5 << 20))
        options = ("--log-memory", "1M", "-o", self.trace)
        outcome = self.run_under(limit, *options, "--", built("noise"), "3000000" if LONG else "1000")
        self.assertEqual(outcome.status, 0, str(outcome))
        if LONG:
            self.assertIn(b"File too large", outcome.stderr, str(outcome))

    def test_address_space(self):
        """heaptap takes more for itself where it may; where it may not that is said before the program runs."""
        os.chmod(self.directory, 0o777)
        for what, size in ((resource.RLIMIT_AS, 30000 << 10), (resource.RLIMIT_DATA, 1000 << 10)):
            def limit_softly():
                resource.setrlimit(what, (size, resource.getrlimit(what)[1]))
            def limit():
                resource.setrlimit(what, (size, size))
                if os.getuid() == 0:
                    os.setgroups([])
                    os.setresgid(65534, 65534, 65534)
                    os.setresuid(65534, 65534, 65534)
            with self.subTest(what=what):
                trace = self.directory / f"{what}.htap"
                outcome = self.run_under(limit_softly, "--via", "agent", "-o", trace, "--", "/bin/sh", "-c", "exit 5")
                self.assertEqual(outcome.status, 5, str(outcome))
                self.assertFalse(summary(trace)["capture"]["truncated"])
                outcome = self.run_under(limit, "-o", self.directory / f"{what}.hard", "--", "/bin/sh", "-c", "echo ran; exit 5")
                self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
                self.assertIn(b"ulimit", outcome.stderr)

    def test_no_proc(self):
        if os.getuid() != 0 or shutil.which("unshare") is None:
            heaptap_test.skip_what_is_missing("/proc can be taken away by root, with unshare")
        for via in WAYS:
            with self.subTest(via=via):
                script = f"umount -l /proc && exec {heaptap_test.HEAPTAP} run --via {via} -- /bin/echo ran"
                outcome = heaptap_test.run(["unshare", "-m", "sh", "-c", script], cwd=self.directory)
                self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
                self.assertIn(b"mount -t proc", outcome.stderr)

    def test_many_followed_processes_at_once(self):
        """With so few descriptors that not each process gets all that heaptap would like to have of it."""
        count = 2000 if LONG else 150
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        outcome = self.run_under(limit, "-q", "-f", "-o", self.directory / "%p.htap", "--", built("many_children"), count, timeout=1000)
        self.assertEqual((outcome.status, outcome.stdout), (7, b""), str(outcome))
        traces = list(self.directory.glob("[0-9]*.htap"))
        self.assertEqual(len(traces), count + 1)
        for trace in traces[::max(1, count // 20)]:
            report = summary(trace)
            self.assertEqual((report["capture"]["lost_events"], report["capture"]["truncated"]), (0, False))
            expected = "stack function=malloc caller=work allocations=100 frees=100"
            if (report["target"]["exit"] or {}).get("code") != 7:
                self.assertEqual(expectations.check(expected, report), [])


class SharedDirectory(heaptap_test.TestCase):
    """Others can write into the directory that the trace is to be made in."""

    def test_links_lead_nowhere(self):
        victim = self.directory / "victim"
        shared = self.directory / "shared"
        shared.mkdir()
        for name in (".heaptap.probe", "trace.htap"):
            (shared / name).symlink_to(victim)
        self.assertEqual(heaptap("run", "-q", "--", "/bin/true", cwd=shared).status, 0)
        self.assertFalse(victim.exists())
        for options in ((), ("--force",)):
            outcome = heaptap("run", "-o", shared / "trace.htap", *options, "--", "/bin/echo", "ran", cwd=shared)
            self.assertEqual((outcome.status, outcome.stdout), (125, b""), str(outcome))
            self.assertIn(b"symbolic link", outcome.stderr)
            self.assertFalse(victim.exists())
        victim.write_text("precious")
        outcome = heaptap("run", "-o", shared / "trace.htap", "--force", "--", "/bin/true", cwd=shared)
        self.assertEqual((outcome.status, victim.read_text()), (125, "precious"), str(outcome))

    def test_probe_that_is_there_is_left_alone(self):
        for name in (".heaptap.probe", f".heaptap.probe.{os.getpid()}"):
            (self.directory / name).write_text("somebody's")
        self.assertEqual(heaptap("run", "-q", "--", "/bin/true", cwd=self.directory).status, 0)
        self.assertEqual((self.directory / ".heaptap.probe").read_text(), "somebody's")

    def test_names_with_control_characters(self):
        program = self.directory / "a\x1b[31mb\nc"
        shutil.copy("/bin/true", program)
        outcome = heaptap("run", "--", program, cwd=self.directory)
        self.assertEqual(outcome.status, 0, str(outcome))
        traces = [name for name in os.listdir(self.directory) if name.endswith(".htap")]
        self.assertTrue(traces)
        for name in traces:
            self.assertTrue(name.isprintable(), repr(name))
        self.assertNotIn(b"\x1b", outcome.stderr)

    def test_long_names(self):
        program = self.directory / ("n" * 250)
        shutil.copy("/bin/true", program)
        self.assertEqual(heaptap("run", "-q", "--", program, cwd=self.directory).status, 0)


class Caller(heaptap_test.TestCase):
    def test_another_users_leaks(self):
        if os.getuid() != 0:
            self.skipTest("needs root, to be two users")
        process = subprocess.Popen([str(heaptap_test.HEAPTAP), "run", "-q", "-o", str(self.trace), "--", str(built("sleeper"))],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        process.stdout.readline()
        target = heaptap_test.descendants(process.pid)[0]
        def as_nobody():
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        ended = subprocess.run([str(heaptap_test.HEAPTAP), "leaks", str(target)], capture_output=True, preexec_fn=as_nobody, timeout=60)
        self.assertEqual(ended.returncode, 125)
        self.assertIn(b"recorded by another user", ended.stderr)

    def test_silent_caller_holds_nobody_up(self):
        process = subprocess.Popen([str(heaptap_test.HEAPTAP), "run", "-q", "-o", str(self.trace), "--", str(built("sleeper"))],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        process.stdout.readline()
        target = heaptap_test.descendants(process.pid)[0]
        silent = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(200)]
        for one in silent:
            self.addCleanup(one.close)
            one.setblocking(False)
            try:
                one.connect(f"\0heaptap.recording.{target}")
            except BlockingIOError:
                pass
        lines = 30
        process.stdin.write(b"x\n" * lines)
        process.stdin.flush()
        for _ in range(lines):
            self.assertEqual(process.stdout.readline(), b"line\n")
        self.assertEqual(heaptap("leaks", target).status, 0)
        finished(process)
        self.assertEqual(process.returncode, 9)
        self.assertEqual(summary(self.trace)["capture"]["lost_events"], 0)


if __name__ == "__main__":
    unittest.main()
