// A program that fragments its heap until its peak, and frees all: what the pages are like then is no scan's to tell. It prints on
// how many pages the blocks lie that it holds at the peak, and the bytes of these pages beside them. Their addresses are known if
// they outlive a frame of events: of 300,000 blocks the trace has them, of 1,000 ("few") it has none, but at a mark ("mark").
// RUN few
// LINK -ldl
#define _GNU_SOURCE
#include "leak.h"

#include <dlfcn.h>
enum { kMost = 300000, kFew = 1000, kBlockBytes = 104, kEach = 128 };
static char* volatile blocks[kMost];
NOINLINE static char* pass_one(void) { return keep(malloc(kBlockBytes)); }
NOINLINE static char* hold_one(void) { return memset(keep(malloc(kBlockBytes)), 2, kBlockBytes); }
NOINLINE static void* make_peak(void) { return keep(malloc(64 << 20)); }

static int is_held(int i) { return i % kEach == kEach - 1; }
static int compare(const void* one, const void* other) {
  const uintptr_t a = *(const uintptr_t*)one, b = *(const uintptr_t*)other;
  return a < b ? -1 : a > b;
}

// Pages of the blocks that are held.
NOINLINE static void print_pages(int count) {
  static uintptr_t pages[2 * kMost / kEach + 2];
  const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  size_t touched = 0, held = 0, distinct = 0;
  for (int i = 0; i < count; i++) {
    if (!is_held(i)) continue;
    ++held;
    pages[touched++] = (uintptr_t)blocks[i] / page_bytes;
    pages[touched++] = ((uintptr_t)blocks[i] + kBlockBytes - 1) / page_bytes;
  }
  for (size_t i = 1; i < touched; i++) {  // nearly sorted
    const uintptr_t page = pages[i];
    size_t at = i;
    for (; at > 0 && compare(&pages[at - 1], &page) > 0; --at) pages[at] = pages[at - 1];
    pages[at] = page;
  }
  for (size_t i = 0; i < touched; i++) distinct += i == 0 || pages[i] != pages[i - 1];
  char line[128];
  const int length = snprintf(line, sizeof line, "held %zu pages %zu rest %zu\n", held, distinct,
                              distinct * (size_t)page_bytes - held * kBlockBytes);
  if (write(1, line, (size_t)length) != length) _exit(1);
}

static void set_mark(const char* name) {
  void (*const mark)(const char*) = (void (*)(const char*))dlsym(RTLD_DEFAULT, "heaptap_mark");
  if (mark != NULL) mark(name);
}

int main(int argc, char** arguments) {
  const int count = said(arguments, "few") ? kFew : kMost;
  for (int i = 0; i < count; i++) blocks[i] = is_held(i) ? hold_one() : pass_one();
  for (int i = 0; i < count; i++) {
    if (!is_held(i)) free(blocks[i]);
  }
  void* peak = make_peak();
  print_pages(count);
  if (said(arguments, "mark")) set_mark("fragmented");
  free(peak);
  for (int i = 0; i < count; i++) {
    if (is_held(i)) free(blocks[i]);
    blocks[i] = 0;
  }
  forget_registers();
  return 0;
}
