# CTEST PROCESSORS 2
"""The end of a program that was attached to, by both ways: a leak scan when it exits, however that is, with its exit status unharmed; and
nothing that only looks like its end."""
import contextlib
import os
import pathlib
import platform
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, summary
from waiting import descendants, finished

STATUS = 7
LOST, MAINS = 1111, 2222  # bytes of blocks, by who holds them; 3,333 are a register's, 4,444 a global variable's

PROGRAM = """
#define _GNU_SOURCE
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void* volatile global;
extern char** environ;
__attribute__((noinline)) static void lose(void) {
  void* volatile block = malloc(1111);
  block = NULL;
}
__attribute__((noinline)) static void clear_stack(void) {
  volatile char junk[16384];
  for (size_t i = 0; i < sizeof junk; ++i) junk[i] = 0;
}
static void exit_by_library(int status) { err(status, NULL); }
// With a block that only a register holds.
__attribute__((noinline)) static void call_with_register(void (*function)(int)) {
  void* block = malloc(3333);
  __asm__ volatile("mov %0, %%rbx\\n\\txor %%eax, %%eax\\n\\tmov $7, %%edi\\n\\tmov %1, %%rdx\\n\\txor %0, %0\\n\\tcall *%%rdx"
                   : : "r"(block), "r"(function) : "rbx", "rax", "rdi", "rdx");
}
static void* exit_last(void* main_thread) {
  pthread_join(*(pthread_t*)main_thread, NULL);
  return NULL;
}
// Until its threads are made: in the middle of that the first one's stack may hold anything.
static pthread_barrier_t all;
static void* call_exit_of_thread(void* way) {
  pthread_barrier_wait(&all);
  if (way != NULL) _exit(7);
  exit(7);
}
static void at_exit(void) { _exit(7); }
static void spawn_at_exit(void) {
  char* nothing[] = {"/nonexistent", NULL};
  pid_t child;
  posix_spawn(&child, nothing[0], NULL, NULL, nothing, environ);
}
static void* spawn_in_vain(void* unused) {
  char* nothing[] = {"/nonexistent", NULL};
  pid_t child;
  for (int i = 0; i < 25; ++i) posix_spawn(&child, nothing[0], NULL, NULL, nothing, environ);
  return unused;
}
static void in_vfork(int calls_exit) {
  pid_t child = vfork();
  if (child == 0) {
    if (calls_exit) exit(3);
    _exit(3);
  }
  waitpid(child, NULL, 0);
}
int main(void) {
  static pthread_t own, thread;
  char way[32];
  void* volatile mains;
  char* nothing[] = {"/nonexistent", NULL};
  pid_t child;
  puts("ready");
  fflush(stdout);
  if (scanf("%31s", way) != 1) return 1;
  global = malloc(4444);
  mains = malloc(2222);
  lose();
  clear_stack();
  setvbuf(stdout, NULL, _IONBF, 0);
  if (strcmp(way, "return") == 0) return 7;
  if (strcmp(way, "exit") == 0) call_with_register(exit);
  if (strcmp(way, "_exit") == 0) call_with_register(_exit);
  if (strcmp(way, "quick_exit") == 0) call_with_register(quick_exit);
  if (strcmp(way, "thread") == 0) {
    pthread_barrier_init(&all, NULL, 2);
    pthread_create(&thread, NULL, call_exit_of_thread, NULL);
    pthread_barrier_wait(&all);
  }
  if (strcmp(way, "threads") == 0) {
    pthread_barrier_init(&all, NULL, 5);
    for (int i = 0; i < 4; ++i) pthread_create(&thread, NULL, call_exit_of_thread, i % 2 == 0 ? NULL : way);
    pthread_barrier_wait(&all);
  }
  if (strcmp(way, "last") == 0) {
    own = pthread_self();
    pthread_create(&thread, NULL, exit_last, &own);
    pthread_exit(NULL);
  }
  if (strcmp(way, "vfork") == 0) return in_vfork(0), 7;
  if (strcmp(way, "vfork_exit") == 0) {
    setvbuf(stdin, NULL, _IONBF, 0);
    return in_vfork(1), 7;
  }
  if (strcmp(way, "spawn") == 0) return posix_spawn(&child, nothing[0], NULL, NULL, nothing, environ) == 0 ? 1 : 7;
  if (strcmp(way, "spawns") == 0) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, spawn_in_vain, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    return 7;
  }
  if (strcmp(way, "fork") == 0) {
    child = fork();
    if (child == 0) exit(3);
    waitpid(child, NULL, 0);
    return 7;
  }
  if (strcmp(way, "handler") == 0) {
    atexit(at_exit);
    exit(1);
  }
  if (strcmp(way, "error") == 0) call_with_register((void (*)(int))exit_by_library);
  if (strcmp(way, "late_spawn") == 0) {
    atexit(spawn_at_exit);
    return 7;
  }
  if (strcmp(way, "stopped") == 0) {
    if (fork() == 0) {
      kill(getppid(), SIGSTOP);
      usleep(20000);
      kill(getppid(), SIGCONT);
      _exit(0);
    }
    for (volatile int i = 0; i < 1000000; ++i) continue;
    return 7;
  }
  for (;;) pause();
}
"""

