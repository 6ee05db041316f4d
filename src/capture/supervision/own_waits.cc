#include "capture/supervision/own_waits.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "common/base/signals_blocked.h"

namespace heaptap::supervision {

namespace {

using Tell = std::function<void(const StandingThread&)>;

void watch(const std::stop_token& stop, const Tell& tell) {
  KernelWaits waits(getpid());
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    (void)never.wait_for(lock, stop, KernelWaits::kBetween, [] { return false; });
    for (const StandingThread& thread : waits.look(KernelWaits::Clock::now())) {
      if (!thread.looks) tell(thread);
    }
  }
}

}  // namespace

OwnWaits::OwnWaits(Tell tell) {
  try {
    const base::SignalsBlocked signals;
    watch_ = std::jthread([tell = std::move(tell)](const std::stop_token& stop) { watch(stop, tell); });
  } catch (const std::system_error&) {
    return;  // no more threads: nobody is told
  }
}

}  // namespace heaptap::supervision
