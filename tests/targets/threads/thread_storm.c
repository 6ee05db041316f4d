// Many short threads, each with allocations; the number is the argument.
// LINK -pthread
// RUN 20000
// EXPECT stack function=malloc caller=allocate allocations=40000 frees=40000 allocated_bytes=1280000 live_blocks=0
// RUN-LONG 1000000
// EXPECT stack function=malloc caller=allocate allocations=2000000 frees=2000000 live_blocks=0
#include "target.h"

#include <pthread.h>
NOINLINE void* allocate(void) {
  void* first = malloc(32);
  void* second = malloc(32);
  free(first);
  return second;
}
static void* thread(void* unused) {
  (void)unused;
  return allocate();
}
int main(int count, char** arguments) {
  long threads = count > 1 ? atol(arguments[1]) : 1000;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  pthread_t ids[8];
  for (long done = 0; done < threads; done += 8) {
    int batch = threads - done < 8 ? (int)(threads - done) : 8;
    for (int i = 0; i < batch; i++) REQUIRE(pthread_create(&ids[i], &attributes, thread, NULL) == 0);
    for (int i = 0; i < batch; i++) {
      void* block;
      pthread_join(ids[i], &block);
      free(block);
    }
  }
  say("%ld threads\n", threads);
  return 0;
}
