// A library whose file the program itself serves (FUSE), in a directory that is told: any process that reads that file, or a page of it that isn't
// there, waits for the program. `thread`: a thread of it serves, and allocates for each answer; `process`: a child does. A line of input
// comes before each step. "silent": no more reads are answered, and what was there of the file is dropped. "works": it has allocated ten
// times meanwhile, and so has a child. "answers": all is well again.
// tests/e2e/served_files_test.py drives it.
// TRACE none
// USES plugin_a
// LINK -pthread -ldl
// COMPILE -D_GNU_SOURCE
#include "target.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#define NODE 2

static char* content;
static size_t content_bytes;
static int line_to_kernel;
static volatile int* is_silent;  // shared with a child

static void read_library(const char* path) {
  struct stat status;
  int file = open(path, O_RDONLY);
  REQUIRE(file >= 0 && fstat(file, &status) == 0);
  content_bytes = (size_t)status.st_size;
  content = mmap(NULL, content_bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  REQUIRE(content != MAP_FAILED);
}

static struct fuse_attr attributes_of(uint64_t node) {
  struct fuse_attr attributes = {.ino = node, .nlink = 1, .mode = S_IFDIR | 0755, .blksize = PAGE};
  if (node == NODE) {
    attributes.mode = S_IFREG | 0755;
    attributes.size = content_bytes;
  }
  return attributes;
}

static void answer(const struct fuse_in_header* question, int error, const void* body, size_t bytes) {
  struct fuse_out_header header = {
      .len = (uint32_t)(sizeof header + bytes), .error = -error, .unique = question->unique};
  struct iovec parts[] = {{&header, sizeof header}, {(void*)body, bytes}};
  ssize_t written = writev(line_to_kernel, parts, 2);
  (void)written;  // who asked may have gone
}

NOINLINE static void answer_read(const struct fuse_in_header* question, const struct fuse_read_in* read_in) {
  while (*is_silent) usleep(1000);
  size_t begin = read_in->offset < content_bytes ? (size_t)read_in->offset : content_bytes;
  size_t bytes = content_bytes - begin < read_in->size ? content_bytes - begin : read_in->size;
  char* copy = keep(malloc(bytes + 1));
  memcpy(copy, content + begin, bytes);
  answer(question, 0, copy, bytes);
  free(copy);
}

static void answer_any(const struct fuse_in_header* question) {
  const void* body = question + 1;
  switch (question->opcode) {
    case FUSE_INIT: {
      struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = PAGE, .max_write = PAGE};
      return answer(question, 0, &init, sizeof init);
    }
    case FUSE_LOOKUP: {
      struct fuse_entry_out entry = {.nodeid = NODE, .entry_valid = 1 << 20, .attr_valid = 1 << 20};
      entry.attr = attributes_of(NODE);
      return answer(question, strcmp(body, "library.so") == 0 ? 0 : ENOENT, &entry,
                    strcmp(body, "library.so") == 0 ? sizeof entry : 0);
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out attributes = {.attr_valid = 1 << 20, .attr = attributes_of(question->nodeid)};
      return answer(question, 0, &attributes, sizeof attributes);
    }
    case FUSE_OPEN: {
      struct fuse_open_out opened = {0};
      return answer(question, 0, &opened, sizeof opened);
    }
    case FUSE_READ:
      return answer_read(question, body);
    case FUSE_FLUSH:
    case FUSE_RELEASE:
      return answer(question, 0, NULL, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;
    default:
      return answer(question, ENOSYS, NULL, 0);
  }
}

static void* serve(void* unused) {
  static char question[FUSE_MIN_READ_BUFFER * 2];
  ssize_t bytes;
  while ((bytes = read(line_to_kernel, question, sizeof question)) > 0 || errno == EINTR || errno == ENOENT) {
    if (bytes > 0) answer_any((const struct fuse_in_header*)question);
  }
  return unused;
}

static int mount_files(const char* directory) {
  char options[128];
  line_to_kernel = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (line_to_kernel < 0 || unshare(CLONE_NEWNS) != 0) return 0;
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 0;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", line_to_kernel, getuid(),
           getgid());
  return mount("served", directory, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
}

static void start_server(int is_process) {
  pthread_t thread;
  if (!is_process) {
    REQUIRE(pthread_create(&thread, NULL, serve, NULL) == 0);
    return;
  }
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(0);
  serve(NULL);
  _exit(0);
}

static void fall_silent(void) {
  struct {
    struct fuse_out_header header;
    struct fuse_notify_inval_inode_out what;
  } notice = {{sizeof notice, FUSE_NOTIFY_INVAL_INODE, 0}, {NODE, 0, 0}};
  // While reads are answered: the kernel waits for pages that somebody reads just now.
  REQUIRE(write(line_to_kernel, &notice, sizeof notice) == sizeof notice);
  *is_silent = 1;
}

NOINLINE static void work_in_silence(void) {
  for (int i = 0; i < 10; i++) free(keep(malloc(40)));
}

static void work_meanwhile(void) {
  work_in_silence();
  pid_t child = fork();
  if (child == 0) {
    work_in_silence();
    _exit(0);
  }
  REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
}

static void step(const char* name) {
  char byte;
  say("%s\n", name);
  while (read(0, &byte, 1) == 1 && byte != '\n') {
  }
}

int main(int count, char** arguments) {
  char path[4096], place[4096];
  REQUIRE(count == 3);
  ssize_t length = readlink("/proc/self/exe", place, sizeof place - 32);
  REQUIRE(length > 0);
  place[length] = 0;
  strcpy(strrchr(place, '/'), "/libplugin_a.so");
  read_library(place);
  is_silent = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(is_silent != MAP_FAILED);
  if (!mount_files(arguments[2])) {
    say("no FUSE\n");
    return 0;
  }
  start_server(strcmp(arguments[1], "process") == 0);
  snprintf(path, sizeof path, "%s/library.so", arguments[2]);
  void* library = dlopen(path, RTLD_NOW);
  REQUIRE(library != NULL);
  void* (*work)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_entry");
  REQUIRE(work != NULL);
  step("loaded");
  fall_silent();
  step("silent");
  work_meanwhile();
  step("works");
  *is_silent = 0;
  step("answers");
  free(work(24));
  say("done\n");
  _exit(0);
}
