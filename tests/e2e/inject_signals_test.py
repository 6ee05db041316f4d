# CTEST PROCESSORS 2
"""Fatal signals of a program that was attached to, by both ways: it dies of them as it would have, and is scanned before; and what it reads
and sets of its signals, and restricts, is as if nobody had attached."""
import contextlib
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import heaptap_test
from heaptap_test import HEAPTAP, heaptap, summary
from waiting import descendants, finished, wait_for

LOST = 1111  # bytes of a block

# Obeys a word a line.
PROGRAM = """
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
struct kernels { void* handler; unsigned long flags; void* restorer; unsigned long mask; };
__attribute__((noinline)) static void lose(void) {
  void* volatile block = malloc(1111);
  block = NULL;
}
__attribute__((noinline)) static void clear_stack(void) {
  volatile char junk[16384];
  for (size_t i = 0; i < sizeof junk; ++i) junk[i] = 0;
}
// With a block that only a register holds.
__attribute__((noinline)) static void crash_with_register(void) {
  void* block = malloc(3333);
  __asm__ volatile("mov %0, %%rbx\\n\\txor %%eax, %%eax\\n\\tmovb $1, 16(%%rax)" : : "r"(block) : "rbx", "rax");
}
__attribute__((noinline)) static void crash_with_vector(void) {
  void* block = malloc(3333);
  __asm__ volatile("movq %0, %%xmm13\\n\\txor %0, %0\\n\\tud2" : "+r"(block) : : "xmm13");
}
__attribute__((noinline)) static void* crash(void* unused) {
  *(volatile int*)16 = 1;
  return unused;
}
// Until it is made: in the middle of that the first thread's stack may hold anything.
static pthread_barrier_t both;
static void* crash_once_made(void* unused) {
  pthread_barrier_wait(&both);
  return crash(unused);
}
static void handle(int number) { (void)number; }
// All dispositions, by both ways, that aren't the plain default.
static void look(const char* who) {
  for (int number = 1; number < 65; ++number) {
    struct sigaction action;
    struct kernels kernels = {0};
    memset(&action, 0, sizeof action);
    if (sigaction(number, NULL, &action) != 0) continue;
    syscall(SYS_rt_sigaction, number, NULL, &kernels, 8);
    if (action.sa_handler || action.sa_flags || kernels.handler || kernels.flags || kernels.mask)
      printf("%s %d %s %x %s %lx %lx\\n", who, number, action.sa_handler == handle ? "handle" : action.sa_handler ? "other" : "default", (unsigned)action.sa_flags,
             kernels.handler == (void*)handle ? "handle" : kernels.handler ? "other" : "default", kernels.flags, kernels.mask);
  }
}
static void set(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  struct sigaction old;
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(number, &action, &old);
  printf("set %d %s\\n", number, old.sa_handler == handle ? "handle" : old.sa_handler ? "other" : "default");
}
// Ends the process for calls that a handler might make: rt_sigaction, kill and its relatives.
static struct sock_filter code[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 3, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_tgsigqueueinfo, 2, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 1, 0), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
static struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
int main(void) {
  char word[32];
  int status = 0;
  setvbuf(stdout, NULL, _IONBF, 0);
  prctl(PR_SET_DUMPABLE, 1);
  puts("ready");
  while (scanf("%31s", word) == 1) {
    if (strcmp(word, "lose") == 0) {
      lose();
      clear_stack();
    }
    if (strcmp(word, "look") == 0) look("own");
    if (strcmp(word, "abort") == 0) abort();
    if (strcmp(word, "crash") == 0) crash(NULL);
    if (strcmp(word, "register") == 0) crash_with_register();
    if (strcmp(word, "vector") == 0) crash_with_vector();
    if (strcmp(word, "thread") == 0) {
      pthread_t thread;
      pthread_barrier_init(&both, NULL, 2);
      pthread_create(&thread, NULL, crash_once_made, NULL);
      pthread_barrier_wait(&both);
      pthread_join(thread, NULL);
    }
    if (strcmp(word, "alternate") == 0) {
      stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
      sigaltstack(&stack, NULL);
      crash(NULL);
    }
    if (strcmp(word, "no_code") == 0) ((void (*)(void))16)();
    if (strcmp(word, "no_stack") == 0) __asm__ volatile("xor %%esp, %%esp\\n\\tpush %%rax" : : : "memory");
    if (strcmp(word, "pipe") == 0) {
      int ends[2];
      if (pipe(ends) != 0 || close(ends[0]) != 0 || write(ends[1], "", 1) != 0) return 1;
    }
    if (strcmp(word, "user") == 0) kill(getpid(), SIGUSR1);
    if (strcmp(word, "realtime") == 0) sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 5});
    if (strcmp(word, "alarm") == 0) {
      alarm(1);
      pause();
    }
    if (strcmp(word, "pause") == 0) pause();
    if (strcmp(word, "trap") == 0) __asm__ volatile("int3");
    if (strcmp(word, "set") == 0) {
      set(SIGTERM, SIG_DFL);
      set(SIGHUP, handle);
      set(SIGHUP, SIG_DFL);
      set(SIGINT, SIG_IGN);
      printf("%d\\n", signal(SIGUSR1, handle) == SIG_DFL);
      printf("%d\\n", signal(SIGUSR1, SIG_DFL) == handle);
      siginterrupt(SIGALRM, 1);
      errno = 0;
      printf("%ld %d\\n", syscall(SYS_rt_sigaction, 99, NULL, NULL, 8), errno);
    }
    if (strcmp(word, "system") == 0) printf("system %d\\n", system("kill -TERM $$"));
    if (strcmp(word, "fork") == 0) {
      pid_t child = fork();
      if (child == 0) {
        look("child");
        set(SIGTERM, SIG_DFL);
        raise(SIGTERM);
        _exit(1);
      }
      waitpid(child, &status, 0);
      printf("child %x\\n", status);
    }
    if (strcmp(word, "vfork") == 0) {
      pid_t child = vfork();
      if (child == 0) {
        raise(SIGTERM);
        _exit(1);
      }
      waitpid(child, &status, 0);
      printf("child %x\\n", status);
    }
    if (strcmp(word, "spawn") == 0) {
      char* command[] = {"/bin/sh", "-c", "grep -E 'Sig(Ign|Cgt)' /proc/self/status", NULL};
      pid_t child;
      posix_spawn(&child, command[0], NULL, NULL, command, environ);
      waitpid(child, &status, 0);
    }
    if (strcmp(word, "probe") == 0) {
      printf("probe %d %d\\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL), errno);
      printf("probe %ld %d\\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL), errno);
    }
    if (strcmp(word, "worker") == 0) {
      fflush(stdout);
      pid_t child = fork();
      if (child == 0) {
        for (;;) {
          free(malloc(77));
          usleep(1000);
        }
      }
      printf("%d\\n", child);
    }
    if (strcmp(word, "filter") == 0) {
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      printf("filter %d\\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
    }
    if (strcmp(word, "filter_by_number") == 0) {
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      printf("filter %ld\\n", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
    }
    if (strcmp(word, "filter_unseen") == 0) {
      long result;
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
      __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&filter) : "rcx", "r11", "memory");
      usleep(300000);
    }
    if (strcmp(word, "filter_child") == 0) {
      pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
        crash(NULL);
      }
      waitpid(child, &status, 0);
      printf("child %x\\n", status & 0x7f);
    }
    if (strcmp(word, "clock") == 0) {
      prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
      for (int i = 0; i < 1000; ++i) free(malloc(100));
      prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
      for (int i = 0; i < 1000; ++i) free(malloc(100));
    }
    if (strcmp(word, "strict") == 0) {
      printf("strict %d\\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
      free(malloc(100));
      syscall(SYS_exit, 9);
    }
    puts("done");
  }
  return 0;
}
"""

