// A block that only the environment holds which the kernel laid above the main thread's stack; that thread has ended.
// LINK -pthread
// RUN held
// RUN dropped
#define _GNU_SOURCE
#include "leak.h"

#include <pthread.h>
#include <sys/syscall.h>
extern char** environ;
static char** words;
static char* entry(void) {
  char* made = malloc(32);  // LEAK held: reachable 1 32; dropped: definite 1 32
  strcpy(made, "HEAPTAP_TEST=1");
  return made;
}
NOINLINE static void change_environment(void) {
  REQUIRE(environ[0] && environ[1]);
  environ[0] = entry();
  if (said(words, "dropped")) environ[0] = environ[1];
}
static void* thread(void* main_thread) {
  pthread_join(*(pthread_t*)main_thread, NULL);
  far_below(change_environment);
  forget_registers();
  exit(0);
}
int main(int count, char** arguments) {
  static pthread_t main_thread;
  pthread_t id;
  words = arguments;
  main_thread = pthread_self();
  REQUIRE(pthread_create(&id, NULL, thread, &main_thread) == 0);
  syscall(SYS_exit, 0);
}
