#include "apps/heaptap/options/report_signal.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "common/base/signal_names.h"

namespace heaptap::app {
namespace {

struct Refusal {
  int number;
  const char* why;
};
constexpr const char* kCannotBeHandled = "no program can handle it";
constexpr const char* kFault = "it reports a fault that ends the program";
constexpr const char* kEnds = "it terminates programs";
constexpr const char* kJobControl = "it stops or continues the program";
constexpr const char* kFromKernel = "the kernel sends it by itself";
constexpr std::array kRefused{Refusal{SIGKILL, kCannotBeHandled},
                              Refusal{SIGSTOP, kCannotBeHandled},
                              Refusal{SIGSEGV, kFault},
                              Refusal{SIGBUS, kFault},
                              Refusal{SIGILL, kFault},
                              Refusal{SIGFPE, kFault},
                              Refusal{SIGTRAP, kFault},
                              Refusal{SIGABRT, kFault},
                              Refusal{SIGSYS, kFault},
                              Refusal{SIGINT, kEnds},
                              Refusal{SIGTERM, kEnds},
                              Refusal{SIGQUIT, kEnds},
                              Refusal{SIGTSTP, kJobControl},
                              Refusal{SIGTTIN, kJobControl},
                              Refusal{SIGTTOU, kJobControl},
                              Refusal{SIGCONT, kJobControl},
                              Refusal{SIGCHLD, kFromKernel},
                              Refusal{SIGPIPE, kFromKernel},
                              Refusal{SIGXCPU, kFromKernel},
                              Refusal{SIGXFSZ, kFromKernel}};

}  // namespace

base::Result<int> parse_report_signal(std::string_view name) {
  constexpr const char* kCure = "choose one that the program doesn't use, such as USR2 or RTMIN+3";
  const auto number = base::signal_number(name);
  if (!number) {
    return base::fail_as(base::ErrorKind::kUsage, "--report-signal: unknown signal '{}': {}", name, kCure);
  }
  constexpr int kFirstOfLibc = 32;  // up to SIGRTMIN
  if (*number >= kFirstOfLibc && *number < SIGRTMIN) {
    return base::fail_as(base::ErrorKind::kUsage, "--report-signal {}: the C library needs it for itself: {}", name,
                         kCure);
  }
  const auto* const refused = std::ranges::find(kRefused, *number, &Refusal::number);
  if (refused == kRefused.end()) return *number;
  return base::fail_as(base::ErrorKind::kUsage, "--report-signal {}: {}: {}", name, refused->why, kCure);
}

}  // namespace heaptap::app
