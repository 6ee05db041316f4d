// A stack in memory that a thread fills as it is touched (userfaultfd), and that thread allocates: what lies below and above the frames
// may not be there.
// LINK -pthread
// COMPILE -D_GNU_SOURCE
// EXPECT stack function=malloc caller=call_at allocations=256
#include "target.h"

#include <alloca.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#define PAGES 64
static int faults;
static char* region;
static ucontext_t before, inside;
static void* serve(void* unused) {
  struct uffd_msg message;
  while (read(faults, &message, sizeof message) == sizeof message) {
    char* page = keep(malloc(PAGE));
    memset(page, 0, PAGE);
    struct uffdio_copy copy = {
        .dst = message.arg.pagefault.address & ~(PAGE - 1), .src = (unsigned long)page, .len = PAGE};
    REQUIRE(ioctl(faults, UFFDIO_COPY, &copy) == 0 || errno == EEXIST);
    free(page);
  }
  return unused;
}
NOINLINE static void call_at(size_t offset) {
  char* here = keep(alloca(offset + 16));
  size_t below = ((uintptr_t)(here - 16) & ~(PAGE - 1)) - (uintptr_t)region;
  REQUIRE(madvise(region, below, MADV_DONTNEED) == 0);
  free(keep(malloc(24)));
}
static void on_own_stack(void) {
  for (size_t offset = 0; offset < PAGE; offset += 16) call_at(offset);
}
int main(void) {
  struct uffdio_api api = {.api = UFFD_API};
  pthread_t thread;
  region = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(region != MAP_FAILED);
  faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  if (faults >= 0) {  // else it isn't permitted here
    REQUIRE(ioctl(faults, UFFDIO_API, &api) == 0);
    struct uffdio_register range = {.range = {(unsigned long)region, PAGES * PAGE},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    REQUIRE(ioctl(faults, UFFDIO_REGISTER, &range) == 0);
    REQUIRE(pthread_create(&thread, NULL, serve, NULL) == 0);
  }
  getcontext(&inside);
  inside.uc_stack.ss_sp = region;
  inside.uc_stack.ss_size = PAGES * PAGE;
  inside.uc_link = &before;
  makecontext(&inside, on_own_stack, 0);
  swapcontext(&before, &inside);
  say("done\n");
  return 0;
}
