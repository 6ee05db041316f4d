// A daemon's habit: all descriptors are closed, then own files opened; what heaptap writes must not get into them.
// EXPECT exit 0
// EXPECT stack function=malloc caller=allocate allocations=200000 frees=200000
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
NOINLINE void allocate(int depth) {
  for (int i = 0; i < 10000; i++) free(keep(malloc((size_t)i)));
  if (depth > 1) allocate(depth - 1);
}
int main(void) {
  int output = dup(1);
  REQUIRE(dup2(output, 900) == 900);
  for (int i = 0; i < 900; i++) close(i);
  for (int i = 901; i < 1024; i++) close(i);
  int files[20];
  for (int i = 0; i < 20; i++) {
    files[i] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    if (files[i] < 0) _exit(97);
    if (files[i] != i) _exit(96);
    if (write(files[i], "mine", 4) != 4) _exit(95);
  }
  allocate(20);
  for (int i = 0; i < 20; i++) {
    char text[16] = "";
    if (pread(files[i], text, sizeof text, 0) != 4 || memcmp(text, "mine", 4)) _exit(94);
    if (lseek(files[i], 0, SEEK_CUR) != 4) _exit(93);
  }
  dup2(900, 1);
  say("all files are as they were\n");
  return 0;
}
