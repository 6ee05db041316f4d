// The same where it is followed, as it is by default: the program behaves as it does without heaptap, whatever environment it hands on.
// TRACE any
// EXPECT exit 3
// RUN environ
// RUN clean
#define _GNU_SOURCE
#include "target.h"
extern char** environ;
int main(int count, char** arguments) {
  keep(malloc(100));
  if (count == 3) {
    say("executed as %s\n", arguments[2]);
    return 3;
  }
  char* next[] = {arguments[0], arguments[1], "again", NULL};
  char* none[] = {"COLOUR=blue", NULL};
  execve("/proc/self/exe", next, strcmp(arguments[1], "clean") ? environ : none);
  return 99;
}
