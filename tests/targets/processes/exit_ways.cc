// Exit in unusual ways: from a signal's handler within malloc, beside another thread that ends the process, twice, in a child,
// with more handlers than libc has room for. As a C++ program it may be scanned where exit begins.
// LINK -pthread
// EXPECT exit 3
// RUN handler
// RUN beside
// RUN quick
// RUN nested
// RUN last
// RUN child
// RUN direct
// RUN many
// RUN early
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <string>

static std::string name = "of the C++ library, which is loaded for it";
static void* kept[64];
static void* volatile churned;
static volatile int begins;

static void exit_here(int number) {
  (void)number;
  exit(3);
}
static void exit_in_handler(void) {
  signal(SIGALRM, exit_here);
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  setitimer(ITIMER_REAL, &soon, NULL);
  for (;;) {
    churned = malloc(100);
    free(churned);
  }
}

static void* end_process(void* unused) {
  (void)unused;
  while (!__atomic_load_n(&begins, __ATOMIC_SEQ_CST)) {
  }
  _exit(3);
}
static void* call_exit(void* unused) {
  (void)unused;
  exit(3);
}
static void start(void* (*function)(void*)) {
  pthread_t id;
  REQUIRE(pthread_create(&id, NULL, function, NULL) == 0);
}

static void exit_again(void) { exit(3); }
static void exit_directly(void) { _exit(3); }
static void nothing(void) {}

// Before main begins.
__attribute__((constructor)) static void register_early(int argc, char** argv) {
  if (argc < 2 || strcmp(argv[1], "early") != 0) return;
  for (int i = 0; i < 40; i++) REQUIRE(atexit(nothing) == 0);
}

static void exit_with_many_handlers(void) {
  for (int i = 0; i < 80; i++) REQUIRE(atexit(nothing) == 0);
  exit(3);
}

static void exit_in_child(void) {
  const pid_t child = fork();
  if (child == 0) exit(3);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  exit(WEXITSTATUS(status));
}

int main(int argc, char** argv) {
  const char* const way = argc > 1 ? argv[1] : "";
  for (int i = 0; i < 64; i++) kept[i] = malloc(200);
  if (strcmp(way, "handler") == 0) exit_in_handler();
  if (strcmp(way, "beside") == 0) {
    start(end_process);
    __atomic_store_n(&begins, 1, __ATOMIC_SEQ_CST);
    exit(3);
  }
  if (strcmp(way, "quick") == 0) quick_exit(3);
  if (strcmp(way, "nested") == 0) REQUIRE(atexit(exit_again) == 0);
  if (strcmp(way, "last") == 0) {
    start(call_exit);
    pthread_exit(NULL);
  }
  if (strcmp(way, "child") == 0) exit_in_child();
  if (strcmp(way, "direct") == 0) REQUIRE(atexit(exit_directly) == 0);
  if (strcmp(way, "many") == 0) exit_with_many_handlers();
  return name.empty() ? 1 : 3;
}
