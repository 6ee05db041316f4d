// Memory mapped by one site: now, and at the peak of the process's mapped memory.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/model/mapped_memory.h"

namespace heaptap::ledger {

class SiteMapped {
 public:
  // `peak_id`: the process's peak so far, a new number for each.
  void add(model::MappedKind kind, uint64_t bytes, uint64_t peak_id) {
    settle(peak_id);
    bytes_[static_cast<size_t>(kind)] += bytes;
  }
  void remove(model::MappedKind kind, uint64_t bytes, uint64_t peak_id) {
    settle(peak_id);
    bytes_[static_cast<size_t>(kind)] -= bytes;
  }

  [[nodiscard]] const model::MappedBytes& bytes() const { return bytes_; }
  // At the current peak.
  [[nodiscard]] uint64_t memory_at(uint64_t peak_id) const { return peak_id_ == peak_id ? peak_bytes_ : memory(); }

 private:
  [[nodiscard]] uint64_t memory() const {
    uint64_t sum = 0;
    for (size_t kind = 0; kind < bytes_.size(); ++kind) {
      if (model::is_memory(static_cast<model::MappedKind>(kind))) sum += bytes_[kind];
    }
    return sum;
  }
  // Nothing has changed here since a peak that wasn't settled.
  void settle(uint64_t peak_id) {
    peak_bytes_ = memory_at(peak_id);
    peak_id_ = peak_id;
  }

  model::MappedBytes bytes_{};
  uint64_t peak_bytes_ = 0;
  uint64_t peak_id_ = ~uint64_t{0};
};

}  // namespace heaptap::ledger
