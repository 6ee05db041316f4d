// What a program can see of the world around it is the same with and without heaptap.
// RUN arguments one "two words" "" --help -o x
// RUN environment
// RUN environment-file
// RUN descriptors
// RUN signals
// RUN limits
// RUN process
// RUN threads
// RUN auxiliary
#define _GNU_SOURCE
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
extern char** environ;

static void arguments(int count, char** all) {
  for (int i = 1; i < count; i++) say("%d: '%s'\n", i, all[i]);
  say("%s %s\n", program_invocation_name == all[0] ? "same" : "other", program_invocation_short_name);
  char comm[32] = "";
  prctl(PR_GET_NAME, comm);
  say("%s\n", comm);
}
static void environment(void) {
  for (char** variable = environ; *variable; variable++) say("%s\n", *variable);
}
// The kernel's copy: gaps are allowed, where heaptap wiped out what started its agent.
static void environment_file(void) {
  static char text[1 << 16];
  int file = open("/proc/self/environ", O_RDONLY);
  ssize_t length = read(file, text, sizeof text - 1);
  for (char* at = text; at < text + length; at += strlen(at) + 1)
    if (*at && strncmp(at, "LD_PRELOAD=", 11)) say("%s\n", at);
}
static void descriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(directory));) {
    int number = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || number == dirfd(directory)) continue;
    char link[300] = "";
    REQUIRE(readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1) > 0);
    link[strcspn(link, "[#")] = 0;
    say("%d: %s flags %x\n", number, link, fcntl(number, F_GETFD));
  }
  say("the directory has %d\n", dirfd(directory));
}
static void status_lines(const char* const* wanted) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[300];
  while (fgets(line, sizeof line, file))
    for (const char* const* name = wanted; *name; name++)
      if (!strncmp(line, *name, strlen(*name))) say("%s", line);
  fclose(file);
}
static void signals(void) {
  status_lines((const char* const[]){"SigBlk", "SigIgn", "SigPnd", "ShdPnd", "SigQ:\tx", NULL});
  stack_t stack;
  sigaltstack(NULL, &stack);
  say("alternate stack: %d\n", stack.ss_flags);
  for (int which = 0; which < 3; which++) {
    struct itimerval timer;
    getitimer(which, &timer);
    say("timer %d: %ld\n", which, timer.it_value.tv_sec + timer.it_value.tv_usec);
  }
}
static void limits(void) {
  for (int which = 0; which < RLIM_NLIMITS; which++) {
    struct rlimit limit;
    if (getrlimit(which, &limit) == 0) say("limit %d: %lx %lx\n", which, limit.rlim_cur, limit.rlim_max);
  }
}
static void process(void) {
  say("same group as parent %d, same session %d, leader %d\n", getpgrp() == getpgid(getppid()),
      getsid(0) == getsid(getppid()), getpid() == getpgrp());
  errno = 0;
  int child = waitpid(-1, NULL, WNOHANG);
  say("children: %d, errno %d\n", child, errno);
  int signal = -1;
  prctl(PR_GET_PDEATHSIG, &signal);
  say("dumpable %d, no new privileges %d, death signal %d, subreaper %d\n", prctl(PR_GET_DUMPABLE),
      prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), signal, prctl(PR_GET_CHILD_SUBREAPER, &child) + child);
  say("priority %d, scheduler %d, slack %d\n", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0),
      prctl(PR_GET_TIMERSLACK));
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  mode_t mask = umask(0);
  say("processors %d, umask %o\n", CPU_COUNT(&set), mask);
  status_lines((const char* const[]){"Uid", "Gid", "Groups", "CapEff", "CapBnd", "Seccomp:", "TracerPid",
                                     "Cpus_allowed:", NULL});
  char directory[400];
  REQUIRE(getcwd(directory, sizeof directory));
  say("%s\n", strrchr(directory, '/') ? "has a directory" : "none");
}
static void threads(void) {
  DIR* directory = opendir("/proc/self/task");
  int count = 0;
  for (struct dirent* entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
  say("%d threads\n", count);
}
static void auxiliary(void) {
  char self[400] = "";
  REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  say("executed as %s\nis %s\n", (char*)getauxval(AT_EXECFN), self);
  say("secure %lu\n", getauxval(AT_SECURE));
}
int main(int count, char** all) {
  REQUIRE(count > 1);
  free(keep(malloc(100)));
  if (!strcmp(all[1], "arguments")) arguments(count, all);
  if (!strcmp(all[1], "environment")) environment();
  if (!strcmp(all[1], "environment-file")) environment_file();
  if (!strcmp(all[1], "descriptors")) descriptors();
  if (!strcmp(all[1], "signals")) signals();
  if (!strcmp(all[1], "limits")) limits();
  if (!strcmp(all[1], "process")) process();
  if (!strcmp(all[1], "threads")) threads();
  if (!strcmp(all[1], "auxiliary")) auxiliary();
  return 0;
}
