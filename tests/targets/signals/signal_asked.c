// Does what each line that it reads asks for, and says what came of it: blocks, and signals with all that a program can set for
// them. For tests of reports on a signal.
// TRACE none
#define _GNU_SOURCE
#define _XOPEN_SOURCE 700
#include "target.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

extern void (*sysv_signal(int, void (*)(int)))(int);

static void* blocks[100000];
static int count;
static volatile sig_atomic_t handled, told_code, told_value, was_on_stack, was_blocked_other;
static sigjmp_buf back;
static char alternate[65536];

static NOINLINE void* make_small(size_t size) { return keep(malloc(size)); }
static NOINLINE void* make_large(size_t size) { return keep(malloc(size)); }

static void take_plain(int number) { handled += number != 0; }
static void take_info(int number, siginfo_t* info, void* context) {
  sigset_t now;
  ucontext_t* frame = context;
  char here;
  handled += number == info->si_signo && frame->uc_flags + 1 != 0;
  told_code = info->si_code;
  told_value = info->si_value.sival_int;
  was_on_stack = &here > alternate && &here < alternate + sizeof alternate;
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  was_blocked_other = sigismember(&now, SIGHUP);
}
static void jump(int number) {
  handled += number != 0;
  siglongjmp(back, 1);
}

static const char* name_of(void* handler) {
  if (handler == (void*)SIG_DFL) return "default";
  if (handler == (void*)SIG_IGN) return "ignored";
  if (handler == (void*)take_plain) return "plain";
  if (handler == (void*)take_info) return "info";
  if (handler == (void*)jump) return "jump";
  return "foreign";
}

static void show(int number) {
  struct sigaction now;
  REQUIRE(sigaction(number, NULL, &now) == 0);
  say("%s %x %d\n", name_of((void*)now.sa_handler), now.sa_flags & ~0x04000000, sigismember(&now.sa_mask, SIGHUP));
}

static void set(const char* how, int number) {
  struct sigaction action = {.sa_handler = take_plain};
  if (!strcmp(how, "signal")) {
    say("was %s\n", name_of((void*)signal(number, take_plain)));
    return;
  }
  if (!strcmp(how, "sysv")) {
    say("was %s\n", name_of((void*)sysv_signal(number, take_plain)));
    return;
  }
  if (!strcmp(how, "bydefault")) {
    say("was %s\n", name_of((void*)signal(number, SIG_DFL)));
    return;
  }
  if (!strcmp(how, "byignore")) {
    say("was %s\n", name_of((void*)signal(number, SIG_IGN)));
    return;
  }
  if (!strcmp(how, "default")) action.sa_handler = SIG_DFL;
  if (!strcmp(how, "ignore")) action.sa_handler = SIG_IGN;
  if (!strcmp(how, "once")) action.sa_flags = SA_RESETHAND;
  if (!strcmp(how, "jump")) action.sa_handler = jump;
  if (!strcmp(how, "info")) {
    action.sa_sigaction = take_info;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaddset(&action.sa_mask, SIGHUP);
  }
  struct sigaction old;
  REQUIRE(sigaction(number, &action, &old) == 0);
  say("was %s\n", name_of((void*)old.sa_handler));
}

static void send(int number, int value) {
  told_code = told_value = was_on_stack = was_blocked_other = 0;
  if (sigsetjmp(back, 1) == 0) {
    if (value) {
      REQUIRE(sigqueue(getpid(), number, (union sigval){.sival_int = value}) == 0);
    } else {
      REQUIRE(kill(getpid(), number) == 0);
    }
  }
  say("handled %d code %d value %d stack %d blocked %d\n", handled, told_code, told_value, was_on_stack,
      was_blocked_other);
}

static void wait_for(int number) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  REQUIRE(sigprocmask(SIG_BLOCK, &one, NULL) == 0);
  kill(getpid(), number);
  int got = 0;
  REQUIRE(sigwait(&one, &got) == 0 && got == number);
  kill(getpid(), number);
  struct signalfd_siginfo info;
  int descriptor = signalfd(-1, &one, 0);
  REQUIRE(read(descriptor, &info, sizeof info) == sizeof info && info.ssi_signo == (unsigned)number);
  close(descriptor);
  REQUIRE(sigprocmask(SIG_UNBLOCK, &one, NULL) == 0);
  say("handled %d\n", handled);
}

// What becomes of a child that gets it.
static void in_child(int number) {
  pid_t child = fork();
  if (child == 0) {
    int before = handled;
    kill(getpid(), number);
    _exit(handled == before ? 40 : 41);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  say("child %d %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

// A child with its parent's memory sets what it likes before it executes something.
static void in_borrower(int number) {
  pid_t child = vfork();
  if (child == 0) {
    signal(number, SIG_DFL);
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  say("child %d\n", status);
}

static void storm(int number, int times) {
  for (int i = 0; i < times; ++i) kill(getpid(), number);
  say("sent\n");
}

static void block(int number, int how) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  REQUIRE(sigprocmask(how, &one, NULL) == 0);
  say("handled %d\n", handled);
}

static void obey(const char* word, char* rest, char** arguments) {
  char how[32] = "";
  int number = 0, value = 0;
  if (!strcmp(word, "set")) {
    sscanf(rest, "%31s %d", how, &number);
    return set(how, number);
  }
  sscanf(rest, "%d %d", &number, &value);
  if (!strcmp(word, "small") || !strcmp(word, "large")) {
    for (int i = 0; i < number; ++i) blocks[count++] = *word == 's' ? make_small(value) : make_large(value);
    return say("%d\n", count);
  }
  if (!strcmp(word, "drop")) {
    for (int i = 0; i < number; ++i) free(blocks[--count]);
    return say("%d\n", count);
  }
  if (!strcmp(word, "send")) return send(number, value);
  if (!strcmp(word, "show")) return show(number);
  if (!strcmp(word, "block")) return block(number, SIG_BLOCK);
  if (!strcmp(word, "unblock")) return block(number, SIG_UNBLOCK);
  if (!strcmp(word, "wait")) return wait_for(number);
  if (!strcmp(word, "fork")) return in_child(number);
  if (!strcmp(word, "vfork")) return in_borrower(number);
  if (!strcmp(word, "storm")) return storm(number, value);
  if (!strcmp(word, "stack")) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    REQUIRE(sigaltstack(&stack, NULL) == 0);
    return say("set\n");
  }
  if (!strcmp(word, "exec")) execl("/proc/self/exe", arguments[0], (char*)NULL);
  if (!strcmp(word, "status")) {  // what the kernel has
    char line[256];
    unsigned long ignored = 0;
    FILE* file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file)) sscanf(line, "SigIgn: %lx", &ignored);
    fclose(file);
    return say("ignored %d\n", (int)(ignored >> (number - 1) & 1));
  }
  if (!strcmp(word, "exit")) exit(number);
  say("?\n");
}

int main(int argument_count, char** arguments) {
  if (argument_count > 1) signal(atoi(arguments[1]), take_plain);  // before anything is allocated
  char line[128];
  setvbuf(stdin, NULL, _IONBF, 0);
  say("ready\n");
  while (fgets(line, sizeof line, stdin)) {
    char word[32] = "";
    int length = 0;
    sscanf(line, "%31s %n", word, &length);
    obey(word, line + length, arguments);
  }
  return 0;
}
