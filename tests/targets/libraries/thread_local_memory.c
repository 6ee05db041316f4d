// A library whose thread-local block is too large for the static area: its first use in a thread allocates.
static __thread char area[100000];
__attribute__((noinline)) char* thread_local_area(void) {
  area[5]++;
  return area;
}
