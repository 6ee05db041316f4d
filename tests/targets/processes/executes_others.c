// All ways to execute another program, in a child each: what a child sees of its environment is what it sees without heaptap,
// also where children are followed.
// OPTIONS --follow-fork
// TRACE any
// RUN execve
// RUN execv
// RUN execvp
// RUN execvpe
// RUN execl
// RUN execlp
// RUN execle
// RUN fexecve
// RUN execveat
// RUN vfork
// RUN posix_spawn
// RUN posix_spawnp
// RUN system
// RUN popen
// RUN crowded
// RUN missing
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
extern char** environ;

static char self[4096];
static char* const own[] = {"COLOUR=blue", "PATH=/usr/bin:/bin", NULL};
static char* crowd[1003];

NOINLINE void worker(void) {
  for (int i = 0; i < 40; i++) free(keep(malloc(10)));
}
static int be_worker(void) {
  worker();
  int variables = 0;
  for (char** variable = environ; *variable; variable++, variables++)
    if (variables < 100 && strncmp(*variable, "_=", 2) && strncmp(*variable, "PWD=", 4)) say("%s\n", *variable);
  say("%d variables\n", variables);
  return 7;
}
static int named(const char* a, const char* b) { return !strcmp(a, b); }

// In the child. All arguments end up the same.
static void become(const char* way) {
  char* const arguments[] = {self, "work", NULL};
  if (named(way, "execve") || named(way, "vfork")) execve(self, arguments, own);
  if (named(way, "execv")) execv(self, arguments);
  if (named(way, "execvp")) execvp("executes_others", arguments);
  if (named(way, "execvpe")) execvpe("executes_others", arguments, own);
  if (named(way, "execl")) execl(self, self, "work", (char*)NULL);
  if (named(way, "execlp")) execlp("executes_others", self, "work", (char*)NULL);
  if (named(way, "execle")) execle(self, self, "work", (char*)NULL, own);
  if (named(way, "fexecve")) fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, own);
  if (named(way, "execveat")) execveat(AT_FDCWD, self, arguments, own, 0);
  if (named(way, "crowded")) execve(self, arguments, crowd);
  if (named(way, "missing")) {
    execve("/no/such/program", arguments, own);
    int first = errno;
    execlp("no-such-program-anywhere", "x", (char*)NULL);
    say("errno %d and %d\n", first, errno);
    execl(self, self, "work", (char*)NULL);
  }
  _exit(99);
}
static int status_of_child(const char* way) {
  char* const arguments[] = {self, "work", NULL};
  char command[5000];
  snprintf(command, sizeof command, "'%s' work", self);
  int status = -1;
  pid_t child = -1;
  if (named(way, "system")) return system(command);
  if (named(way, "popen")) {
    FILE* out = popen(command, "r");
    for (char line[4096]; fgets(line, sizeof line, out);) say("%s", line);
    return pclose(out);
  }
  if (named(way, "posix_spawn")) REQUIRE(posix_spawn(&child, self, NULL, NULL, arguments, own) == 0);
  if (named(way, "posix_spawnp")) REQUIRE(posix_spawnp(&child, "executes_others", NULL, NULL, arguments, environ) == 0);
  if (child == -1) child = named(way, "vfork") ? vfork() : fork();
  if (child == 0) become(way);
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}
int main(int count, char** arguments) {
  REQUIRE(count == 2 && readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  if (named(arguments[1], "work")) return be_worker();
  static char path[5000];
  snprintf(path, sizeof path, "%.*s:/usr/bin:/bin", (int)(strrchr(self, '/') - self), self);
  setenv("PATH", path, 1);
  for (int i = 0; i < 1000; i++) {
    crowd[i] = malloc(40);
    snprintf(crowd[i], 40, "VARIABLE_%d=%d", i, i);
  }
  int status = status_of_child(arguments[1]);
  REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  for (char** variable = environ; *variable; variable++) REQUIRE(strncmp(*variable, "HEAPTAP_SESSION", 15));
  return 0;
}
