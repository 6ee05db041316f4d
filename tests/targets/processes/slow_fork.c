// A fork that takes as long as the test wants it to: userfaultfd holds it up until its event is read. Says when its thread
// is held up in it, goes on with the first line of its input, and tells how the child ended.
// STDIN x\n
// EXPECT exit 0
#define _GNU_SOURCE
#include "target.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
NOINLINE void pairs(void) {
  for (int i = 0; i < 100; i++) free(keep(malloc(10)));
}
static void* forks(void* unused) {
  pid_t child = fork();
  if (child == 0) {
    pairs();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  say("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  return unused;
}
int main(void) {
  int events = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK};
  void* page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct uffdio_register watched = {.range = {(unsigned long)page, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (events < 0 || ioctl(events, UFFDIO_API, &api) != 0 || ioctl(events, UFFDIO_REGISTER, &watched) != 0) {
    say("no userfaultfd: errno %d\n", errno);
    return 0;
  }
  char line[100];
  say("ready\n");
  REQUIRE(read(0, line, sizeof line) > 0);
  pairs();
  pthread_t id;
  REQUIRE(pthread_create(&id, NULL, forks, NULL) == 0);
  struct pollfd wait = {events, POLLIN, 0};
  REQUIRE(poll(&wait, 1, -1) == 1);
  say("held up\n");
  REQUIRE(read(0, line, sizeof line) >= 0);
  struct uffd_msg message;
  REQUIRE(read(events, &message, sizeof message) == sizeof message);
  close((int)message.arg.fork.ufd);
  pthread_join(id, NULL);
  pairs();
  return 0;
}
