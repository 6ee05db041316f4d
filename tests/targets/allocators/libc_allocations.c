// What the C library allocates for the program is seen, with the library's frames between.
// EXPECT stack function=malloc through=copies allocations=10 frees=10 allocated_bytes=60
// EXPECT stack through=prints allocations>=5
// EXPECT stack function=malloc through=opens allocations>=5 live_blocks=0
#define _GNU_SOURCE
#include "target.h"
NOINLINE void copies(void) {
  for (int i = 0; i < 10; i++) free(keep(strdup("hello")));
}
NOINLINE void prints(void) {
  for (int i = 0; i < 5; i++) {
    char* text = NULL;
    REQUIRE(asprintf(&text, "%0300d", i) == 300);
    free(text);
  }
}
NOINLINE void opens(void) {
  for (int i = 0; i < 5; i++) fclose(fopen("/dev/null", "r"));
}
int main(void) {
  copies();
  prints();
  opens();
  return 0;
}
