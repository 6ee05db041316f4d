// Oracle: a preloaded library that counts the same calls as heaptap, by other means and with no code in common. Its counters are a
// shared mapping of the file in ORACLE_OUT, so they are complete however the process ends. The first process that opens the file owns
// it: forked children and executed programs don't count, and neither does heaptap itself, which passes this library on to the
// program.
//
// The file: slots of 64 bytes, { char name[40]; uint64_t calls; uint64_t bytes; uint64_t unused }, up to an empty name.
// "free" counts released blocks, by any function. tests/support/oracle.py reads it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES(X)    \
  X(malloc)         \
  X(calloc)         \
  X(realloc)        \
  X(reallocarray)   \
  X(posix_memalign) \
  X(aligned_alloc)  \
  X(memalign) X(valloc) X(pvalloc) X(operator_new) X(operator_new_array) X(free) X(mmap) X(mmap64) X(munmap) X(mremap)
enum {
#define X(name) k_##name,
  NAMES(X)
#undef X
      kCount
};
struct Slot {
  char name[40];
  uint64_t calls, bytes, unused;
};
_Static_assert(sizeof(struct Slot) == 64, "read by oracle.py");

static struct Slot nowhere[kCount + 1];
static struct Slot* slots = nowhere;
static int* counting;  // in a page that a forked child finds wiped
static __thread int depth __attribute__((tls_model("initial-exec")));

static long raw_mmap(size_t size, int protection, int flags, int file) {
  return syscall(SYS_mmap, NULL, size, protection, flags, file, 0);
}

// The value of ORACLE_OUT, also before the C library has its environment.
static int read_output_path(char* path, size_t capacity) {
  static char text[65536];
  int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY, 0);
  if (file < 0) return 0;
  size_t length = 0;
  for (long got;
       length < sizeof text - 1 && (got = syscall(SYS_read, file, text + length, sizeof text - 1 - length)) > 0;)
    length += (size_t)got;
  syscall(SYS_close, file);
  for (char* at = text; at < text + length; at += strlen(at) + 1) {
    if (strncmp(at, "ORACLE_OUT=", 11) || strlen(at + 11) >= capacity) continue;
    strcpy(path, at + 11);
    return 1;
  }
  return 0;
}

static void count(int slot, size_t bytes) {
  if (!counting || !*counting) return;
  __atomic_add_fetch(&slots[slot].calls, 1, __ATOMIC_RELAXED);
  __atomic_add_fetch(&slots[slot].bytes, bytes, __ATOMIC_RELAXED);
}

// What the dynamic loader asks for while a real function is looked up.
static char early[65536] __attribute__((aligned(16)));
static size_t early_used;
static __thread int finding __attribute__((tls_model("initial-exec")));
static void* early_allocate(size_t size) {
  size = (size + 31) & ~(size_t)15;
  size_t at = __atomic_fetch_add(&early_used, size, __ATOMIC_RELAXED);
  return at + size <= sizeof early ? early + at : NULL;
}
static int is_early(void* block) { return (char*)block >= early && (char*)block < early + sizeof early; }

// The C functions are looked up at the start: later the loader may be at work on the program's behalf, with an error
// message of its own pending. Those of C++ are looked up when they are called first.
static struct {
  const char* symbol;
  void* function;
} functions[] = {{"malloc"},         {"calloc"},        {"realloc"},  {"reallocarray"}, {"free"},
                 {"posix_memalign"}, {"aligned_alloc"}, {"memalign"}, {"valloc"},       {"pvalloc"},
                 {"mmap"},           {"mmap64"},        {"munmap"}};
static void* find(const char* symbol) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (functions[i].function && !strcmp(functions[i].symbol, symbol)) return functions[i].function;
  finding++;
  void* function = dlsym(RTLD_NEXT, symbol);
  finding--;
  return function;
}
static void find_all(void) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) functions[i].function = find(functions[i].symbol);
}

static int is_heaptap(void) {
  char path[4096];
  long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path);
  return length > 8 && !memcmp(path + length - 8, "/heaptap", 8);
}

static void start(void) {
  static int started;
  if (__atomic_exchange_n(&started, 1, __ATOMIC_SEQ_CST)) return;
  int saved = errno;
  find_all();
  char path[4096];
  if (!is_heaptap() && read_output_path(path, sizeof path)) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file >= 0) {
      size_t size = sizeof nowhere;
      if (syscall(SYS_ftruncate, file, size) == 0) {
        struct Slot* mapped = (struct Slot*)raw_mmap(size, PROT_READ | PROT_WRITE, MAP_SHARED, file);
        int* page = (int*)raw_mmap(4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        syscall(SYS_madvise, page, 4096, MADV_WIPEONFORK);
        int slot = 0;
#define X(function) strcpy(mapped[slot++].name, #function);
        NAMES(X)
#undef X
        *page = 1;
        slots = mapped;
        counting = page;
      }
      syscall(SYS_close, file);
    }
  }
  errno = saved;
}
__attribute__((constructor)) static void constructed(void) { start(); }

