// Allocates a known number of blocks, says that it is ready, allocates again for each line of its input, and ends with
// its input. Tests that stop, kill or starve the collector steer it. With an argument: ten times so many for each line.
// STDIN x\ny\n
// EXPECT exit 9
// EXPECT stack function=malloc caller=first allocations=1000 frees=500 allocated_bytes=100000 live_blocks=500
// EXPECT stack function=malloc caller=again allocations=200000 frees=200000
#include "target.h"
NOINLINE void first(void) {
  for (int i = 0; i < 1000; i++) {
    void* block = keep(malloc(100));
    if (i % 2) free(block);
  }
}
static int g_blocks = 10000;
NOINLINE void again(int depth) {
  for (int i = 0; i < g_blocks; i++) free(keep(malloc((size_t)i)));
  if (depth > 1) again(depth - 1);
}
int main(int count, char** arguments) {
  if (count > 1) g_blocks = atoi(arguments[1]);
  first();
  say("ready %d\n", (int)getpid() > 0);
  char line[100];
  ssize_t length;
  while ((length = read(0, line, sizeof line)) > 0) {
    for (ssize_t i = 0; i < length; i++) {
      if (line[i] != '\n') continue;
      again(10);
      say("line\n");
    }
  }
  say("end\n");
  return 9;
}
