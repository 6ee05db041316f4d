// Ends that no function of the C library's is called for: what is lost is lost, and what a stack holds is held.
// (The agent sees none of these.)
// OPTIONS --via ptrace
// LINK -pthread
// NEEDS x86_64
// RUN alone
// EXPECT exit 3
// RUN threads
// EXPECT exit 3
// RUN last_thread
// EXPECT exit 4
#define _GNU_SOURCE
#include "leak.h"

#include <pthread.h>
#include <sys/syscall.h>
static char** words;
static void* volatile box;
static pthread_t main_thread;
NOINLINE static void lose(void) {
  keep(malloc(32));  // LEAK definite 1 32
}
static void fill_box(void) {
  box = malloc(33);  // LEAK reachable 1 33
}
static void* take(void) {
  void* mine = box;
  box = NULL;
  return mine;
}
static void end(long call, long status) {
  __asm__ volatile("syscall" : "+a"(call) : "D"(status) : "rcx", "r11", "memory");
}
static void* waits(void* unused) {
  set_ready();
  wait_for_ever();
  return unused;
}
static void* last(void* unused) {
  pthread_join(main_thread, NULL);
  far_below(fill_box);
  far_below(lose);
  void* volatile local = take();
  forget_registers();
  end(SYS_exit, 4);
  keep(local);
  return unused;
}
int main(int count, char** arguments) {
  pthread_t id;
  words = arguments;
  main_thread = pthread_self();
  if (said(arguments, "last_thread")) {
    REQUIRE(pthread_create(&id, NULL, last, NULL) == 0);
    end(SYS_exit, 4);
  }
  if (said(arguments, "threads")) {
    REQUIRE(pthread_create(&id, NULL, waits, NULL) == 0);
    await_ready(1);
  }
  far_below(fill_box);
  far_below(lose);
  void* volatile local = take();
  forget_registers();
  end(SYS_exit_group, 3);
  keep(local);
  return 0;
}
