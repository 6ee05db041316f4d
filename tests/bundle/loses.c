/* Loses five blocks of 100 bytes at once; with an argument, one of 50 bytes for each line that it reads, until its input ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* kept;
static char* volatile last;

__attribute__((noinline)) static void lose(size_t size_bytes) {
  last = malloc(size_bytes);
  if (last != NULL) memset(last, 1, size_bytes);
  last = NULL;
}

static int say(const char* text) { return write(STDOUT_FILENO, text, strlen(text)) > 0; }

int main(int count, char** words) {
  char piece[64];
  (void)words;
  kept = malloc(77);
  for (int i = 0; i < 5; ++i) lose(100);
  if (!say("ready\n")) return 1;
  while (count > 1 && read(STDIN_FILENO, piece, sizeof(piece)) > 0) {
    lose(50);
    if (!say("lost\n")) return 1;
  }
  return 0;
}
