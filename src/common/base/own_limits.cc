#include "common/base/own_limits.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "common/base/limit_rules.h"

namespace heaptap::base::own_limits {
namespace {

// The original limits, in the order of the rules.
struct Before {
  rlimit limit{};
  bool changed = false;
};
std::array<Before, kOwnLimits.size()> g_before{};

constexpr std::array kSignals{SIGXFSZ, SIGXCPU};
std::array<struct sigaction, kSignals.size()> g_actions{};

// The kernel's own form of an action: glibc hides its signals from sigaction().
struct KernelAction {
#if defined(__mips__)
  unsigned flags = 0;
  void (*handler)(int) = SIG_DFL;
#else
  void (*handler)(int) = SIG_DFL;
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
#endif
  std::array<unsigned long, 16 / sizeof(long)> mask{};  // as large as that of any CPU
};

// glibc installs handlers of two signals, which replace the disposition that the program would have inherited: if
// heaptap's parent ignored them, the program has to ignore them, too.
constexpr std::array kGlibcSignals{32, 33};
constexpr size_t kKernelMaskBytes = _NSIG / 8;
std::array<bool, kGlibcSignals.size()> g_is_ignored{};

bool is_ignored(int signal) {
  KernelAction action;
  return syscall(SYS_rt_sigaction, signal, nullptr, &action, kKernelMaskBytes) == 0 && action.handler == SIG_IGN;
}

void ignore(int signal) {
  KernelAction action;
  action.handler = SIG_IGN;
  syscall(SYS_rt_sigaction, signal, &action, nullptr, kKernelMaskBytes);
}

// Threads get the limit that applied when the process began.
void give_threads_room() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < kOwnStackBytes &&
      pthread_attr_setstacksize(&attributes, kOwnStackBytes) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

void lift() {
  for (size_t i = 0; i < kGlibcSignals.size(); ++i) g_is_ignored[i] = is_ignored(kGlibcSignals[i]);
  for (size_t i = 0; i < kOwnLimits.size(); ++i) g_before[i].changed = raise_limit(kOwnLimits[i], g_before[i].limit);
  give_threads_room();
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &ignored, &g_actions[i]);
}

void give_back() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_actions[i], nullptr);
  for (size_t i = 0; i < kGlibcSignals.size(); ++i) {
    if (g_is_ignored[i]) ignore(kGlibcSignals[i]);
  }
  for (size_t i = 0; i < kOwnLimits.size(); ++i) {
    if (g_before[i].changed) setrlimit(kOwnLimits[i].resource, &g_before[i].limit);
  }
}

rlimit of_program(__rlimit_resource_t resource) {
  rlimit now{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &now);
  for (size_t i = 0; i < kOwnLimits.size(); ++i) {
    if (kOwnLimits[i].resource == resource && g_before[i].changed) return g_before[i].limit;
  }
  return now;
}

}  // namespace heaptap::base::own_limits
