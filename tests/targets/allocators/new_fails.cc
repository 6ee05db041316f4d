// operator new that fails throws through heaptap's hook, or returns null; neither counts.
// EXPECT stack through=fails_throwing function="operator new" allocations=0
// EXPECT stack through=fails_quietly live_blocks=0 live_bytes=0
// EXPECT stack function="operator new" caller=afterwards allocations=1 allocated_bytes=5
// EXPECT totals.unknown_frees == 0
// EXPECT totals.bad_frees == 0
#include "target.h"

#include <new>
static volatile size_t huge = ~(~(size_t)0 >> 1);
NOINLINE int fails_throwing() {
  int caught = 0;
  try {
    keep(::operator new(huge));
  } catch (const std::bad_alloc&) {
    caught++;
  }
  try {
    keep(::operator new[](huge));
  } catch (const std::bad_alloc&) {
    caught++;
  }
  try {
    keep(::operator new(huge, std::align_val_t{64}));
  } catch (const std::bad_alloc&) {
    caught++;
  }
  try {
    keep(::operator new[](huge, std::align_val_t{64}));
  } catch (const std::bad_alloc&) {
    caught++;
  }
  return caught;
}
NOINLINE int fails_quietly() {
  return !::operator new(huge, std::nothrow) + !::operator new[](huge, std::nothrow) +
         !::operator new(huge, std::align_val_t{64}, std::nothrow) +
         !::operator new[](huge, std::align_val_t{64}, std::nothrow);
}
NOINLINE void afterwards() { keep(::operator new(5)); }
int main() {
  for (int i = 0; i < 100; i++) REQUIRE(fails_throwing() == 4 && fails_quietly() == 4);
  afterwards();
  say("done\n");
  return 0;
}
