// posix_spawn and posix_spawnp with file actions.
// EXPECT stack function=malloc caller=in_parent allocations=100 frees=100
#define _GNU_SOURCE
#include "target.h"

#include <spawn.h>
#include <sys/wait.h>
extern char** environ;
NOINLINE void in_parent(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
int main(void) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  char* arguments[] = {"sh", "-c", "echo spawned >&2; exit 9", NULL};
  pid_t child;
  REQUIRE(posix_spawnp(&child, "sh", &actions, NULL, arguments, environ) == 0);
  int status;
  REQUIRE(waitpid(child, &status, 0) == child);
  say("child ended with %d\n", WEXITSTATUS(status));
  say("no such program: %d\n", posix_spawn(&child, "/no/such/program", NULL, NULL, arguments, environ));
  posix_spawn_file_actions_destroy(&actions);
  in_parent();
  return 0;
}
