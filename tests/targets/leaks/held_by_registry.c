// A service whose memory one static object holds. A word on main's stack leads there as well, while main runs.
// RUN return
// EXPECT exit 0
// RUN _exit
// EXPECT exit 0
// RUN segv
// EXPECT signal SIGSEGV
// RUN term
// EXPECT signal SIGTERM
#include "target.h"

#include <signal.h>
struct User {
  struct User* next;
  char data[1000];
};
static struct {
  long users;
  struct User* newest;
} registry;
NOINLINE static void add_user(void) {
  struct User* user = malloc(sizeof *user);
  memset(user->data, 1, sizeof user->data);
  user->next = registry.newest;
  registry.newest = user;
  registry.users++;
}
int main(int count, char** arguments) {
  REQUIRE(count > 1);
  for (int i = 0; i < 1000; i++) add_user();
  struct User* volatile at_work = registry.newest;
  say("ready\n");
  if (!strcmp(arguments[1], "_exit")) _exit(0);
  if (!strcmp(arguments[1], "segv")) *(volatile int*)8 = 1;
  if (!strcmp(arguments[1], "term")) kill(getpid(), SIGTERM);
  while (strcmp(arguments[1], "return") != 0) pause();
  return at_work == NULL;
}
