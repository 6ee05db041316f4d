// What the kernel or the C library refuses to execute, or only just takes: the program sees the errors and limits that it sees
// without heaptap, also where what it executes is recorded.
// OPTIONS --follow-fork
// TRACE any
// RUN refused
// EXPECT exit 7
// RUN refused and done
// RUN pointers
// RUN limit execve
// RUN limit vfork
// RUN limit posix_spawn
// RUN limit crowded
// RUN beside-thread
// RUN beside-system
// RUN handler
// RUN left
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
extern char** environ;

static char self[4096];
static char* own[] = {"COLOUR=blue", "PATH=/usr/bin:/bin", NULL};
static char* const work[] = {self, "work", NULL};

static int named(const char* a, const char* b) { return !strcmp(a, b); }

static void show_environment(void) {
  for (char** variable = environ; *variable; variable++)
    if (strncmp(*variable, "_=", 2) && strncmp(*variable, "PWD=", 4)) say("%.900s\n", *variable);
}
NOINLINE void worker(void) {
  for (int i = 0; i < 40; i++) free(keep(malloc(10)));
}
static int be_worker(void) {
  worker();
  show_environment();
  return 7;
}
static int status_of(pid_t child) {
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

// Refused again and again; in the end it goes on as another program, or not at all.
static void refused(int goes_on) {
  char file[] = "./exec-edges-XXXXXX";
  int descriptor = mkstemp(file);
  REQUIRE(descriptor >= 0 && write(descriptor,
                                   "\x7f"
                                   "ELF",
                                   4) == 4);
  char* const arguments[] = {"x", NULL};
  for (int i = 0; i < 2; i++) {
    say("%d: missing %d", i, (execve("/no/such/program", arguments, own), errno));
    say(", a directory %d", (execv("/tmp", arguments), errno));
    fchmod(descriptor, 0600);
    say(", not executable %d", (execl(file, file, NULL), errno));
    fchmod(descriptor, 0700);
    say(", open to be written %d", (execv(file, arguments), errno));
    int readable = open(file, O_RDONLY | O_CLOEXEC);
    close(descriptor);
    say(", damaged %d", (execve(file, arguments, environ), errno));
    say(", by a descriptor %d", (fexecve(readable, arguments, environ), errno));
    say(", nowhere %d\n", (execvp("no-such-program-anywhere", arguments), errno));
    pid_t child = -1;
    say("spawned: missing %d", posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, own));
    say(", damaged %d", posix_spawn(&child, file, NULL, NULL, arguments, own));
    say(", nowhere %d\n", posix_spawnp(&child, "no-such-program-anywhere", NULL, NULL, arguments, own));
    close(readable);
    REQUIRE((descriptor = open(file, O_RDWR)) >= 0);
  }
  unlink(file);
  if (goes_on) execve(self, work, own);
}

// Of what isn't there, or only in part.
static void pointers(void) {
  char* end = (char*)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
  REQUIRE(mprotect(end, PAGE, PROT_NONE) == 0);
  char* const* nowhere = (char* const*)8;
  memcpy(end - 4, "A=bc", 4);  // no end
  char* unended[] = {"A=a", end - 4, NULL};
  char* wild[] = {"A=a", (char*)16, NULL};
  char** cut = (char**)(end - 8);  // no end, either
  say("environment: %d", (execve(self, work, nowhere), errno));
  say(" %d", (execve(self, work, (char* const*)end), errno));
  say(" %d", (execve(self, work, wild), errno));
  say(" %d", (execve(self, work, unended), errno));
  *cut = "A=a";
  say(" %d", (execve(self, work, cut), errno));
  say(" %d", (execve(self, work, (char* const*)(end - 4)), errno));
  say(" %d", (execvpe(self, work, nowhere), errno));
  say(" %d", (fexecve(open(self, O_RDONLY | O_CLOEXEC), work, nowhere), errno));
  say(" %d", (execveat(AT_FDCWD, self, work, wild, 0), errno));
  pid_t child = -1;
  say(", spawned %d", posix_spawn(&child, self, NULL, NULL, work, nowhere));
  say(" %d\n", posix_spawn(&child, self, NULL, NULL, work, wild));
  say("file: %d", (execve((char*)16, work, own), errno));
  say(" %d", (execve(NULL, work, own), errno));
  say(" %d", (execve(end - 4, work, own), errno));
  say(", arguments: %d", (execve(self, nowhere, own), errno));
  say(" %d\n", (execve(self, wild, own), errno));
  // As other kernels have it: an array anywhere, and none at all.
  static char odd[64];
  memcpy(odd + 3, own, sizeof own);
  if ((child = vfork()) == 0) {
    execve(self, work, (char* const*)(odd + 3));
    _exit(99);
  }
  say("unaligned: %d\n", status_of(child));
  if ((child = fork()) == 0) {
    execve(self, work, NULL);
    _exit(99);
  }
  say("none: %d\n", status_of(child));
}

static char filler[128 << 10];
static char* long_list[8] = {self, "brief", filler, filler, filler, filler, filler, NULL};
static char rest[128 << 10];

