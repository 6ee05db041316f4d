// A small log that is full in strict mode: waiting for the collector needs no system call. With an argument it waits for a byte
// before it begins.
// OPTIONS --log-memory 512K
// EXPECT exit 4
// TRACE any
#include "seccomp_filters.h"

int main(int count, char** arguments) {
  (void)arguments;
  char go;
  enter_strict_mode();
  if (count > 1) {
    say("ready\n");
    if (read(0, &go, 1) != 1) end_thread(1);
  }
  for (int i = 0; i < 1000000; i++) free(keep(malloc(10)));
  say("still there\n");
  end_thread(4);
  return 0;
}
