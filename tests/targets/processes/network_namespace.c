// Leaves the network namespace and forks: the children are recorded. Arguments: what it does besides.
// OPTIONS -f
// EXPECT exit 6
// EXPECT stack function=malloc caller=in_parent allocations=100 frees=100
// RUN
// RUN closes
// RUN replaces
// RUN by-number
// RUN shows
#define _GNU_SOURCE
#include "target.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
NOINLINE void in_parent(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
NOINLINE void in_child(void) {
  for (int i = 0; i < 1000; i++) free(keep(malloc(20)));
}
static int show_descriptors(void) {
  DIR* directory = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(directory));)
    if (atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(directory)) say("descriptor %s\n", entry->d_name);
  return closedir(directory);
}
// A program that isn't recorded, as it is executed by a system call alone, has no descriptor of others.
static void show(void) {
  char* const arguments[] = {"self", "lists", NULL};
  if (vfork() == 0) _exit((int)syscall(SYS_execve, "/proc/self/exe", arguments, NULL));
  wait(NULL);
}
// A program that is recorded finds heaptap; where it can't, that is told.
static int execute(void) {
  execl("/proc/self/exe", "self", "works", (char*)NULL);
  return 99;
}
int main(int argc, char** argv) {
  const char* also = argc > 1 ? argv[1] : "";
  if (strcmp(also, "lists") == 0) return show_descriptors();
  if (strcmp(also, "works") == 0) return in_child(), 6;
  in_parent();
  int flags = CLONE_NEWNET | (getuid() != 0 ? CLONE_NEWUSER : 0);
  int left = strcmp(also, "by-number") == 0 ? (int)syscall(SYS_unshare, flags) : unshare(flags);
  if (left != 0) say("this machine makes no namespace\n");
  if (*also == 's') show();
  for (int number = 3; number < 256 && *also == 'c'; number++) close(number);
  int null = open("/dev/null", O_WRONLY);
  for (int number = 200; number < 208 && *also == 'r'; number++) dup2(null, number);
  pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (strstr(also, "-executes")) _exit(execute());
    in_child();
    _exit(6);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WEXITSTATUS(status);
}