CPP_PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
static struct Cache {
  void* pages[100] = {};
  ~Cache() { for (void*& page : pages) page = nullptr; }
} cache;
__attribute__((noinline)) static void fill() { for (void*& page : cache.pages) page = ::operator new(1000); }
__attribute__((noinline)) static void clear_stack() {
  volatile char junk[16384];
  for (size_t i = 0; i < sizeof junk; ++i) junk[i] = 0;
}
int main() {
  char way[32];
  puts("ready");
  fflush(stdout);
  if (scanf("%31s", way) != 1) return 1;
  fill();
  clear_stack();
  if (strcmp(way, "exit") == 0) exit(7);
  return 7;
}
"""

# What is lost when it ends so. Where main has returned its variables are gone.
WAYS = {"return": {LOST, MAINS}, "exit": {LOST}, "_exit": {LOST}, "quick_exit": {LOST}, "thread": {LOST}, "threads": {LOST},
        "last": {LOST, MAINS}, "vfork": {LOST, MAINS}, "vfork_exit": {LOST, MAINS}, "spawn": {LOST, MAINS}, "spawns": {LOST, MAINS}, "fork": {LOST, MAINS}, "handler": {LOST}, "error": {LOST},
        "late_spawn": {LOST, MAINS}, "stopped": {LOST, MAINS}}


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class Exit(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        cls.program = directory / "ends"
        (directory / "ends.c").write_text(PROGRAM)
        subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-pthread", "-o", cls.program, directory / "ends.c"], check=True)

    def started(self, *command):
        program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(heaptap_test.end, program)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        return program

    def attached(self, program, *options):
        heaptap_ = subprocess.Popen([HEAPTAP, "attach", *options, "--force", "-o", self.trace, str(program.pid)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(heaptap_test.end, heaptap_)
        self.assertIn(b"recording process", heaptap_.stderr.readline())
        return heaptap_

    def recorded(self, way, via, *options):
        program = self.started(self.program)
        attached = self.attached(program, "--via", via, *options)
        finished(program, f"{way}\n".encode())
        _, told = finished(attached)
        self.assertEqual(attached.returncode, 0, told)
        return program.returncode

    def lost(self):
        """Bytes of the blocks that nothing reaches."""
        report = summary(self.trace)
        (scan,) = [scan for scan in self.scans() if scan["at_end"]]
        lost = [stack["leaks"]["definite"] for stack in report["stacks"] if stack["leaks"]["definite"]["blocks"] > 0]
        self.assertEqual(scan["definite"]["bytes"], sum(each["bytes"] for each in lost))
        return {each["bytes"] for each in lost}

    def scans(self):
        outcome = heaptap("show", "leaks", "--scans", "--json", self.trace)
        self.assertEqual(outcome.status, 0, outcome)
        return heaptap_test.read_report(outcome.stdout)["scans"]

    def test_it_ends_in_many_ways(self):
        for via in ("agent", "ptrace"):
            for way, lost in WAYS.items():
                with self.subTest(f"{way}, by {via}"):
                    self.assertEqual(self.recorded(way, via), 0 if way == "last" else STATUS)
                    report = summary(self.trace)
                    self.assertEqual((report["capture"]["via"], report["target"]["exit"]["code"]), (via, 0 if way == "last" else STATUS))
                    self.assertEqual(self.lost(), lost)

    def test_what_a_destructor_lets_go_of_is_known(self):
        source = self.directory / "cache.cc"
        source.write_text(CPP_PROGRAM)
        program = self.directory / "cache"
        subprocess.run(["c++", "-g", "-O0", "-o", program, source], check=True)
        for way in ("return", "exit"):
            with self.subTest(way):
                self.program = program
                self.assertEqual(self.recorded(way, "agent"), STATUS)
                start, end = self.scans()
                self.assertEqual([(scan["at_end"], scan["definite"]["blocks"]) for scan in (start, end)], [(False, 0), (True, 100)])
                why = heaptap("show", "leaks", "--why", "#1", self.trace).stdout.decode()
                self.assertRegex(why, r"\n  global [^\n]*cache \(cache\.cc:\d+\)")

    def test_without_a_scan_it_ends_at_once(self):
        self.assertEqual(self.recorded("return", "agent", "--no-leak-scan"), STATUS)
        self.assertFalse(summary(self.trace)["leaks"]["scanned"])

    def test_a_heaptap_that_stands_still_or_is_gone_holds_up_no_end(self):
        """By the program's own time, which is what it waits in the processor."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            program = self.started(self.program)
            attached = self.attached(program, "--via", "agent")
            all_of_it = [attached.pid, *descendants(attached.pid)]
            for pid in all_of_it:
                os.kill(pid, number)
            program.stdin.write(b"return\n")
            program.stdin.flush()
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(program.returncode, STATUS)
            self.assertLess(usage.ru_utime, 10)
            for pid in all_of_it:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
