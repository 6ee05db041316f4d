#include "target/own_limits.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace heaptap::target::own_limits {
namespace {

constexpr rlim_t kStackBytes = rlim_t{8} << 20;

struct Lifted {
  __rlimit_resource_t resource;
  rlim_t wanted;  // of the soft limit
  rlimit before{};
  bool changed = false;
};

std::array<Lifted, 6> g_lifted{{{.resource = RLIMIT_NOFILE, .wanted = rlim_t{1} << 20},
                                {.resource = RLIMIT_STACK, .wanted = kStackBytes},
                                {.resource = RLIMIT_AS, .wanted = RLIM_INFINITY},
                                {.resource = RLIMIT_DATA, .wanted = RLIM_INFINITY},
                                {.resource = RLIMIT_FSIZE, .wanted = RLIM_INFINITY},
                                {.resource = RLIMIT_CPU, .wanted = RLIM_INFINITY}}};

constexpr std::array kSignals{SIGXFSZ, SIGXCPU};
std::array<struct sigaction, kSignals.size()> g_actions{};

void lift_one(Lifted& lifted) {
  if (getrlimit(lifted.resource, &lifted.before) != 0 || lifted.before.rlim_cur >= lifted.wanted) return;
  // As root; else as far as the hard limit goes.
  const rlimit all{lifted.wanted, std::max(lifted.wanted, lifted.before.rlim_max)};
  const rlimit some{std::min(lifted.wanted, lifted.before.rlim_max), lifted.before.rlim_max};
  lifted.changed = setrlimit(lifted.resource, &all) == 0 || setrlimit(lifted.resource, &some) == 0;
}

// Threads get what was the limit when the process began.
void give_threads_room() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  size_t bytes = 0;
  if (pthread_attr_getstacksize(&attributes, &bytes) == 0 && bytes < kStackBytes &&
      pthread_attr_setstacksize(&attributes, kStackBytes) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

void lift() {
  for (Lifted& lifted : g_lifted) lift_one(lifted);
  give_threads_room();
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &ignored, &g_actions[i]);
}

void give_back() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &g_actions[i], nullptr);
  for (const Lifted& lifted : g_lifted) {
    if (lifted.changed) setrlimit(lifted.resource, &lifted.before);
  }
}

rlimit of_program(__rlimit_resource_t resource) {
  rlimit now{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(resource, &now);
  for (const Lifted& lifted : g_lifted) {
    if (lifted.resource == resource && lifted.changed) return lifted.before;
  }
  return now;
}

}  // namespace heaptap::target::own_limits