static int starts(const char* way, int bytes, char** environment) {
  memset(rest, 'x', (size_t)bytes);
  rest[bytes] = 0;
  long_list[3] = rest;
  long_list[4] = NULL;
  pid_t child = -1;
  if (named(way, "posix_spawn")) {
    int error = posix_spawn(&child, self, NULL, NULL, long_list, environment);
    REQUIRE(error == 0 || error == E2BIG);
    return error == 0 && status_of(child) == 7;
  }
  child = named(way, "vfork") ? vfork() : fork();
  if (child == 0) {
    execve(self, long_list, environment);
    _exit(errno == E2BIG ? 8 : 99);
  }
  int status = status_of(child);
  REQUIRE(status == 7 || status == 8);
  return status == 7;
}

// How many bytes of arguments are taken, to the last one.
static void limit(const char* way) {
  struct rlimit stack = {512 << 10, 512 << 10};  // a quarter of it: 128 KiB
  REQUIRE(setrlimit(RLIMIT_STACK, &stack) == 0);
  static char* crowd[1003];
  static char texts[1000][16];
  for (int i = 0; i < 1000; i++) snprintf(crowd[i] = texts[i], sizeof texts[i], "V%d=%d", i, i);
  char** environment = named(way, "crowded") ? crowd : own;
  memset(filler, 'f', 60 << 10);
  int fits = 0, too_many = 120 << 10;
  while (too_many - fits > 1) {
    int middle = (fits + too_many) / 2;
    *(starts(way, middle, environment) ? &fits : &too_many) = middle;
  }
  say("%d bytes fit\n", fits);
}

static int pipe_of_thread[2];
static void* wait_for_end(void* unused) {
  char byte;
  while (read(pipe_of_thread[0], &byte, 1) < 0) {
  }
  return unused;
}
static void show_popen(void) {
  char command[5000];
  snprintf(command, sizeof command, "'%s' work", self);
  FILE* out = popen(command, "r");
  for (char line[4096]; fgets(line, sizeof line, out);) say("%s", line);
  say("popen: %d\n", pclose(out));
}
static void beside_thread(void) {
  pthread_t thread;
  REQUIRE(pipe(pipe_of_thread) == 0 && pthread_create(&thread, NULL, wait_for_end, NULL) == 0);
  char command[5000];
  snprintf(command, sizeof command, "'%s' work", self);
  say("system: %d\n", system(command));
  show_popen();
  pid_t child = -1;
  REQUIRE(posix_spawn(&child, self, NULL, NULL, work, environ) == 0);
  say("posix_spawn: %d\n", status_of(child));
  REQUIRE(write(pipe_of_thread[1], "x", 1) == 1);
  pthread_join(thread, NULL);
}

// A shell that another thread started lives on while this one starts its own.
static int begun[2], over[2];
static void* wait_in_system(void* unused) {
  char command[80];
  snprintf(command, sizeof command, "echo >&%d; read word <&%d", begun[1], over[0]);
  REQUIRE(system(command) == 0);
  return unused;
}
static void beside_system(void) {
  pthread_t thread;
  char byte;
  REQUIRE(pipe(begun) == 0 && pipe(over) == 0 && pthread_create(&thread, NULL, wait_in_system, NULL) == 0);
  REQUIRE(read(begun[0], &byte, 1) == 1);
  say("system: %d\n", system("exit 3"));
  REQUIRE(write(over[1], "x\n", 2) == 2);
  pthread_join(thread, NULL);
}

// A handler in the middle of system() executes with the environment that the program has.
static volatile int handled;
static void on_signal(int number) {
  if ((handled = fork()) == 0) {
    setenv("COLOUR", "green", 1);
    execv("/usr/bin/env", (char*[]){"env", NULL});
    _exit(99);
  }
}
static void handler(void) {
  environ = own;
  signal(SIGUSR1, on_signal);
  int status = system("kill -USR1 $PPID");
  int status_handled = status_of(handled);
  say("system: %d, handler: %d\n", status, status_handled);
  show_environment();
}
static sigjmp_buf out_of_system;
static void leave(int number) { siglongjmp(out_of_system, 1); }
NOINLINE static void call_system(void) {
  char room[4 * PAGE];
  keep(room);
  system("kill -USR1 $PPID; read word <&9");
  say("not left\n");
}
static void left(void) {
  environ = own;
  signal(SIGUSR1, leave);
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0 && dup2(ends[0], 9) == 9);
  if (sigsetjmp(out_of_system, 1) == 0) call_system();
  write(ends[1], "word\n", 5);
  pid_t child = fork();
  if (child == 0) execv("/usr/bin/env", (char*[]){"env", NULL});
  say("after it: %d\n", status_of(child));
  show_popen();
  show_environment();
}

int main(int count, char** arguments) {
  REQUIRE(count >= 2 && readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  const char* way = arguments[1];
  if (named(way, "work")) return be_worker();
  if (named(way, "brief")) return 7;
  if (named(way, "refused")) refused(count == 2);
  if (named(way, "pointers")) pointers();
  if (named(way, "limit")) limit(arguments[2]);
  if (named(way, "beside-thread")) beside_thread();
  if (named(way, "beside-system")) beside_system();
  if (named(way, "handler")) handler();
  if (named(way, "left")) left();
  return 0;
}
