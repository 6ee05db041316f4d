// Queue of answers to traced programs' questions: from the thread that writes reports to the one that talks to the
// tracer.
#pragma once
#include <mutex>
#include <vector>

#include "capture/tracer/tracer_client.h"
#include "common/base/unique_fd.h"

namespace heaptap::supervision {

class PendingAnswers {
 public:
  PendingAnswers();

  // Thread-safe.
  void add(const tracer::Answer& answer);
  std::vector<tracer::Answer> take();
  // Readable when an answer is queued.
  [[nodiscard]] int descriptor() const { return event_.get(); }

 private:
  std::mutex mutex_;
  std::vector<tracer::Answer> waiting_;
  base::UniqueFd event_;
};

}  // namespace heaptap::supervision
