// A comparison function that allocates, called from inside the C library: the stack leads through it to main.
// EXPECT stack function=malloc caller=compare through=sort_numbers allocations=1000 frees=1000
// EXPECT stack function=malloc caller=compare through=main allocations=1000
#include "target.h"
static int calls;
NOINLINE int compare(const void* left, const void* right) {
  if (calls < 1000) {
    calls++;
    free(keep(malloc(8)));
  }
  return *(const int*)left - *(const int*)right;
}
NOINLINE void sort_numbers(int* numbers, size_t count) { qsort(numbers, count, sizeof *numbers, compare); }
int main(void) {
  int numbers[1000];
  for (int i = 0; i < 1000; i++) numbers[i] = i * 7919 % 1000;
  sort_numbers(numbers, 1000);
  for (int i = 1; i < 1000; i++) REQUIRE(numbers[i - 1] < numbers[i]);
  say("%d calls\n", calls);
  return 0;
}
