// Has a function of its own that is called like one of libc's.
#include <string.h>
static int calls;
int on_exit(const char* event) {
  if (strcmp(event, "saved") != 0) __builtin_trap();
  return ++calls;
}
