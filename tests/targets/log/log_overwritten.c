// Writes words over the log that an agent has in it, as a wild pointer may, and goes on allocating. Arguments, of each: where the
// log's header tells of the part (0: the header itself), the offset in that part, the word. Without a log nothing is written.
// TRACE any
// EXPECT exit 5
// RUN 0 40 4702111234474983745
// RUN 0 24 18446744073709551615
// RUN 0 88 9223372036854775807
// RUN 0 96 8
// RUN 0 104 18446744073709551615
// More chunks than the memory has, all of which may be used; none is free, and those that are fresh lie behind the memory's end.
// RUN 0 24 18014398513676288 0 1296 4194304 0 1280 4294967295 0 1288 300647710790000
#include "target.h"

#include <stdint.h>
static volatile uint8_t* find_log(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long begin = 0, found = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    if (strstr(line, "/memfd:heaptap-log") && sscanf(line, "%lx", &begin) == 1 && !found) found = begin;
  }
  if (maps) fclose(maps);
  return (volatile uint8_t*)found;
}
NOINLINE void allocate(int count) {
  for (int i = 0; i < count; i++) free(keep(malloc((size_t)(i % 500 + 1))));
}
int main(int argc, char** argv) {
  allocate(1000);
  volatile uint8_t* log = find_log();
  for (int at = 1; log && at + 2 < argc; at += 3) {
    uint64_t part = strtoull(argv[at], 0, 10), offset = strtoull(argv[at + 1], 0, 10);
    volatile uint8_t* start = part ? log + *(volatile uint64_t*)(log + part) : log;
    *(volatile uint64_t*)(start + offset) = strtoull(argv[at + 2], 0, 10);
  }
  allocate(log ? 20000 : 100);
  return 5;
}
