#include "capture/supervision/pending_answers.h"

#include <sys/eventfd.h>

#include <utility>

namespace heaptap::supervision {

// Without a free descriptor they wait for the next round.
PendingAnswers::PendingAnswers() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void PendingAnswers::add(const tracer::Answer& answer) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(answer);
  if (event_) (void)eventfd_write(event_.get(), 1);
}

std::vector<tracer::Answer> PendingAnswers::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t count = 0;
  if (event_) (void)eventfd_read(event_.get(), &count);
  return std::exchange(waiting_, {});
}

}  // namespace heaptap::supervision
