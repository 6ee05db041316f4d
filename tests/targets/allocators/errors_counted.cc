// Also without --sanity bad releases are counted.
// EXPECT totals.mismatched_frees == 3
// EXPECT totals.bad_frees == 0
#include "target.h"

#include <new>
int main() {
  for (int i = 0; i < 3; i++) ::operator delete(keep(malloc(10)));
  return 0;
}