# Changes actions all the time, and reads them: the one that was set last is there.
TOGGLES = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int ends;
static void handle(int number) { (void)number; }
static void* toggle(void* place) {
  const int number = *(int*)place;
  struct sigaction own = {.sa_handler = handle}, none = {.sa_handler = SIG_DFL}, old;
  while (!ends) {
    sigaction(number, &own, &old);
    if (old.sa_handler != SIG_DFL) abort();
    sigaction(number, &none, &old);
    if (old.sa_handler != handle) abort();
    sigaction(number, NULL, &old);
    if (old.sa_handler != SIG_DFL) abort();
    free(malloc(10));
  }
  return NULL;
}
int main(void) {
  static int numbers[] = {SIGTERM, SIGUSR1, SIGSEGV};
  pthread_t threads[3];
  char word[32];
  puts("ready");
  fflush(stdout);
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, toggle, &numbers[i]);
  while (scanf("%31s", word) == 1) {
  }
  ends = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""


def dispositions_of(pid):
    return re.findall(r"Sig(?:Ign|Cgt):\s+(\w+)", pathlib.Path(f"/proc/{pid}/status").read_text())


# How it dies, and the innermost function of the program there, if it is a crash.
DEATHS = {"abort": (signal.SIGABRT, "main"), "crash": (signal.SIGSEGV, "crash"), "register": (signal.SIGSEGV, "crash_with_register"),
          "vector": (signal.SIGILL, "crash_with_vector"),
          "thread": (signal.SIGSEGV, "crash"), "alternate": (signal.SIGSEGV, "crash"), "no_code": (signal.SIGSEGV, "main"), "pipe": (signal.SIGPIPE, None),
          "trap": (signal.SIGTRAP, "main"), "user": (signal.SIGUSR1, None), "realtime": (signal.SIGRTMIN + 3, None), "alarm": (signal.SIGALRM, None), "pause": (signal.SIGTERM, None)}
