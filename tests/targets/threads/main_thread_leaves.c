// The first thread ends with pthread_exit; another one goes on and ends the process.
// LINK -pthread
// EXPECT exit 6
// EXPECT stack function=malloc caller=after_main allocations=100 frees=0 allocated_bytes=1000
#include "target.h"

#include <pthread.h>
static pthread_t first;
NOINLINE void after_main(void) {
  for (int i = 0; i < 100; i++) keep(malloc(10));
}
static void* thread(void* unused) {
  (void)unused;
  pthread_join(first, NULL);
  after_main();
  say("after main\n");
  exit(6);
}
int main(void) {
  pthread_t id;
  first = pthread_self();
  pthread_create(&id, NULL, thread, NULL);
  pthread_exit(NULL);
}
