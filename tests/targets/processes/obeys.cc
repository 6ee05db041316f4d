// Says that it is ready; then does what each line that it reads asks for, and says that it is done. For tests that attach.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kEarly = 10;
void* volatile early[kEarly];  // from before anybody attached
void* volatile held;

[[gnu::noinline]] void* make() { return std::malloc(100); }

[[gnu::noinline]] void make_pairs(long count) {
  for (; count > 0; --count) std::free(make());
}

[[gnu::noinline]] void make_objects(long count) {
  for (; count > 0; --count) {
    char* volatile object = new char('x');
    delete object;
  }
}

[[gnu::noinline]] void release_early() {
  for (void* volatile& block : early) {
    std::free(block);
    block = nullptr;
  }
}

void in_thread(long count) {
  pthread_t thread;
  const auto work = [](void* pairs) -> void* {
    make_pairs(reinterpret_cast<long>(pairs));
    return nullptr;
  };
  if (pthread_create(&thread, nullptr, work, reinterpret_cast<void*>(count)) == 0) pthread_join(thread, nullptr);
}

long in_child(long count) {
  const pid_t child = fork();
  if (child == 0) {
    make_pairs(count);
    _exit(5);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// All at one time.
long in_threads(long count) {
  static pthread_barrier_t all_work;
  const auto work = [](void*) -> void* {
    make_pairs(1);
    pthread_barrier_wait(&all_work);
    make_pairs(1);
    return nullptr;
  };
  auto* threads = static_cast<pthread_t*>(std::malloc(sizeof(pthread_t) * static_cast<size_t>(count)));
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, size_t{64} << 10);
  pthread_barrier_init(&all_work, nullptr, static_cast<unsigned>(count));
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], &small, work, nullptr) != 0) std::abort();
  }
  for (long i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
  std::free(threads);
  return 0;
}

// Any system call but these ends the process.
long allow_few_calls() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

void obey_lines(char* program);

// The first thread ends, another one goes on.
void leave_to_thread(char* program) {
  static pthread_t first;
  first = pthread_self();
  const auto work = [](void* name) -> void* {
    pthread_join(first, nullptr);
    std::puts("other 0");
    std::fflush(stdout);
    obey_lines(static_cast<char*>(name));
    release_early();
    std::exit(0);
  };
  pthread_t other;
  if (pthread_create(&other, nullptr, work, program) == 0) pthread_exit(nullptr);
}

long obey(const char* word, long number, char* program) {
  const auto is = [word](const char* other) { return std::strcmp(word, other) == 0; };
  if (is("pairs")) make_pairs(number);
  if (is("objects")) make_objects(number);
  if (is("lose")) (void)make();
  if (is("hold")) held = make();
  if (is("release")) release_early();
  if (is("thread")) in_thread(number);
  if (is("other")) leave_to_thread(program);
  if (is("strict")) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  if (is("filter")) return allow_few_calls();
  if (is("fork")) return in_child(number);
  if (is("threads")) return in_threads(number);
  if (is("exec")) execl("/proc/self/exe", program, nullptr);
  if (is("exit")) std::exit(static_cast<int>(number));
  if (is("signal")) std::raise(static_cast<int>(number));
  return 0;
}

void obey_lines(char* program) {
  char line[64];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char word[32] = "";
    long number = 0;
    std::sscanf(line, "%31s %ld", word, &number);
    const long result = obey(word, number, program);
    std::printf("%s %ld\n", word, result);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int, char** arguments) {
  for (void* volatile& block : early) block = make();
  std::puts("ready");
  std::fflush(stdout);
  obey_lines(arguments[0]);
  release_early();
}
