// An exception that is being handled at the end, and one that is kept: the library holds both by pointers behind its own head
// at the block's start, so that possible is the most that a scan can say that doesn't know the library.
#include "leak.h"

#include <exception>
static std::exception_ptr* volatile kept;
NOINLINE static void throw_block() {
  struct Large {
    long payload[20];
  };
  throw Large{};  // LEAK possible 2 * | reachable 2 *
}
int main() {
  kept = new std::exception_ptr;  // LEAK reachable 1 8/4
  try {
    throw_block();
  } catch (...) {
    *kept = std::current_exception();
  }
  try {
    throw_block();
  } catch (...) {
    forget_registers();
    exit(0);
  }
}