# What looks at dispositions, in the order in which it is done.
LOOKS = ("look", "set", "look", "system", "look", "fork", "vfork", "spawn", "probe", "look")


@unittest.skipUnless(platform.machine() == "x86_64", "nothing is injected on other CPUs")
class Signals(heaptap_test.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = cls.make_class_directory()
        for name, source in (("obeys", PROGRAM), ("toggles", TOGGLES)):
            (directory / f"{name}.c").write_text(source)
            subprocess.run(["cc", "-g", "-O1", "-fno-builtin", "-Wno-deprecated-declarations", "-pthread", "-o", directory / name, directory / f"{name}.c"], check=True)
        cls.program, cls.toggles = directory / "obeys", directory / "toggles"

    def started(self, program):
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(heaptap_test.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def attached(self, program, via="agent"):
        attached = subprocess.Popen([HEAPTAP, "attach", "--via", via, "--force", "-o", self.trace, str(program.pid)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(heaptap_test.end, attached)
        self.assertIn(b"recording process", attached.stderr.readline())
        return attached

    def ask(self, program, *words):
        """What it says; shorter, where it dies."""
        said = []
        for word in words:
            program.stdin.write(f"{word}\n")
            program.stdin.flush()
            while (line := program.stdout.readline()) not in ("done\n", ""):
                said.append(line)
        return said

    def detached(self, attached):
        attached.send_signal(signal.SIGINT)
        _, told = finished(attached)
        self.assertEqual(attached.returncode, 0, told)
        self.assertIn(b"detached", told)
        self.assertNotIn(b"couldn't be taken out", told)
        self.assertNotIn(b"stays mapped", told)

    def die(self, program, way):
        if way == "pause":
            program.stdin.write("pause\n")
            program.stdin.flush()
            wait_for("it waits", lambda: "pause" in pathlib.Path(f"/proc/{program.pid}/wchan").read_text())
            program.terminate()
        else:
            self.ask(program, way)
        return program.wait()

    def test_it_dies_of_signals_and_is_scanned(self):
        for way, (number, function) in DEATHS.items():
            self.assertEqual(self.die(self.started(self.program), way), -number)
            for via in ("agent", "ptrace"):
                with self.subTest(f"{way}, by {via}"):
                    program = self.started(self.program)
                    attached = self.attached(program, via)
                    self.ask(program, "lose")
                    self.assertEqual(self.die(program, way), -number)
                    _, told = finished(attached)
                    report = summary(self.trace)
                    self.assertEqual((report["capture"]["via"], report["target"]["exit"]), (via, {"signal": number}), told)
                    self.assertTrue(report["leaks"]["scanned"], told)
                    lost = [stack["leaks"]["definite"]["bytes"] for stack in report["stacks"] if stack["leaks"]["definite"]["blocks"] > 0]
                    self.assertEqual(lost, [LOST])
                    if function is not None:
                        self.assertRegex(told.decode(), rf"killed by \S+ in (0x10 \S+ < )?{function} obeys\.c:")

    def test_what_kills_without_a_handler_is_told_without_a_scan(self):
        """SIGKILL, and a signal for which there is no stack."""
        for way, number in (("kill", signal.SIGKILL), ("no_stack", signal.SIGSEGV)):
            with self.subTest(way):
                program = self.started(self.program)
                attached = self.attached(program)
                self.ask(program, "lose")
                if way == "kill":
                    program.kill()
                else:
                    self.ask(program, way)
                self.assertEqual(program.wait(), -number)
                _, told = finished(attached)
                self.assertIn(b"leaks unknown", told)
                report = summary(self.trace)
                self.assertEqual((report["leaks"]["scanned"], report["capture"]["known"]["leaks"]), (False, False))
                self.assertIn(report["target"]["exit"], ({"signal": number}, None))  # its parent may have been faster

    def test_the_program_finds_its_signals_as_it_has_set_them(self):
        plain = self.started(self.program)
        expected = self.ask(plain, *LOOKS)
        self.assertIn("child f\n", expected)
        kernels = dispositions_of(plain.pid)
        program = self.started(self.program)
        attached = self.attached(program)
        self.assertNotEqual(dispositions_of(program.pid), dispositions_of(os.getpid()))
        self.assertEqual(self.ask(program, *LOOKS), expected)
        self.assertNotEqual(dispositions_of(program.pid), kernels)  # the agent's
        self.detached(attached)
        self.assertEqual(dispositions_of(program.pid), kernels)
        self.assertEqual(self.ask(program, "look"), self.ask(plain, "look"))
        self.assertEqual(self.ask(program, "crash"), [])
        self.assertEqual(program.wait(), -signal.SIGSEGV)

    def test_actions_that_are_being_changed_as_it_comes_and_goes(self):
        program = self.started(self.toggles)
        for _ in range(12):
            attached = self.attached(program)
            time.sleep(0.02)
            self.detached(attached)
        program.stdin.close()
        self.assertEqual(program.wait(), 0)

    def test_filters_and_a_clock_that_faults(self):
        for words, number in ((("filter", "crash"), signal.SIGSEGV), (("filter", "user"), signal.SIGUSR1),
                              (("filter_by_number", "user"), signal.SIGUSR1), (("filter_unseen", "crash"), signal.SIGSEGV),
                              (("filter_child", "crash"), signal.SIGSEGV), (("clock", "user"), signal.SIGUSR1)):
            with self.subTest(" ".join(words)):
                plain = self.started(self.program)
                expected = self.ask(plain, *words)
                self.assertEqual(plain.wait(), -number)
                program = self.started(self.program)
                attached = self.attached(program)
                self.assertEqual(self.ask(program, *words), expected)
                self.assertEqual(program.wait(), -number)
                finished(attached)
        program = self.started(self.program)
        attached = self.attached(program)
        self.assertEqual(self.ask(program, "strict"), ["strict 0\n"])
        self.assertEqual(program.wait(), 9)
        finished(attached)

    def test_a_forked_child_is_recorded_by_itself(self):
        """It has a copy of the agent, which nobody answers, and of the handlers."""
        for via in ("agent", "ptrace"):
            with self.subTest(via):
                program = self.started(self.program)
                before = dispositions_of(program.pid)
                attached = self.attached(program)
                (worker,) = [int(line) for line in self.ask(program, "worker")]
                self.addCleanup(lambda worker=worker: os.kill(worker, signal.SIGKILL))
                for _ in range(2):
                    outcome = heaptap("attach", "--via", via, "--duration", "200ms", "--force", "-o", self.directory / "worker.htap", worker)
                    self.assertEqual(outcome.status, 0, str(outcome))
                    report = summary(self.directory / "worker.htap")
                    self.assertEqual(report["capture"]["via"], via)
                    self.assertGreater(report["totals"]["allocations"], 20)
                if via == "agent":
                    self.assertEqual(dispositions_of(worker), before)
                self.detached(attached)
                self.assertEqual(dispositions_of(program.pid), before)

    def test_a_heaptap_that_was_killed_leaves_the_signals_deadly(self):
        program = self.started(self.program)
        before = dispositions_of(program.pid)
        for dies in (False, True):
            attached = self.attached(program)
            for pid in [attached.pid, *descendants(attached.pid)]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            finished(attached)
            self.assertNotEqual(dispositions_of(program.pid), before)
            if not dies:
                self.detached(self.attached(program))  # which clears what the other one has left
                self.assertEqual(dispositions_of(program.pid), before)
        self.assertEqual(self.die(program, "pause"), -signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
