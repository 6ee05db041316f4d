// Without a scan at the end no signal is handled that the program doesn't handle.
// OPTIONS --no-leak-scan
#include "target.h"
int main(void) {
  free(keep(malloc(100)));
  FILE* file = fopen("/proc/self/status", "r");
  char line[300];
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, "SigCgt", 6)) say("%s", line);
  fclose(file);
  return 0;
}
