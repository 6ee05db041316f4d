// OPTIONS --no-follow-exec
// A program that executes itself anew: with its environment, with an empty one, and with one of its own.
// EXPECT exit 3
// RUN environ
// EXPECT stack function=malloc caller=before_exec allocations=3 allocated_bytes=300
// EXPECT stack function=malloc caller=after_exec allocations=0
// RUN clean
// EXPECT stack function=malloc caller=before_exec allocations=3 allocated_bytes=300
// EXPECT stack function=malloc caller=after_exec allocations=0
// RUN own
// EXPECT stack function=malloc caller=before_exec allocations=3 allocated_bytes=300
// RUN fails
// EXPECT stack function=malloc caller=before_exec allocations=3 allocated_bytes=300
// EXPECT stack function=malloc caller=after_exec allocations=5 allocated_bytes=50
#define _GNU_SOURCE
#include "target.h"
extern char** environ;
NOINLINE void before_exec(void) {
  for (int i = 0; i < 3; i++) keep(malloc(100));
}
NOINLINE void after_exec(void) {
  for (int i = 0; i < 5; i++) keep(malloc(10));
}
int main(int count, char** arguments) {
  if (count == 3) {
    after_exec();
    say("executed as %s\n", arguments[2]);
    for (char** variable = environ; *variable; variable++) say("%s\n", *variable);
    return 3;
  }
  before_exec();
  char* next[] = {arguments[0], arguments[1], "again", NULL};
  char* none[] = {NULL};
  char* own[] = {"COLOUR=blue", NULL};
  if (!strcmp(arguments[1], "environ")) execve("/proc/self/exe", next, environ);
  if (!strcmp(arguments[1], "clean")) execve("/proc/self/exe", next, none);
  if (!strcmp(arguments[1], "own")) execve("/proc/self/exe", next, own);
  execve("/no/such/program", next, environ);
  say("errno %d\n", errno);
  after_exec();
  return 3;
}
