// All forms of operator delete release what their new allocated, and none of these pairs is a mismatch.
// OPTIONS --sanity
// EXPECT stack function="operator new" caller=make allocations=4 frees=4 live_blocks=0
// EXPECT stack function="operator new" caller=make_aligned allocations=3 frees=3 live_blocks=0
// EXPECT stack function="operator new[]" caller=make_array allocations=4 frees=4 live_blocks=0
// EXPECT stack function="operator new[]" caller=make_array_aligned allocations=3 frees=3 live_blocks=0
// EXPECT totals.mismatched_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT errors.length == 0
#include "target.h"

#include <new>

static constexpr std::align_val_t kAlignment{64};

NOINLINE void* make(size_t size) { return ::operator new(size); }
NOINLINE void* make_aligned(size_t size) { return ::operator new(size, kAlignment); }
NOINLINE void* make_array(size_t size) { return ::operator new[](size); }
NOINLINE void* make_array_aligned(size_t size) { return ::operator new[](size, kAlignment); }

int main() {
  ::operator delete(make(8));
  ::operator delete(make(8), std::nothrow);
  ::operator delete(make(8), size_t{8});
  ::operator delete(make(8));
  ::operator delete(make_aligned(8), kAlignment);
  ::operator delete(make_aligned(8), kAlignment, std::nothrow);
  ::operator delete(make_aligned(8), size_t{8}, kAlignment);
  ::operator delete[](make_array(8));
  ::operator delete[](make_array(8), std::nothrow);
  ::operator delete[](make_array(8), size_t{8});
  ::operator delete[](make_array(8));
  ::operator delete[](make_array_aligned(8), kAlignment);
  ::operator delete[](make_array_aligned(8), kAlignment, std::nothrow);
  ::operator delete[](make_array_aligned(8), size_t{8}, kAlignment);
  ::operator delete(nullptr);
  ::operator delete[](nullptr);
  return 0;
}
