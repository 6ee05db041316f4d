// Without --sanity bad releases are not listed, but counted.
// EXPECT totals.mismatched_frees == 3
// EXPECT totals.bad_frees == 0
// EXPECT errors.length == 0
#include "target.h"

#include <new>
int main() {
  for (int i = 0; i < 3; i++) ::operator delete(keep(malloc(10)));
  return 0;
}
