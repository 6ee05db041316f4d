// Crashes in the way named by the first argument.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdexcept>
#include <string>

static volatile int* volatile g_nowhere;
static const char* volatile g_no_text;
static void (*volatile g_no_function)();
static volatile int g_sink;

[[gnu::noinline]] static void parse() {
  *g_nowhere = 1;
  g_sink = 1;
}

[[gnu::noinline]] static void load() {
  parse();
  g_sink = 2;
}

[[gnu::noinline]] static void fail() { abort(); }

[[gnu::noinline]] static void measure() {
  g_sink = static_cast<int>(strlen(g_no_text));
  g_sink = 3;
}

[[gnu::noinline]] static void call() {
  g_no_function();
  g_sink = 4;
}

[[gnu::noinline]] static void refuse() { throw std::runtime_error("refused"); }

// NOLINTNEXTLINE(misc-no-recursion): that is what it is for.
[[gnu::noinline]] static int dig(int depth) {
  volatile char room[1024] = {};
  room[0] = static_cast<char>(depth);
  return dig(depth + 1) + room[0];
}

extern "C" void on_fault(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

extern "C" void give_up(int /*number*/) { abort(); }

static void* work(void* /*nothing*/) {
  free(malloc(10));  // so that the thread is known
  load();
  return nullptr;
}

static void handle_faults(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGSEGV, &action, nullptr);
}

static void use_other_stack() {
  static char stack[65536];
  stack_t other = {};
  other.ss_sp = stack;
  other.ss_size = sizeof(stack);
  sigaltstack(&other, nullptr);
}

int main(int count, char** arguments) {
  const std::string way = count > 1 ? arguments[1] : "";
  void* volatile kept = malloc(100);
  if (count > 2) {  // it says that it is ready, and waits to be told to go on
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF) return 1;
    free(malloc(10));
  }
  if (way == "fault") load();
  if (way == "abort") fail();
  if (way == "library") measure();
  if (way == "call") call();
  if (way == "throw") refuse();
  if (way == "overflow") g_sink = dig(0);
  if (way == "handler" || way == "other_stack") {
    if (way == "other_stack") use_other_stack();
    way == "other_stack" ? handle_faults(give_up, SA_ONSTACK) : handle_faults(on_fault, 0);
    load();
  }
  if (way == "killed") raise(SIGTERM);
  if (way == "thread") {
    pthread_t thread;
    pthread_create(&thread, nullptr, work, nullptr);
    pthread_join(thread, nullptr);
  }
  free(kept);
  return 0;
}
