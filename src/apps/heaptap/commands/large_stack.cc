#include "apps/heaptap/commands/large_stack.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "common/base/limit_rules.h"

namespace heaptap::app {
namespace {

constexpr size_t kNeededBytes = size_t{1} << 20;
constexpr size_t kStackBytes = base::kOwnStackBytes;

// Call to run: makecontext passes ints only.
struct Call {
  int (*work)(int, char**);
  int argc;
  char** argv;
  int result;
} g_call;

void make_call() { g_call.result = g_call.work(g_call.argc, g_call.argv); }

}  // namespace

int run_on_large_stack(int (*work)(int, char**), int argc, char** argv) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeededBytes) return work(argc, argv);
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  ucontext_t here{};
  ucontext_t there{};
  if (stack == MAP_FAILED || getcontext(&there) != 0) return work(argc, argv);
  g_call = {.work = work, .argc = argc, .argv = argv, .result = 0};
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kStackBytes;
  there.uc_link = &here;
  makecontext(&there, make_call, 0);
  swapcontext(&here, &there);
  return g_call.result;
}

}  // namespace heaptap::app
