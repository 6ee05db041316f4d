// A second witness of call stacks: a library that is preloaded behind heaptap's agent, so that it defines the functions
// that the agent calls. It counts the successful allocations of a single-threaded program in order, which are heaptap's
// block numbers, and of some of them writes the stack as libgcc's unwinder sees it. Shares no code with heaptap.
//
// STACK_ORACLE_OUT names the file; it is mapped, so that it is complete however the program ends:
//   char line[64]            "ALLOCATIONS BYTES\n", padded with blanks: how many allocations there were, how long the rest is
//   a line for each sample   NUMBER SIZE END FRAME…    frames from the innermost on, all numbers in hexadecimal
//     END                    complete: the unwinder came to a first frame; no-table: to code without unwind information; limit: there are
//                            more frames than it keeps
//     FRAME                  a return address, or an interrupted instruction's with a '!' behind it
// STACK_ORACLE_EVERY=N samples every N-th allocation on average, and each that has a new caller (default: 1, every one).
// STACK_ORACLE_MODULES=1 writes FRAME as NAME+OFFSET, for modules that take each other's place.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

// The C library's own names for what this library defines: looking them up would allocate.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void* __libc_valloc(size_t size);
void* __libc_pvalloc(size_t size);

enum { kHeadBytes = 64, kMaxFrames = 4096, kKnownCallers = 1 << 16 };
#define FILE_BYTES ((size_t)1 << 30)  // sparse
#define LONGEST_FRAME 64

struct Range {
  uintptr_t start, end;
};
static struct Range own[2];  // this library and the agent
static char** output;        // in a page that a forked child finds wiped; NULL: this process is not watched
static size_t used;
static uint64_t allocations;
static unsigned long every = 1;
static uint64_t random_state = 1, next_sample = 1;
static int with_modules;
static uintptr_t known_callers[kKnownCallers];
static size_t known_caller_count;
static int started, busy;

struct Frame {
  uintptr_t address;
  int exact;
};
static struct Frame frames[kMaxFrames];
static size_t frame_count;

static int find_own(struct dl_phdr_info* object, size_t size, void* context) {
  (void)size, (void)context;
  struct Range range = {UINTPTR_MAX, 0};
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* segment = &object->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    if (start < range.start) range.start = start;
    if (start + segment->p_memsz > range.end) range.end = start + segment->p_memsz;
  }
  if ((uintptr_t)&own >= range.start && (uintptr_t)&own < range.end) own[0] = range;
  if (strstr(object->dlpi_name, "/libheaptap_agent.so")) own[1] = range;
  return 0;
}

static int is_own(uintptr_t address) {
  return (address >= own[0].start && address < own[0].end) || (address >= own[1].start && address < own[1].end);
}

// The environment as the kernel has it: the first calls come before the C library knows it.
static const char* variable(const char* name) {
  static char text[65536];
  static size_t length;
  if (length == 0) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    if (file < 0) return NULL;
    long got;
    while (length < sizeof text - 1 && (got = syscall(SYS_read, file, text + length, sizeof text - 1 - length)) > 0)
      length += (size_t)got;
    syscall(SYS_close, file);
  }
  size_t name_length = strlen(name);
  for (char* at = text; at < text + length; at += strlen(at) + 1)
    if (!strncmp(at, name, name_length) && at[name_length] == '=') return at + name_length + 1;
  return NULL;
}

static char* map(size_t size, int flags, int file) {
  return (char*)syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
}

static void start(void) {
  started = 1;
  int saved = errno;
  const char* path = variable("STACK_ORACLE_OUT");
  // The first process that comes here owns the file; what it forks or executes is not watched.
  int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (file >= 0 && syscall(SYS_ftruncate, file, FILE_BYTES) == 0) {
    dl_iterate_phdr(find_own, NULL);
    const char* number = variable("STACK_ORACLE_EVERY");
    if (number) every = strtoul(number, NULL, 10);
    with_modules = variable("STACK_ORACLE_MODULES") != NULL;
    char* memory = map(FILE_BYTES, MAP_SHARED, file);
    char** page = (char**)map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (memory != MAP_FAILED && (char*)page != MAP_FAILED && syscall(SYS_madvise, page, 4096, MADV_WIPEONFORK) == 0) {
      used = kHeadBytes;
      *page = memory;
      output = page;
    }
  }
  if (file >= 0) syscall(SYS_close, file);
  errno = saved;
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context* context, void* unused) {
  (void)unused;
  int exact = 0;
  uintptr_t address = _Unwind_GetIPInfo(context, &exact);
  if (frame_count == kMaxFrames) return _URC_END_OF_STACK;
  frames[frame_count++] = (struct Frame){address, exact};
  return _URC_NO_REASON;
}

// How many of the innermost frames belong to the hook that was called: up to the outermost one of this library's and the
// agent's, without a signal's frame between (a handler may have interrupted another hook).
static size_t hook_frames(void) {
  size_t count = 0;
  for (size_t i = 0; i < frame_count && !frames[i].exact; i++)
    if (is_own(frames[i].address)) count = i + 1;
  return count;
}

