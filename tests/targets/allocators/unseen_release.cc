// Blocks of operator new that are released past all hooks: that their addresses are handed out again shows it. Nobody knows
// which function released them, so that nobody may say that it was the wrong one (unknown_test.py).
// TRACE any
#include "target.h"

#include <new>
extern "C" void __libc_free(void*);
int main() {
  for (int i = 0; i < 100; ++i) __libc_free(keep(::operator new(40)));
  return 0;
}
