// A thread uses the operators in two libraries in turns while others list the loader's objects and main forks; the children use
// them, too, one of the libraries for the first time. None of them waits for a lock of the loader.
// LINK -pthread -rdynamic -ldl
// USES late_plain late_other late_needing
// ENV LD_LIBRARY_PATH=@TARGETS@
// RUN 30
// RUN-LONG 1000
// EXPECT errors.length == 0
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/wait.h>

const char* late_definer;
static volatile int stop;
static void (*churns[3])(int);
static void* use_in_turns(void* unused) {
  while (!stop) {
    churns[0](1);
    churns[1](1);
  }
  return unused;
}
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
int main(int count, char** arguments) {
  static const char* const names[] = {"plain", "other", "needing"};
  REQUIRE(count > 1);
  for (int i = 0; i < 3; i++) {
    char text[100];
    snprintf(text, sizeof text, "liblate_%s.so", names[i]);
    void* library = dlopen(text, RTLD_LAZY);
    REQUIRE(library != NULL);
    snprintf(text, sizeof text, "late_%s_churns", names[i]);
    churns[i] = dlsym(library, text);
    REQUIRE(churns[i] != NULL);
  }
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, use_in_turns, NULL);
  for (int i = 1; i < 3; i++) pthread_create(&threads[i], NULL, list, NULL);
  for (int i = 0; i < atoi(arguments[1]); i++) {
    int child = fork(), status = 0;
    if (child == 0) {
      alarm(20);  // one that hangs is seen
      for (int library = 0; library < 3; library++) churns[library](10);
      _exit(3);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    if (status != 3 << 8) {
      say("child %d: status %x\n", i, status);
      return 1;
    }
  }
  stop = 1;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  return 0;
}
