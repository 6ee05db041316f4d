// Releases of another family than the allocation: each is an error of its own, and releases the block.
// OPTIONS --sanity
// EXPECT error kind=mismatched function="operator delete" caller=malloc_delete allocated=malloc count=2
// EXPECT error kind=mismatched function=free caller=new_free allocated="operator new" count=1
// EXPECT error kind=mismatched function="operator delete[]" caller=new_delete_array allocated="operator new" count=1
// EXPECT error kind=mismatched function="operator delete" caller=new_array_delete allocated="operator new[]" count=1
// EXPECT error kind=mismatched function=realloc caller=new_realloc allocated="operator new" count=1
// EXPECT error kind=mismatched function="operator delete[]" caller=calloc_delete_array allocated=calloc count=1
// EXPECT totals.mismatched_frees == 7
// EXPECT totals.bad_frees == 0
// EXPECT totals.double_frees == 0
// EXPECT stack through=main live_blocks=0 frees=9
#include "target.h"

#include <new>
NOINLINE void malloc_delete() { ::operator delete(keep(malloc(10))); }
NOINLINE void new_free() { free(keep(::operator new(10))); }
NOINLINE void new_delete_array() { ::operator delete[](keep(::operator new(10))); }
NOINLINE void new_array_delete() { ::operator delete(keep(::operator new[](10))); }
NOINLINE void new_realloc() { free(keep(realloc(keep(::operator new(10)), 50))); }
NOINLINE void calloc_delete_array() { ::operator delete[](keep(calloc(1, 10))); }
NOINLINE void matched() { free(keep(malloc(3))); }
int main() {
  malloc_delete();
  malloc_delete();
  new_free();
  new_delete_array();
  new_array_delete();
  new_realloc();
  calloc_delete_array();
  matched();
  return 0;
}
