// Code made at run time, in memory without unwind tables, calls malloc: directly and through a function.
// EXPECT stack function=malloc caller=from_jit allocations=20 allocated_bytes=200
// EXPECT stack function=malloc path=after<main allocations=40
#define _GNU_SOURCE
#include "target.h"

#include <sys/mman.h>
NOINLINE void* from_jit(size_t size) { return keep(malloc(size)); }
NOINLINE void after(void) { keep(malloc(5)); }
typedef void* (*Function)(size_t);
static unsigned char* put(unsigned char* at, const char* bytes, size_t count) {
  return (unsigned char*)memcpy(at, bytes, count) + count;
}
static Function compile(unsigned char* at, void* callee, int with_frame_pointer) {
  Function result = (Function)(void*)at;
  at = with_frame_pointer ? put(at, "\x55\x48\x89\xe5", 4) : put(at, "\x48\x83\xec\x08", 4);
  at = put(at, "\x48\xb8", 2);  // mov $callee, %rax
  at = put(at, (const char*)&callee, 8);
  at = put(at, "\xff\xd0", 2);  // call *%rax
  at = with_frame_pointer ? put(at, "\x5d\xc3", 2) : put(at, "\x48\x83\xc4\x08\xc3", 5);
  return result;
}
int main(void) {
  unsigned char* code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED);
  Function functions[4] = {compile(code, (void*)from_jit, 1), compile(code + 64, (void*)from_jit, 0),
                           compile(code + 128, (void*)malloc, 1), compile(code + 192, (void*)malloc, 0)};
  for (int i = 0; i < 40; i++) {
    REQUIRE(keep(functions[i % 4](10)));
    after();
  }
  say("done\n");
  return 0;
}
