// Index of the existing recordings of one implementation, for the code that makes them and needs more of them than their
// interface has. RecordedProcesses owns them.
#pragma once
#include <map>

#include "capture/supervision/recording.h"
#include "common/base/check.h"

namespace heaptap::supervision {

template <typename Implementation>
class RecordingIndex {
 public:
  // Membership of a recording, which has it as a member. The index must outlive it.
  class Entry {
   public:
    Entry(RecordingIndex& index, Implementation& recording) : index_(index), key_(&recording) {
      index_.recordings_.emplace(key_, &recording);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { index_.recordings_.erase(key_); }

   private:
    RecordingIndex& index_;
    const Recording* const key_;
  };

  RecordingIndex() = default;
  RecordingIndex(const RecordingIndex&) = delete;
  RecordingIndex& operator=(const RecordingIndex&) = delete;

  // `recording` must be in the index.
  [[nodiscard]] Implementation& at(const Recording& recording) const {
    const auto found = recordings_.find(&recording);
    HEAPTAP_CHECK(found != recordings_.end());
    return *found->second;
  }

 private:
  std::map<const Recording*, Implementation*> recordings_;
};

}  // namespace heaptap::supervision
