// Program that defines some allocation functions itself: those selected by OWN_… macros. It calls all of them, and prints which ones were
// called and whose blocks they returned. With OWN_FREE its blocks come from its own area, else, as with KEEPS_NONE, from the next
// function of the same name. own_functions_test.py builds it in all variants.
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#if defined(OWN_FREE) && !defined(KEEPS_NONE)
constexpr bool kKeeps = true;
#else
constexpr bool kKeeps = false;
#endif

namespace {

enum Called { kMalloc, kFree, kCalloc, kRealloc, kMemalign, kUsableSize, kNew, kDelete, kCount };
int g_calls[kCount];

// [size][block], one behind the other.
alignas(4096) char g_area[1 << 20];
size_t g_used;

bool is_own(const void* block) {
  return static_cast<const char*>(block) - g_area >= 0 && static_cast<const char*>(block) - g_area < (1 << 20);
}

void* take(size_t alignment, size_t size) {
  if (alignment < 16) alignment = 16;
  g_used = (g_used + 16 + alignment - 1) & ~(alignment - 1);
  char* const block = g_area + g_used;
  memcpy(block - 16, &size, sizeof size);
  g_used += size;
  if (g_used > sizeof g_area) _exit(98);
  return block;
}

size_t own_size(const void* block) {
  size_t size = 0;
  memcpy(&size, static_cast<const char*>(block) - 16, sizeof size);
  return size;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void say_calls(const char* what, const void* block) {
  char line[256];
  int length = snprintf(line, sizeof line, "%s:%s", what, block != nullptr && is_own(block) ? " own" : "");
  const char* const names[] = {"malloc", "free", "calloc", "realloc", "memalign", "usable", "new", "delete"};
  for (int i = 0; i < kCount; ++i) {
    if (g_calls[i] != 0)
      length += snprintf(line + length, sizeof line - static_cast<size_t>(length), " %s=%d", names[i], g_calls[i]);
    g_calls[i] = 0;
  }
  line[length++] = '\n';
  if (write(1, line, static_cast<size_t>(length)) != length) _exit(97);
}

}  // namespace

extern "C" {
#ifdef OWN_MALLOC
void* malloc(size_t size) {
  ++g_calls[kMalloc];
  if (kKeeps) return take(16, size);
  static auto* const call = next<void*(size_t)>("malloc");
  return call(size);
}
#endif
#ifdef OWN_FREE
void free(void* block) {
  ++g_calls[kFree];
  if (block == nullptr || is_own(block)) return;
  static auto* const call = next<void(void*)>("free");
  call(block);
}
#endif
#ifdef OWN_CALLOC
void* calloc(size_t count, size_t size) {
  ++g_calls[kCalloc];
  if (kKeeps) return take(16, count * size);
  static auto* const call = next<void*(size_t, size_t)>("calloc");
  return call(count, size);
}
#endif
#ifdef OWN_REALLOC
void* realloc(void* block, size_t size) {
  ++g_calls[kRealloc];
  if (kKeeps && (block == nullptr || is_own(block))) {
    void* const other = take(16, size);
    if (block != nullptr) memcpy(other, block, own_size(block) < size ? own_size(block) : size);
    return other;
  }
  static auto* const call = next<void*(void*, size_t)>("realloc");
  return call(block, size);
}
#endif
#ifdef OWN_MEMALIGN
void* memalign(size_t alignment, size_t size) {
  ++g_calls[kMemalign];
  if (kKeeps) return take(alignment, size);
  static auto* const call = next<void*(size_t, size_t)>("memalign");
  return call(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++g_calls[kMemalign];
  if (kKeeps) return take(alignment, size);
  static auto* const call = next<void*(size_t, size_t)>("aligned_alloc");
  return call(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  ++g_calls[kMemalign];
  if (kKeeps) return (*block = take(alignment, size), 0);
  static auto* const call = next<int(void**, size_t, size_t)>("posix_memalign");
  return call(block, alignment, size);
}
#endif
#ifdef OWN_MALLOC_USABLE_SIZE
size_t malloc_usable_size(void* block) {
  ++g_calls[kUsableSize];
  if (is_own(block)) return own_size(block);
  static auto* const call = next<size_t(void*)>("malloc_usable_size");
  return call(block);
}
#endif
}

#ifdef OWN_NEW
void* operator new(size_t size) {
  ++g_calls[kNew];
  if (kKeeps) return take(16, size);
  return malloc(size);
}
#endif
#ifdef OWN_DELETE
void operator delete(void* block) noexcept {
  ++g_calls[kDelete];
  free(block);
}
void operator delete(void* block, size_t) noexcept {
  ++g_calls[kDelete];
  free(block);
}
#endif

namespace {

template <typename Pointer>
Pointer keep(Pointer pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

// Where the function that is asked knows the block.
void say_usable_size(const char* what, void* block) {
#ifndef OWN_MALLOC_USABLE_SIZE
  if (is_own(block)) return;
#endif
  char line[64];
  const int length = snprintf(line, sizeof line, "%s: %zu bytes\n", what, malloc_usable_size(block));
  if (write(1, line, static_cast<size_t>(length)) != length) _exit(97);
}

void end_with_child(void (*run)(void*), void* block) {
  const pid_t child = fork();
  if (child == 0) {
    run(block);
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %x\n", static_cast<unsigned>(status));
  fflush(stdout);
}

}  // namespace

int main() {
  static char buffer[4096];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  memset(g_calls, 0, sizeof g_calls);

  void* block = keep(malloc(100));
  say_usable_size("malloc", block);
#ifndef OWN_REALLOC
  if (!is_own(block))
#endif
    block = keep(realloc(block, 200));
  say_calls("malloc, realloc", block);
  free(block);
  say_calls("free", nullptr);

  block = keep(calloc(3, 50));
  say_calls("calloc", block);
  free(block);
  block = keep(realloc(nullptr, 30));
  say_calls("realloc", block);
  free(block);
  block = keep(memalign(64, 100));
  say_calls("memalign", block);
  free(block);
  if (posix_memalign(&block, 64, 100) != 0) return 96;
  say_calls("posix_memalign", block);
  free(keep(block));
  block = keep(aligned_alloc(64, 128));
  say_calls("aligned_alloc", block);
  free(block);
  block = keep(strdup("some text"));
  say_calls("strdup", block);
  free(block);

  char* chars = keep(new char[100]);
  say_usable_size("new", chars);
  say_calls("new[]", chars);
  delete[] chars;
  say_calls("delete[]", nullptr);
  int* number = keep(new int(5));
  say_calls("new", number);
  delete number;
  say_calls("delete", nullptr);
  number = keep(new (std::nothrow) int(5));
  say_calls("new nothrow", number);
  operator delete(number, std::nothrow);
  say_calls("delete nothrow", nullptr);
  void* aligned = keep(operator new(100, std::align_val_t(64)));
  say_calls("new aligned", aligned);
  operator delete(aligned, std::align_val_t(64));
  say_calls("delete aligned", nullptr);

  // A child has its parent's blocks.
  end_with_child(
      [](void* parents) {
        delete[] static_cast<char*>(parents);
        delete keep(new int(1));
      },
      keep(new char[50]));
  end_with_child(
      [](void* parents) {
        free(parents);
        operator delete(keep(operator new(20)));
      },
      keep(malloc(50)));
  return 3;
}
