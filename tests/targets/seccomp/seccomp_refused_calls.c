// Filters that answer system calls with an error instead of killing: nothing is taken for readable because of that. The code
// that allocates has no unwind tables, and a frame pointer that leads to memory which can't be read.
// RUN EPERM
// RUN ENOSYS
// EXPECT stack function=malloc caller=from_jit allocations=20
#define _GNU_SOURCE
#include "seccomp_filters.h"

#include <sys/mman.h>
NOINLINE void* from_jit(size_t size) {
  void* result = keep(malloc(size));
  return result;
}
typedef void* (*Function)(size_t, void*);
static unsigned char* put(unsigned char* at, const void* bytes, size_t count) {
  return (unsigned char*)memcpy(at, bytes, count) + count;
}
// push rbp; push rbp; push rbp; mov rbp, rsi; mov rax, callee; call rax; pop rbp; pop rbp; pop rbp; ret
static Function compile(unsigned char* at, void* callee) {
  Function result = (Function)(void*)at;
  at = put(at, "\x55\x55\x55\x48\x89\xf5\x48\xb8", 8);
  at = put(at, &callee, sizeof callee);
  put(at, "\xff\xd0\x5d\x5d\x5d\xc3", 6);
  return result;
}
int main(int count, char** arguments) {
  (void)count;
  const int error = strcmp(arguments[1], "EPERM") == 0 ? EPERM : ENOSYS;
  unsigned char* code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* hole = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(code != MAP_FAILED && hole != MAP_FAILED);
  const Function function = compile(code, (void*)from_jit);
  char* const stack_like = (char*)__builtin_frame_address(0) + (1 << 20);  // above the stack: most of it isn't mapped
  install_filter(SECCOMP_RET_ERRNO | (unsigned)error);
  for (int i = 0; i < 10; i++) {
    free(function(10, hole + PAGE));
    free(function(10, stack_like));
  }
  say("done\n");
  return 0;
}
