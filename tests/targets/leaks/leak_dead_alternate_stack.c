// A handler on an alternate stack is through: what it left there holds nothing any more.
#include "leak.h"

#include <signal.h>
#include <sys/mman.h>
#define SIZE 65536
NOINLINE static void handler(int number) {
  void* volatile locals[8];
  for (int i = 0; i < 8; i++) locals[i] = NULL;
  locals[3] = malloc(32);  // LEAK definite 1 32
  forget_registers();
}
int main(int count, char** arguments) {
  stack_t alternate = {.ss_size = SIZE};
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  alternate.ss_sp = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(alternate.ss_sp != MAP_FAILED);
  REQUIRE(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  raise(SIGUSR1);
  forget_registers();
  return 0;
}
