// Says that it is ready; then loses, holds or drops a block for each line that it reads, or allocates and releases many, and
// repeats the line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* volatile held;

__attribute__((noinline)) static void* make(void) { return malloc(100); }
// Of sizes that no trace can keep in little room.
__attribute__((noinline)) static void churn(void) {
  static unsigned long random = 1;
  for (int i = 0; i < 200000; i++) {
    random = random * 6364136223846793005UL + 1442695040888963407UL;
    free(malloc(random >> 40 & 65535));
  }
}
__attribute__((noinline)) static void obey(const char* word) {
  if (strcmp(word, "lose") == 0) (void)make();
  if (strcmp(word, "hold") == 0) held = make();
  if (strcmp(word, "drop") == 0) held = NULL;
  if (strcmp(word, "churn") == 0) churn();
}

int main(void) {
  char line[64];
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    obey(line);
    puts(line);
    fflush(stdout);
  }
  return 0;
}
