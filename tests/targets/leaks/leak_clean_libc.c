// The C library keeps memory for itself: buffers of files, the environment, lists of atexit, results in static places.
// CLEAN
#define _GNU_SOURCE
#include "leak.h"

#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <regex.h>
#include <time.h>
#include <wchar.h>
static void* volatile held[100];
static FILE* volatile file;
static void nothing(void) {}
static int by_number(const void* a, const void* b) { return (*(long*)a > *(long*)b) - (*(long*)a < *(long*)b); }
int main(void) {
  char text[100];
  static char* buffer;
  size_t size;
  regex_t pattern;
  glob_t found;
  for (int i = 0; i < 100; i++) {
    held[i] = malloc(10);
    atexit(nothing);
  }
  // One only: the library keeps more in a tree whose pointers carry flags.
  setenv("NAME", "a value", 1);
  file = fopen("/proc/self/stat", "r");
  REQUIRE(file && fgets(text, sizeof text, file));
  FILE* memory = open_memstream(&buffer, &size);
  fprintf(memory, "%s", text);
  fclose(memory);
  tzset();
  time_t zero = 0;
  REQUIRE(localtime(&zero) && getpwuid(0) && getgrgid(0));
  REQUIRE(regcomp(&pattern, "(a|b)*c", REG_EXTENDED) == 0 && regexec(&pattern, "ababc", 0, NULL, 0) == 0);
  regfree(&pattern);
  REQUIRE(glob("/*", 0, NULL, &found) == 0);
  globfree(&found);
  static long numbers[50000];
  for (int i = 0; i < 50000; i++) numbers[i] = i * 7919L % 50021;
  qsort(numbers, 50000, sizeof *numbers, by_number);
  printf("%ls\n", L"wide");
  forget_registers();
  exit(0);
}
