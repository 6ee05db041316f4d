#include "capture/inject/thread_choice.h"

#include <unistd.h>

#include <chrono>
#include <string>

#include "capture/inject/thread_verdict.h"
#include "capture/process/process_status.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::inject {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kChoicePatience{3};

// A thread that can make calls now. 0: none so far.
pid_t find_thread_for_calls(pid_t process) {
  pid_t best = 0;
  unsigned best_fitness = 0;
  for (const pid_t thread : process::list_threads(process)) {
    const auto status = process::read_thread_status(thread);
    if (!status || status->has_ended()) continue;
    const ThreadPlace place = parse_thread_place(base::read_small_file(base::process_file(thread, "syscall"), 256));
    const std::string descriptor = "fd/" + std::to_string(place.arguments[0]);
    const unsigned fitness =
        fitness_for_calls(place, place.call == 0 ? base::read_link(base::process_file(thread, descriptor)) : "");
    if (fitness <= best_fitness) continue;
    best = thread;
    best_fitness = fitness;
  }
  return best;
}

}  // namespace

pid_t wait_for_thread(pid_t process) {
  const auto until = Clock::now() + kChoicePatience;
  pid_t thread = 0;
  while ((thread = find_thread_for_calls(process)) == 0 && Clock::now() < until) usleep(100);
  return thread;
}

}  // namespace heaptap::inject
