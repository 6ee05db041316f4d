// Temporary: released by the same thread before it allocates anything else.
// LINK -pthread
// EXPECT stack function=malloc caller=released_at_once allocations=100 temporary_allocations=100
// EXPECT stack function=malloc caller=released_in_pairs allocations=200 temporary_allocations=100
// EXPECT stack function=malloc caller=released_late allocations=101 frees=100 temporary_allocations=0
// EXPECT stack function=malloc caller=released_elsewhere allocations=1 frees=1 temporary_allocations=0
// EXPECT stack function=malloc caller=grows allocations=10 temporary_allocations=10
// EXPECT stack function=realloc caller=grows allocations=10 temporary_allocations=10
#include "target.h"

#include <pthread.h>
NOINLINE void released_at_once(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
// The second of each pair is temporary, the first isn't.
NOINLINE void released_in_pairs(void) {
  for (int i = 0; i < 100; i++) {
    void* first = keep(malloc(10));
    void* second = keep(malloc(10));
    free(second);
    free(first);
  }
}
NOINLINE void released_late(void) {
  void* blocks[100];
  for (int i = 0; i < 100; i++) blocks[i] = malloc(10);
  for (int i = 0; i < 99; i++) free(blocks[i]);
  keep(malloc(1));
  free(blocks[99]);
}
static void* release(void* block) {
  free(block);
  return NULL;
}
NOINLINE void* released_elsewhere(void) { return malloc(10); }
// A realloc releases the block before it allocates the new one.
NOINLINE void grows(void) {
  for (int i = 0; i < 10; i++) free(keep(realloc(keep(malloc(10)), 20)));
}
int main(void) {
  released_at_once();
  released_in_pairs();
  released_late();
  grows();
  pthread_t id;
  pthread_create(&id, NULL, release, released_elsewhere());
  pthread_join(id, NULL);
  return 0;
}
