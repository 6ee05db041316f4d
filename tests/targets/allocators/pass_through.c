// Copies its input to its output, with stdio and an error line.
// STDIN one\ntwo\nthree\n
// EXPECT stack function=malloc caller=copy_line allocations=3 frees=3
#define _GNU_SOURCE
#include "target.h"
NOINLINE void copy_line(const char* line) {
  char* copy = malloc(strlen(line) + 1);
  strcpy(copy, line);
  fputs(copy, stdout);
  free(copy);
}
int main(void) {
  char line[100];
  while (fgets(line, sizeof line, stdin)) copy_line(line);
  fprintf(stderr, "end of input %d\n", feof(stdin));
  printf("terminals: %d %d %d\n", isatty(0), isatty(1), isatty(2));
  return 0;
}