static char* put_text(char* to, const char* text) {
  while (*text) *to++ = *text++;
  return to;
}
static char* put_hex(char* to, uint64_t value) {
  int shift = 60;
  while (shift > 0 && !(value >> shift)) shift -= 4;
  for (; shift >= 0; shift -= 4) *to++ = "0123456789abcdef"[value >> shift & 15];
  return to;
}

static char* put_frame(char* to, const struct Frame* frame) {
  struct dl_find_object found;
  const uintptr_t within = frame->address - (frame->exact ? 0 : 1);
  if (with_modules && _dl_find_object((void*)within, &found) == 0) {
    const char* name = strrchr(found.dlfo_link_map->l_name, '/');
    name = name ? name + 1 : found.dlfo_link_map->l_name;
    for (int i = 0; name[i] && i < LONGEST_FRAME - 24; i++) *to++ = name[i];
    *to++ = '+';
    to = put_hex(to, frame->address - found.dlfo_link_map->l_addr);
  } else {
    to = put_hex(to, frame->address);
  }
  if (frame->exact) *to++ = '!';
  return to;
}

static void write_sample(size_t size) {
  // libgcc ends with address 0 behind a first frame, and with an address that it has no table for.
  const int complete = frame_count > 0 && frames[frame_count - 1].address == 0;
  const size_t end = frame_count - (size_t)complete;
  const size_t begin = hook_frames();
  if (used + (end + 4) * LONGEST_FRAME > FILE_BYTES) return;
  char* to = *output + used;
  to = put_hex(to, allocations);
  *to++ = ' ';
  to = put_hex(to, size);
  to = put_text(to, complete ? " complete" : frame_count == kMaxFrames ? " limit" : " no-table");
  for (size_t i = begin; i < end; i++) {
    *to++ = ' ';
    to = put_frame(to, &frames[i]);
  }
  *to++ = '\n';
  used = (size_t)(to - *output);
}

static void write_head(void) {
  char* to = put_hex(*output, allocations);
  *to++ = ' ';
  to = put_hex(to, used - kHeadBytes);
  while (to < *output + kHeadBytes - 1) *to++ = ' ';
  *to = '\n';
}

static int is_new(uintptr_t caller) {
  size_t place = (caller * 0x9e3779b97f4a7c15u) >> 48;
  for (; known_callers[place]; place = (place + 1) % kKnownCallers)
    if (known_callers[place] == caller) return 0;
  if (known_caller_count * 2 > kKnownCallers) return 0;
  known_callers[place] = caller;
  known_caller_count++;
  return 1;
}

// Which function called the agent's hook is only known behind it: [FP] of the agent's frame leads there, since the agent is
// built with frame pointers. 0 where that isn't so.
static uintptr_t caller_behind_agent(void* const* frame) {
  for (int i = 0; i < 4; i++) {
    const uintptr_t address = (uintptr_t)frame[1];
    if (!is_own(address)) return address;
    void* const* next = (void* const*)frame[0];
    if (next <= frame || (char*)next - (char*)frame > 4096) return 0;
    frame = next;
  }
  return 0;
}

// The gaps between samples are random, so that no pattern of the program escapes them.
static void choose_next_sample(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  next_sample = allocations + 1 + (every > 1 ? (random_state >> 33) % (2 * every - 1) : 0);
}

static void* note(void* block, size_t size, void* const* frame) {
  if (!block || !output || !*output || busy) return block;
  int saved = errno;
  busy++;
  allocations++;
  const int by_number = allocations >= next_sample;
  if (by_number) choose_next_sample();
  if (is_new(caller_behind_agent(frame)) || by_number) {
    frame_count = 0;
    _Unwind_Backtrace(add_frame, NULL);
    write_sample(size);
  }
  write_head();
  busy--;
  errno = saved;
  return block;
}
#define NOTE(block, size) note(block, size, (void* const*)__builtin_frame_address(0))
#define BEGIN() \
  if (!started) start()

void* malloc(size_t size) {
  BEGIN();
  return NOTE(__libc_malloc(size), size);
}
void* calloc(size_t count, size_t size) {
  BEGIN();
  return NOTE(__libc_calloc(count, size), count * size);
}
void* realloc(void* block, size_t size) {
  BEGIN();
  return NOTE(__libc_realloc(block, size), size);
}
void* reallocarray(void* block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  BEGIN();
  return NOTE(__libc_realloc(block, bytes), bytes);
}
int posix_memalign(void** result, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) || alignment == 0 || (alignment & (alignment - 1))) return EINVAL;
  BEGIN();
  int saved = errno;
  void* block = NOTE(__libc_memalign(alignment, size), size);
  errno = saved;
  if (!block) return ENOMEM;
  *result = block;
  return 0;
}
void* aligned_alloc(size_t alignment, size_t size) {
  BEGIN();
  return NOTE(__libc_memalign(alignment, size), size);
}
void* memalign(size_t alignment, size_t size) {
  BEGIN();
  return NOTE(__libc_memalign(alignment, size), size);
}
void* valloc(size_t size) {
  BEGIN();
  return NOTE(__libc_valloc(size), size);
}
void* pvalloc(size_t size) {
  BEGIN();
  return NOTE(__libc_pvalloc(size), size);
}
