// A program that has its system calls dispatched to a handler of its own (as Wine does), but for those of its C library: it counts
// what comes to the handler: its one call from elsewhere, and nothing else.
// NEEDS x86_64
// EXPECT stack function=malloc through=far_below allocations=20 frees=20
// RUN always
// RUN selector
#define _GNU_SOURCE
#include "target.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
static volatile int handled;
static volatile char selector;
static uintptr_t libc_start, libc_end;

static void on_call(int number, siginfo_t* info, void* context) {
  (void)number, (void)info, (void)context;
  handled++;
}
static int find_libc(struct dl_phdr_info* object, size_t bytes, void* unused) {
  (void)bytes, (void)unused;
  if (strstr(object->dlpi_name, "libc.so") == NULL) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const uintptr_t start = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    if (object->dlpi_phdr[i].p_type != PT_LOAD || (object->dlpi_phdr[i].p_flags & PF_X) == 0) continue;
    libc_start = start;
    libc_end = start + object->dlpi_phdr[i].p_memsz;
  }
  return 1;
}
NOINLINE void own_call(void) {
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
}
NOINLINE void far_below(int depth) {
  volatile char large[100000];
  large[0] = large[sizeof large - 1] = (char)depth;
  free(keep(malloc(40)));
  if (depth > 1) far_below(depth - 1);
  large[1] = large[0];
}
static void* run(void* argument) {
  const int always = argument != NULL;
  selector = always ? 0 : 1;
  REQUIRE(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, libc_start, libc_end - libc_start, always ? NULL : (void*)&selector) ==
          0);
  far_below(20);
  own_call();
  REQUIRE(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0) == 0);
  own_call();
  return NULL;
}
int main(int count, char** arguments) {
  dl_iterate_phdr(find_libc, NULL);
  REQUIRE(libc_start != 0);
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
  REQUIRE(sigaction(SIGSYS, &action, NULL) == 0);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, run, count > 1 && strcmp(arguments[1], "always") == 0 ? (void*)1 : NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  say("calls that came to the handler: %d\n", handled);
  return 0;
}
