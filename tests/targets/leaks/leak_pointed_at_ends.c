// Blocks to which only pointers behind their last byte point. Where other blocks of the call have a header that is as long as such
// a block, nothing is behind the header, and the block is held. Elsewhere it may be chance; on a stack it says nothing.
#define _GNU_SOURCE
#include "leak.h"

#include <sys/mman.h>
#define FUNCTIONS 40
#define BYTES 48

struct argument {
  const char* name;
  void* type;
  long flags[2];
};
struct function {
  struct argument* arguments;
};
static struct function* volatile functions[FUNCTIONS];
static char* volatile in_global;
static char* volatile* volatile in_block;
static __thread char* volatile in_thread;

// As php describes its functions: what is returned comes first, and functions point behind it, to their arguments, if there are any.
NOINLINE static struct argument* describe(int count) {
  return (struct argument*)calloc(count + 1, sizeof(struct argument)) + 1;  // LEAK definite 1 *, reachable 40 *
}
NOINLINE static struct function* make_function(int arguments) {
  struct function* function = malloc(sizeof *function);  // LEAK reachable 40 *
  function->arguments = describe(arguments);
  return function;
}
NOINLINE static char* end_of_buffer(void) {
  return (char*)malloc(BYTES) + BYTES;  // LEAK definite 2 96, possible 4 192
}
static void fill(void) {
  for (int i = 0; i < FUNCTIONS; i++) functions[i] = make_function(i % 3);
  describe(0);
  in_block = malloc(sizeof *in_block);  // LEAK reachable 1 *
  in_global = end_of_buffer();
  *in_block = end_of_buffer();
  in_thread = end_of_buffer();
  char* volatile* mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  mapped[8] = end_of_buffer();
  end_of_buffer();
}
int main(void) {
  far_below(fill);
  char* volatile on_stack = end_of_buffer();
  forget_registers();
  keep(on_stack);
  return 0;
}
