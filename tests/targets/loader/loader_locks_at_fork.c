// Threads are in the loader, which holds its locks, while main forks. The child, where nobody releases them, ends by each way, and
// calls what is usual between fork and exec: it does as without heaptap.
// LINK -pthread -ldl
// RUN listing
// RUN opening
// RUN-LONG listing 500
// RUN-LONG opening 500
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

static volatile int stop;
static int slow_visit(struct dl_phdr_info* info, size_t bytes, void* unused) {
  (void)info, (void)bytes, (void)unused;
  for (volatile int i = 0; i < 2000; i++) {
  }
  return 0;
}
static void* list(void* unused) {
  while (!stop) dl_iterate_phdr(slow_visit, NULL);
  return unused;
}
static void* open_and_close(void* unused) {
  while (!stop) {
    void* library = dlopen("libm.so.6", RTLD_NOW);
    void* other = dlopen("libBrokenLocale.so.1", RTLD_NOW);
    if (other) dlclose(other);
    if (library) dlclose(library);
  }
  return unused;
}
static void nothing(void) {}
static void end(int way) {
  static ucontext_t context, back;
  static char stack[16384];
  struct rlimit limit;
  stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = SIG_DFL};
  alarm(20);  // one that hangs is seen
  switch (way) {
    case 0:
      _exit(10);
    case 1:
      exit(11);
    case 2:
      quick_exit(12);
    case 3:
      syscall(SYS_exit_group, 13);
    case 4:
      _exit(sigaction(SIGTERM, &action, NULL) == 0 ? 14 : 99);
    case 5:
      _exit(signal(SIGINT, SIG_IGN) == SIG_DFL ? 15 : 99);
    case 6:
      _exit(sigaltstack(&alternate, NULL) == 0 ? 16 : 99);
    case 7:
      _exit(prctl(PR_SET_NAME, "child", 0, 0, 0) == 0 ? 17 : 99);
    case 8:
      _exit(getrlimit(RLIMIT_AS, &limit) == 0 && setrlimit(RLIMIT_AS, &limit) == 0 ? 18 : 99);
    case 9:
      _exit(prlimit(0, RLIMIT_CPU, NULL, &limit) == 0 ? 19 : 99);
    case 10:
      _exit(syscall(SYS_getppid) == getppid() ? 20 : 99);
    case 11:
      getcontext(&context);
      context.uc_stack.ss_sp = stack;
      context.uc_stack.ss_size = sizeof stack;
      context.uc_link = &back;
      makecontext(&context, nothing, 0);
      if (swapcontext(&back, &context) == 0) _exit(21);
      _exit(99);
    case 12:
      _Exit(22);
  }
}
#define WAYS 13

int main(int count, char** arguments) {
  REQUIRE(count > 1);
  int rounds = count > 2 ? atoi(arguments[2]) : 40;
  void* (*work)(void*) = strcmp(arguments[1], "listing") ? open_and_close : list;
  pthread_t threads[3];
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < rounds; i++) {
    int child = fork(), status = 0, way = i % WAYS;
    if (work == open_and_close && (way == 1 || way == 2)) way = 0;  // dlclose holds a lock that these two wait for
    if (child == 0) end(way);
    REQUIRE(waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 10 + way) {
      say("way %d: status %x\n", way, status);
      return 1;
    }
  }
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  return 0;
}
