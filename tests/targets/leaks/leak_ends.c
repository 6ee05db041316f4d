// However a program ends, what is lost is lost, and what is held is held. (Nothing can be said where the kernel kills it.)
// LINK -pthread
// RUN return
// EXPECT exit 3
// RUN exit
// EXPECT exit 4
// RUN _exit
// EXPECT exit 5
// RUN exit_group
// EXPECT exit 6
// RUN exit_group_in_thread
// EXPECT exit 12
// RUN quick_exit
// EXPECT exit 7
// RUN abort
// EXPECT signal SIGABRT
// RUN term
// EXPECT signal SIGTERM
// RUN int
// EXPECT signal SIGINT
// RUN segv
// EXPECT signal SIGSEGV
// RUN segv_thread
// EXPECT signal SIGSEGV
// RUN handler_exits
// EXPECT exit 8
// RUN exit_in_thread
// EXPECT exit 9
// RUN _exit_in_thread
// EXPECT exit 10
// RUN pthread_exit
// EXPECT exit 0
// RUN pthread_exit_alone
// EXPECT exit 0
// RUN main_gone_exit
// EXPECT exit 11
#define _GNU_SOURCE
#include "leak.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
static void* volatile root;
static char** words;
NOINLINE static void lose(void) {
  keep(malloc(32));  // LEAK definite 1 32
}
NOINLINE static void hold(void) {
  root = malloc(33);  // LEAK reachable 1 33
}
static pthread_t main_thread;
static void* thread(void* unused) {
  if (said(words, "exit_in_thread")) exit(9);
  if (said(words, "_exit_in_thread")) _exit(10);
  if (said(words, "exit_group_in_thread")) syscall(SYS_exit_group, 12);
  if (said(words, "segv_thread")) *(volatile int*)8 = 1;
  if (said(words, "main_gone_exit")) {
    pthread_join(main_thread, NULL);
    exit(11);
  }
  pthread_join(main_thread, NULL);  // pthread_exit: this thread is the last
  return unused;
}
static void handler(int number) { exit(8); }
int main(int count, char** arguments) {
  words = arguments;
  main_thread = pthread_self();
  lose();
  hold();
  forget_registers();
  if (said(arguments, "return")) return 3;
  if (said(arguments, "exit")) exit(4);
  if (said(arguments, "_exit")) _exit(5);
  if (said(arguments, "exit_group")) syscall(SYS_exit_group, 6);
  if (said(arguments, "quick_exit")) quick_exit(7);
  if (said(arguments, "abort")) abort();
  if (said(arguments, "term")) raise(SIGTERM);
  if (said(arguments, "int")) kill(getpid(), SIGINT);
  if (said(arguments, "segv")) *(volatile int*)8 = 1;
  if (said(arguments, "handler_exits")) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
  }
  if (said(arguments, "pthread_exit_alone")) pthread_exit(NULL);
  pthread_t id;
  REQUIRE(pthread_create(&id, NULL, thread, NULL) == 0);
  if (said(arguments, "pthread_exit") || said(arguments, "main_gone_exit")) pthread_exit(NULL);
  wait_for_ever();
}
