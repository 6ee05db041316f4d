// Says that it is ready; then loses, holds or drops a block for each line that it reads, and repeats the line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void* volatile held;

__attribute__((noinline)) static void* make(void) { return malloc(100); }
__attribute__((noinline)) static void obey(const char* word) {
  if (strcmp(word, "lose") == 0) (void)make();
  if (strcmp(word, "hold") == 0) held = make();
  if (strcmp(word, "drop") == 0) held = NULL;
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
