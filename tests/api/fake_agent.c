/* In place of the agent: a library to preload that defines the functions of the API, and writes each call to stdout. */
#define HEAPTAP_IMPLEMENTATION
#include <heaptap/heaptap.h>

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { kVersion = 7 }; /* that nobody else says */

static void say(const char* format, ...) {
  char line[200];
  int length;
  va_list arguments;
  va_start(arguments, format);
  length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (write(1, line, (size_t)length) != length) _exit(99);
}

static heaptap_pool last_pool;

/* Addresses as distances to the one that was told of first. */
static int at(const void* address) {
  static const char* first;
  if (first == NULL) first = address;
  return (int)((const char*)address - first);
}

int heaptap_api_version(void) { return kVersion; }
void heaptap_enable(void) { say("enable\n"); }
void heaptap_disable(void) { say("disable\n"); }
int heaptap_is_recording(void) { return 1; }
void heaptap_mark(const char* name) { say("mark %s\n", name); }
void heaptap_push_tag(const char* name) { say("push %s\n", name); }
void heaptap_pop_tag(void) { say("pop\n"); }
int heaptap_report(const char* path) {
  say("report %s\n", path);
  return 0;
}
int heaptap_scan(heaptap_scan_counts* counts) {
  say("scan %d\n", counts->struct_bytes == sizeof *counts);
  counts->definite_blocks = 5;
  return 0;
}
heaptap_pool heaptap_pool_create(const char* name) {
  say("pool %s\n", name);
  return ++last_pool;
}
void heaptap_pool_destroy(heaptap_pool pool) { say("destroy %d\n", (int)pool); }
void heaptap_allocated(heaptap_pool pool, const void* address, size_t size_bytes) {
  say("allocated %d %d %d\n", (int)pool, at(address), (int)size_bytes);
}
void heaptap_released(heaptap_pool pool, const void* address) { say("released %d %d\n", (int)pool, at(address)); }
void heaptap_reallocated(heaptap_pool pool, const void* before, const void* after, size_t size_bytes) {
  say("reallocated %d %d %d %d\n", (int)pool, at(before), at(after), (int)size_bytes);
}
void heaptap_name_block(const void* block, const char* name) { say("name %d %s\n", at(block), name); }
heaptap_resource heaptap_resource_create(const char* name) {
  say("resource %s\n", name);
  return 70;
}
void heaptap_opened(heaptap_resource kind, uint64_t number, uint64_t amount) {
  say("opened %d %d %d\n", (int)kind, (int)number, (int)amount);
}
void heaptap_closed(heaptap_resource kind, uint64_t number) { say("closed %d %d\n", (int)kind, (int)number); }
