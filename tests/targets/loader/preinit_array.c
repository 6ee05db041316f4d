// Functions of the preinit array run before any library's constructor.
// EXPECT stack function=malloc caller=before_everything allocations=2 frees=1 allocated_bytes=48
// EXPECT stack function=malloc caller=main allocations=1 allocated_bytes=7
#include "target.h"
NOINLINE void before_everything(int count, char** arguments, char** environment) {
  (void)count, (void)arguments, (void)environment;
  free(keep(malloc(16)));
  keep(malloc(32));
}
__attribute__((section(".preinit_array"), used)) static void (*const hook)(int, char**, char**) = before_everything;
int main(void) {
  keep(malloc(7));
  return 0;
}
