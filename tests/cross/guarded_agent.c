// A program that has the agent's code guarded (PROT_BTI), as C libraries built with branch protection have it: an indirect branch to an
// instruction that isn't for it ends the program by SIGILL. Then it calls what the agent has hooks for. Status 2: the agent isn't there;
// 3: the CPU or the kernel can't guard.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif
#define BTI_OF_HWCAP2 (1ul << 17)

static int guard_agent(void) {
  char line[1024];
  int guarded = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    char access[5];
    if (sscanf(line, "%lx-%lx %4s", &begin, &end, access) != 3 || !strchr(access, 'x') ||
        !strstr(line, "heaptap_agent"))
      continue;
    if (mprotect((void*)begin, end - begin, PROT_READ | PROT_EXEC | PROT_BTI) != 0) return -1;
    guarded++;
  }
  fclose(maps);
  return guarded;
}

static jmp_buf back;
static void on_signal(int number) {
  free(malloc((size_t)number));
  siglongjmp(back, 1);
}

static void* thread(void* block) {
  free(block);
  return malloc(100);
}

static void at_exit(void) { free(malloc(50)); }

int main(void) {
  if (!(getauxval(AT_HWCAP2) & BTI_OF_HWCAP2)) return 3;
  const int guarded = guard_agent();
  if (guarded <= 0) return guarded < 0 ? 3 : 2;
  char* block = realloc(calloc(3, 7), 300);
  void* aligned = NULL;
  if (!block || posix_memalign(&aligned, 64, 100) != 0) return 1;
  free(aligned);
  free(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? malloc(1) : NULL);
  pthread_t other;
  void* result;
  if (pthread_create(&other, NULL, thread, block) != 0 || pthread_join(other, &result) != 0) return 1;
  free(result);
  signal(SIGUSR1, on_signal);
  if (sigsetjmp(back, 1) == 0) raise(SIGUSR1);
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", (char*)NULL);  // of this machine, or missing: either way the hook returns or doesn't
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || WIFSIGNALED(status)) return 1;
  atexit(at_exit);
  puts("guarded");
  exit(0);
}
