// Processes and threads whose maker is killed before it can say that it made them end as all others do, and go on ignoring
// SIGTRAP: the program waits until nothing of what it started is left.
// LINK -pthread
// OPTIONS --follow-fork
// EXPECT exit 0
#define _GNU_SOURCE
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
enum { ROUNDS = 200 };
static void* short_thread(void* block) {
  free(block);
  return NULL;
}
static void* makes_threads(void* unused) {
  while (1) {
    pthread_t id;
    if (pthread_create(&id, NULL, short_thread, malloc(10)) == 0) pthread_detach(id);
  }
  return unused;
}
static void makes_processes(void) {
  while (1) {
    int status;
    pid_t child = fork();
    if (child == 0) {
      free(keep(malloc(10)));
      raise(SIGTRAP);
      _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
  }
}
static void wait_about(long microseconds) {
  struct timespec now, pause = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  pause.tv_nsec = now.tv_nsec % microseconds * 1000;
  nanosleep(&pause, NULL);
}
static void worker(int round) {
  pthread_t id;
  if (round % 2 == 0) makes_processes();
  REQUIRE(pthread_create(&id, NULL, makes_threads, NULL) == 0);
  wait_about(20000);
  _exit(0);
}
int main(void) {
  int status, others = 0;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signal(SIGTRAP, SIG_IGN);
  for (int round = 0; round < ROUNDS; round++) {
    pid_t child = fork();
    if (child == 0) worker(round);
    wait_about(30000);
    kill(child, SIGKILL);
    REQUIRE(waitpid(child, NULL, 0) == child);
  }
  while (wait(&status) > 0) others += status != 0;
  say("nothing is left\n");
  REQUIRE(others == 0);
  return 0;
}
