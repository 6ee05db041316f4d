// A thread that fills missing pages (userfaultfd) allocates, and its stack lies directly below the memory that it fills: nobody else may
// touch that: each page is asked for once. `asked`: it waits for a line of input before each page.
// RUN 5
// RUN asked 3
// STDIN go\n
// LINK -pthread
// COMPILE -D_GNU_SOURCE
// EXPECT stack function=malloc caller=fill allocations>=3
#include "target.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#define PAGES 64
static int faults;
static volatile char* region;
static volatile int asked;
NOINLINE static void fill(uint64_t address) {
  char* page = keep(malloc(PAGE));
  memset(page, 1, PAGE);
  struct uffdio_copy copy = {.dst = address & ~(PAGE - 1), .src = (unsigned long)page, .len = PAGE};
  REQUIRE(address == 0 || ioctl(faults, UFFDIO_COPY, &copy) == 0);
  free(page);
}
static void* serve(void* unused) {
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) == sizeof message) {
    asked++;
    fill(message.arg.pagefault.address);
  }
  return unused;
}
static void wait_for_line(void) {
  char byte;
  while (read(0, &byte, 1) == 1 && byte != '\n') {
  }
}
int main(int count, char** arguments) {
  int waits = count > 2;
  int rounds = atoi(arguments[count - 1]);
  struct uffdio_api api = {.api = UFFD_API};
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (faults < 0) {  // not permitted here
    for (int i = 0; i < rounds; i++) fill(0);
    say("sum %d\n", rounds);
    return 0;
  }
  REQUIRE(ioctl(faults, UFFDIO_API, &api) == 0);
  // The stack and the region are one piece, whatever the machine's address space looks like.
  char* memory = mmap(NULL, (64 + PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  region = memory + 64 * PAGE;
  struct uffdio_register range = {.range = {(unsigned long)region, PAGES * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  REQUIRE(ioctl(faults, UFFDIO_REGISTER, &range) == 0);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstack(&attributes, memory, 64 * PAGE) == 0);
  REQUIRE(pthread_create(&thread, &attributes, serve, NULL) == 0);
  int sum = 0;
  for (int i = 0; i < rounds; i++) {
    if (waits) {
      say("ready\n");
      wait_for_line();
    }
    sum += region[(PAGES - 1 - i % PAGES) * PAGE];
  }
  REQUIRE(asked == rounds);
  say("sum %d\n", sum);
  return 0;
}
