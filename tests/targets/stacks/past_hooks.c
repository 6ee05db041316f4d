// A library whose calls are bound past the hooks, in several ways: nothing that program and library do together is wrong
// (unknown_test.py).
// LINK -ldl -Wl,--enable-new-dtags,-rpath,"'$$ORIGIN'"
// USES past_hooks past_hooks_inner
// RUN deepbind
// RUN namespace
// RUN inner
// RUN inner-library
// TRACE any
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/wait.h>
#define BLOCKS 10
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
static void* (*allocate)(size_t);
static void (*release)(void*);
static void (*hold)(void*);
static void hold_here(void* block) {
  static void* volatile held;
  void** node = __libc_malloc(sizeof(void*));
  *node = block;
  held = node;
}
// By name alone: found only where the loader searches on behalf of the program, whose RUNPATH counts for nobody else.
static void* open_here(const char* name, int mode) {
  REQUIRE(!dlopen("libnone_such.so", mode));
  const char* message = dlerror();
  REQUIRE(message && strstr(message, "libnone_such.so"));
  void* library = dlopen(name, mode);
  REQUIRE(!dlerror());
  return library;
}
static void* open_apart(void) {
  char path[PATH_MAX + 64];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
  REQUIRE(length > 0);
  path[length] = 0;
  strcpy(strrchr(path, '/'), "/libpast_hooks.so");
  return dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
}
static void load(const char* way) {
  void* library = NULL;
  if (strcmp(way, "namespace") == 0) library = open_apart();
  if (strcmp(way, "deepbind") == 0) library = open_here("libpast_hooks.so", RTLD_NOW | RTLD_DEEPBIND);
  if (strcmp(way, "inner-library") == 0) library = open_here("libpast_hooks_inner.so", RTLD_NOW);
  REQUIRE(library);
  allocate = (void* (*)(size_t))dlsym(library, "past_allocate");
  release = (void (*)(void*))dlsym(library, "past_release");
  hold = (void (*)(void*))dlsym(library, "past_hold");
}
// Each namespace has a heap of its own: there only the library may release what it allocated.
int main(int count, char** arguments) {
  REQUIRE(count > 1);
  const int is_other_heap = strcmp(arguments[1], "namespace") == 0;
  if (strcmp(arguments[1], "inner") == 0) {
    allocate = __libc_malloc;
    release = __libc_free;
    hold = hold_here;
  } else {
    load(arguments[1]);
  }
  if (count > 2 && strcmp(arguments[2], "fork") == 0) {
    const pid_t child = fork();
    if (child != 0) return waitpid(child, NULL, 0) == child ? 0 : 1;
  }
  for (int i = 0; i < BLOCKS; ++i) {
    void* theirs = keep(allocate(40));
    if (is_other_heap) {
      release(theirs);
    } else {
      free(theirs);
    }
  }
  for (int i = 0; i < BLOCKS && !is_other_heap; ++i) release(keep(malloc(50)));
  hold(malloc(60));
  for (int i = 0; i < BLOCKS; ++i) free(keep(malloc(70)));
  if (!is_other_heap) release(keep(malloc(80)));
  return 0;
}
