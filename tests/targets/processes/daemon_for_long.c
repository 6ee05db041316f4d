// A daemon as the books have it: forks twice, leaves its session, directory, descriptors and user; it says so by a FIFO, and works
// when it is told to by another. Nothing of it allocates until then.
// TRACE none
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <sys/stat.h>
NOINLINE void in_parent(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(10)));
}
NOINLINE void in_daemon(void) {
  for (int i = 0; i < 10000; i++) free(keep(malloc(10)));
}
int main(int count, char** arguments) {
  in_parent();
  if (fork()) return 0;
  REQUIRE(setsid() > 0);
  if (fork()) _exit(0);
  umask(077);
  char* const told = arguments[1];
  for (int i = 0; i < 1024; i++) close(i);
  if (getuid() == 0) REQUIRE(setgid(65534) == 0 && setuid(65534) == 0);
  int fifo = open(told, O_WRONLY);  // waits for the reader
  char word = 'd';
  if (fifo != 0 || write(fifo, &word, 1) != 1) _exit(3);  // detached
  close(fifo);
  fifo = open(arguments[2], O_RDONLY);
  if (read(fifo, &word, 1) != 1) _exit(4);
  REQUIRE(chdir("/") == 0);
  in_daemon();
  return 0;
}
