// What a program learns of its signals' dispositions by the system call itself is what it set: by libc's syscall(); and by
// instructions of its own, where it carries Go's note, as a program or in a library.
// NEEDS x86_64
// LINK -ldl
// USES go_note
// ENV LD_LIBRARY_PATH=@TARGETS@
// RUN
// RUN library
#define _GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>

struct action {
  void* handler;
  unsigned long flags;
  void* restorer;
  unsigned long mask;
};
static void handler(int number) { (void)number; }
static const char* name_of(void* disposition) {
  return !disposition                    ? "default"
         : disposition == (void*)SIG_IGN ? "ignored"
         : disposition == (void*)handler ? "ours"
                                         : "foreign";
}
static long by_instruction(long number, const struct action* wanted, struct action* old) {
  long result;
  register long size __asm__("r10") = 8;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_rt_sigaction), "D"(number), "S"(wanted), "d"(old), "r"(size)
                   : "rcx", "r11", "memory");
  return result;
}
int main(int count, char** arguments) {
  (void)arguments;
  free(keep(malloc(100)));
  int in_library = count > 1;
  if (in_library) REQUIRE(dlopen("libgo_note.so", RTLD_NOW) != NULL);
  for (long number = 1; number <= 64; number++) {
    struct action old = {0}, mine = {.handler = (void*)handler}, none = {0};
    long status = in_library ? by_instruction(number, NULL, &old) : syscall(SYS_rt_sigaction, number, NULL, &old, 8);
    // Whether the C library's own signals are ignored depends on the function that its parent started the program by: posix_spawn of
    // a process with threads ignores SIGSETXID in its children.
    int is_librarys = number == 32 || number == 33;
    if (is_librarys && old.handler == SIG_IGN) old.handler = NULL;
    say("%ld: %ld %s flags %lx mask %lx\n", number, status, name_of(old.handler), old.flags, old.mask);
    if (in_library || number == SIGKILL || number == SIGSTOP || is_librarys) continue;
    none.flags = SA_NODEFER;
    none.mask = 2;
    REQUIRE(syscall(SYS_rt_sigaction, number, &none, NULL, 8) == 0);
    REQUIRE(syscall(SYS_rt_sigaction, number, &mine, &old, 8) == 0);
    say("was %s flags %lx mask %lx\n", name_of(old.handler), old.flags, old.mask);
    REQUIRE(syscall(SYS_rt_sigaction, number, &none, &old, 8) == 0);
    say("was %s\n", name_of(old.handler));
    void* before = (void*)bsd_signal((int)number, SIG_DFL);
    say("bsd_signal: %s\n", name_of(before));
    say("siginterrupt: %d\n", siginterrupt((int)number, 0));
    struct sigaction now;
    REQUIRE(sigaction((int)number, NULL, &now) == 0);
    say("flags %x\n", now.sa_flags);
    REQUIRE(siginterrupt((int)number, 1) == 0 && sigaction((int)number, NULL, &now) == 0);
    say("flags %x\n", now.sa_flags);
  }
  errno = 0;
  say("%ld %d\n", syscall(SYS_rt_sigaction, 99, NULL, NULL, 8), errno);
  return 0;
}
