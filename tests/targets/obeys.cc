// Says that it is ready; then does what each line that it reads asks for, and says that it is done. For tests that attach.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

long obey(const char* word, long number, char* program) {
  const auto is = [word](const char* other) { return std::strcmp(word, other) == 0; };
  if (is("pairs")) make_pairs(number);
  if (is("objects")) make_objects(number);
  if (is("lose")) (void)make();
  if (is("hold")) held = make();
  if (is("release")) release_early();
  if (is("thread")) in_thread(number);
  if (is("fork")) return in_child(number);
  if (is("exec")) execl("/proc/self/exe", program, nullptr);
  if (is("exit")) std::exit(static_cast<int>(number));
  if (is("signal")) std::raise(static_cast<int>(number));
  return 0;
}

}  // namespace

int main(int, char** arguments) {
  for (void* volatile& block : early) block = make();
  char line[64];
  std::puts("ready");
  std::fflush(stdout);
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    char word[32] = "";
    long number = 0;
    std::sscanf(line, "%31s %ld", word, &number);
    const long result = obey(word, number, arguments[0]);
    std::printf("%s %ld\n", word, result);
    std::fflush(stdout);
  }
  release_early();
}
