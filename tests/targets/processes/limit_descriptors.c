// All descriptors in use: as many as without heaptap, and allocation goes on.
// LINK -pthread
// EXPECT stack function=malloc caller=allocate allocations=100000 frees=100000
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
NOINLINE void* allocate(void* unused) {
  for (int i = 0; i < 10000; i++) free(keep(malloc((size_t)i)));
  return unused;
}
int main(void) {
  struct rlimit limit = {64, 64};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  int opened = 0;
  while (open("/dev/null", O_RDONLY) >= 0) opened++;
  say("%d opened, errno %d\n", opened, errno);
  for (int i = 0; i < 9; i++) {
    pthread_t id;
    REQUIRE(pthread_create(&id, NULL, allocate, NULL) == 0);
    pthread_join(id, NULL);
  }
  allocate(NULL);
  return 0;
}
