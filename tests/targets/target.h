// Common part of the target programs: output without the heap, and a check that ends the program.
// The programs' expectations are comment lines; tests/support/expectations.py says what they mean.
#pragma once
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, unused))
#define PAGE ((size_t)4096)
#if defined(__aarch64__)
#define BREAKPOINT() __asm__ volatile("brk #0")
#else
#define BREAKPOINT() __asm__ volatile("int3")
#endif

// Keeps the optimiser from seeing through a pointer.
static inline void* keep(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// printf that allocates nothing: a line of at most 1 KiB, written at once.
__attribute__((unused, format(printf, 1, 2))) static void say(const char* format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length > (int)sizeof line - 1) length = (int)sizeof line - 1;
  ssize_t written = write(1, line, (size_t)length);
  (void)written;
}

__attribute__((unused)) static void require_at(int condition, const char* what, int line) {
  if (condition) return;
  say("failed in line %d: %s (errno %d)\n", line, what, errno);
  _exit(99);
}
#define REQUIRE(condition) require_at(!!(condition), #condition, __LINE__)
