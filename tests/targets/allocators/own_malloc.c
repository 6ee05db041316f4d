// The program brings its own malloc: the agent sees none of its calls, and the program works as before.
// TRACE incomplete-by-agent
// EXPECT exit 0
#include "target.h"
static char area[1 << 20];
static size_t used;
void* malloc(size_t size) {
  used = (used + 15) & ~(size_t)15;
  if (size > sizeof area - used) return NULL;
  used += size;
  return area + used - size;
}
void free(void* block) { (void)block; }
void* calloc(size_t count, size_t size) { return malloc(count * size); }
void* realloc(void* block, size_t size) {
  void* other = malloc(size);
  if (block && other) memmove(other, block, size);
  return other;
}
NOINLINE void allocate(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
int main(void) {
  size_t before = used;
  allocate();
  say("%zu bytes\n", used - before);
  return 0;
}
