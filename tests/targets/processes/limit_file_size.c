// A small limit on the size of files: the program gets its own SIGXFSZ, and only for its own file.
// EXPECT exit 0
// EXPECT stack function=malloc caller=allocate allocations=100000 frees=100000
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
static volatile sig_atomic_t signals;
static void on_signal(int number) {
  (void)number;
  signals = signals + 1;
}
NOINLINE void allocate(void) {
  for (int i = 0; i < 100000; i++) free(keep(malloc((size_t)i)));
}
int main(void) {
  signal(SIGXFSZ, on_signal);
  struct rlimit limit = {4096, 4096};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  allocate();
  int before = signals;
  int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
  static char text[8192];
  ssize_t first = write(file, text, sizeof text);
  ssize_t second = write(file, text, sizeof text);
  say("%d signals, wrote %zd, then %zd with errno %d, %d signals\n", before, first, second, errno, (int)signals);
  return 0;
}
