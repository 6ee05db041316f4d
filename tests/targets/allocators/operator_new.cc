// All forms of operator new are one event each, also where they call malloc or another form.
// EXPECT stack function="operator new" caller=plain allocations=2 frees=1 allocated_bytes=30 live_bytes=10
// EXPECT stack function="operator new" caller=nothrow allocations=1 allocated_bytes=11
// EXPECT stack function="operator new" caller=aligned allocations=1 allocated_bytes=12
// EXPECT stack function="operator new" caller=aligned_nothrow allocations=1 allocated_bytes=13
// EXPECT stack function="operator new[]" caller=array allocations=1 allocated_bytes=14
// EXPECT stack function="operator new[]" caller=array_nothrow allocations=1 allocated_bytes=15
// EXPECT stack function="operator new[]" caller=array_aligned allocations=1 allocated_bytes=16
// EXPECT stack function="operator new[]" caller=array_aligned_nothrow allocations=1 allocated_bytes=17
// EXPECT stack function=malloc through=main allocations=0
// EXPECT stack function=aligned_alloc through=main allocations=0
// EXPECT stack through=main allocations=9 frees=1 allocated_bytes=128
#include "target.h"

#include <new>

static constexpr std::align_val_t kAlignment{128};

NOINLINE void* plain(size_t size) { return ::operator new(size); }
NOINLINE void* nothrow(size_t size) { return ::operator new(size, std::nothrow); }
NOINLINE void* aligned(size_t size) { return ::operator new(size, kAlignment); }
NOINLINE void* aligned_nothrow(size_t size) { return ::operator new(size, kAlignment, std::nothrow); }
NOINLINE void* array(size_t size) { return ::operator new[](size); }
NOINLINE void* array_nothrow(size_t size) { return ::operator new[](size, std::nothrow); }
NOINLINE void* array_aligned(size_t size) { return ::operator new[](size, kAlignment); }
NOINLINE void* array_aligned_nothrow(size_t size) { return ::operator new[](size, kAlignment, std::nothrow); }

int main() {
  REQUIRE(plain(10));
  ::operator delete(plain(20));
  REQUIRE(nothrow(11));
  REQUIRE((uintptr_t)aligned(12) % 128 == 0);
  REQUIRE((uintptr_t)aligned_nothrow(13) % 128 == 0);
  REQUIRE(array(14));
  REQUIRE(array_nothrow(15));
  REQUIRE((uintptr_t)array_aligned(16) % 128 == 0);
  REQUIRE((uintptr_t)array_aligned_nothrow(17) % 128 == 0);
  return 0;
}