// A call of the program, or one that another counted call makes; leaves also when operator new throws.
static void leave(const int* outer) { depth = *outer; }
#define CALL(symbol, type, ...)                            \
  static void* found;                                      \
  start();                                                 \
  if (!found) found = find(symbol);                        \
  type (*real)(__VA_ARGS__) = (type(*)(__VA_ARGS__))found; \
  int outer __attribute__((cleanup(leave))) = depth;       \
  depth = outer + 1;

void* malloc(size_t size) {
  if (finding) return early_allocate(size);
  CALL("malloc", void*, size_t)
  void* block = real(size);
  if (!outer && block) count(k_malloc, size);
  return block;
}
void* calloc(size_t number, size_t size) {
  if (finding) return early_allocate(number * size);
  CALL("calloc", void*, size_t, size_t)
  void* block = real(number, size);
  if (!outer && block) count(k_calloc, number * size);
  return block;
}
static void count_realloc(int slot, void* old, void* block, size_t size) {
  if (old && (block || size == 0)) count(k_free, 0);
  if (block) count(slot, size);
}
void* realloc(void* old, size_t size) {
  CALL("realloc", void*, void*, size_t)
  void* block = real(old, size);
  if (!outer) count_realloc(k_realloc, old, block, size);
  return block;
}
void* reallocarray(void* old, size_t number, size_t size) {
  CALL("reallocarray", void*, void*, size_t, size_t)
  void* block = real(old, number, size);
  size_t bytes;
  int overflow = __builtin_mul_overflow(number, size, &bytes);
  if (!outer && !overflow) count_realloc(k_reallocarray, old, block, bytes);
  return block;
}
void free(void* block) {
  if (is_early(block)) return;
  CALL("free", void, void*)
  if (!outer && block) count(k_free, 0);
  real(block);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  CALL("posix_memalign", int, void**, size_t, size_t)
  int error = real(result, alignment, size);
  if (!outer && error == 0 && *result) count(k_posix_memalign, size);
  return error;
}
#define ALIGNED(name)                           \
  void* name(size_t alignment, size_t size) {   \
    CALL(#name, void*, size_t, size_t)          \
    void* block = real(alignment, size);        \
    if (!outer && block) count(k_##name, size); \
    return block;                               \
  }
ALIGNED(aligned_alloc)
ALIGNED(memalign)
#define PAGED(name)                             \
  void* name(size_t size) {                     \
    CALL(#name, void*, size_t)                  \
    void* block = real(size);                   \
    if (!outer && block) count(k_##name, size); \
    return block;                               \
  }
PAGED(valloc)
PAGED(pvalloc)

// Mappings count also where an allocator makes them below a call that counts.
void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  CALL("mmap", void*, void*, size_t, int, int, int, off_t)
  void* start_of = real(at, size, protection, flags, file, offset);
  if (start_of != MAP_FAILED) count(k_mmap, size);
  return start_of;
}
void* mmap64(void* at, size_t size, int protection, int flags, int file, off64_t offset) {
  CALL("mmap64", void*, void*, size_t, int, int, int, off64_t)
  void* start_of = real(at, size, protection, flags, file, offset);
  if (start_of != MAP_FAILED) count(k_mmap64, size);
  return start_of;
}
int munmap(void* at, size_t size) {
  CALL("munmap", int, void*, size_t)
  int error = real(at, size);
  if (error == 0) count(k_munmap, size);
  return error;
}

// The forms of operator new and delete, by their symbols.
#define NEW1(symbol, slot)                  \
  void* symbol(size_t size) {               \
    CALL(#symbol, void*, size_t)            \
    void* block = real(size);               \
    if (!outer && block) count(slot, size); \
    return block;                           \
  }
#define NEW2(symbol, slot)                      \
  void* symbol(size_t size, uintptr_t second) { \
    CALL(#symbol, void*, size_t, uintptr_t)     \
    void* block = real(size, second);           \
    if (!outer && block) count(slot, size);     \
    return block;                               \
  }
#define NEW3(symbol, slot)                                       \
  void* symbol(size_t size, uintptr_t second, uintptr_t third) { \
    CALL(#symbol, void*, size_t, uintptr_t, uintptr_t)           \
    void* block = real(size, second, third);                     \
    if (!outer && block) count(slot, size);                      \
    return block;                                                \
  }
#define DELETE(symbol)                                          \
  void symbol(void* block, uintptr_t second, uintptr_t third) { \
    CALL(#symbol, void, void*, uintptr_t, uintptr_t)            \
    if (!outer && block) count(k_free, 0);                      \
    real(block, second, third);                                 \
  }
NEW1(_Znwm, k_operator_new)
NEW2(_ZnwmRKSt9nothrow_t, k_operator_new)
NEW2(_ZnwmSt11align_val_t, k_operator_new)
NEW3(_ZnwmSt11align_val_tRKSt9nothrow_t, k_operator_new)
NEW1(_Znam, k_operator_new_array)
NEW2(_ZnamRKSt9nothrow_t, k_operator_new_array)
NEW2(_ZnamSt11align_val_t, k_operator_new_array)
NEW3(_ZnamSt11align_val_tRKSt9nothrow_t, k_operator_new_array)
DELETE(_ZdlPv)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdlPvm)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPv)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdaPvm)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvmSt11align_val_t)
