// Synthetic stream of events with a program's characteristics: a few thousand call stacks with likely successors, and mostly
// short-lived blocks. Identical in each run.
#pragma once
#include <cstdint>
#include <vector>

#include "common/model/event.h"
#include "common/model/tables.h"
#include "common/wire/log.h"

namespace heaptap::bench {

class SyntheticEvents {
 public:
  // `live_blocks`: number of blocks live at a time.
  explicit SyntheticEvents(size_t live_blocks) : window_(live_blocks) {
    tables.stacks.resize(wire::kRootCount);
    for (uint32_t i = 0; i < kStacks; ++i) {
      tables.codes.push_back({0x400000 + i * 64u, 0, false});
      tables.stacks.push_back({i < 16 ? 0 : wire::kRootCount + i / 2, i});
      tables.sites.push_back({model::EventKind::kAllocate, wire::Function::kMalloc, wire::kRootCount + i});
      tables.sites.push_back({model::EventKind::kRelease, wire::Function::kFree, wire::kRootCount + i});
    }
  }

  // The next batch; the previous one's memory is reused.
  const model::EventBatch& next(size_t event_count) {
    batch_.first_block = next_block_;
    batch_.clear();
    for (size_t i = 0; i < event_count; ++i) {
      if (i % 1000 == 0) batch_.time_marks.push_back({static_cast<uint32_t>(i), time_ns_ += 100'000});
      add();
    }
    return batch_;
  }

  model::Tables tables;

 private:
  static constexpr uint32_t kStacks = 4096;

  uint64_t random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  void add() {
    // In nine of ten cases the stack that followed this one before.
    stack_ = random() % 10 != 0 ? (stack_ * 5 + 1) % kStacks : static_cast<uint32_t>(random() % kStacks);
    model::BlockNumber& place = window_[random() % 4 != 0 ? random() % 16 : random() % window_.size()];
    if (place != 0) {
      batch_.events.push_back({stack_ * 2 + 1, 1, place, 0});
      place = 0;
    } else {
      place = next_block_++;
      batch_.events.push_back({stack_ * 2, 1, 16 + stack_ % 64 * 8, 0x10000000 + place % 65536 * 64});
    }
  }

  model::EventBatch batch_;
  std::vector<model::BlockNumber> window_;
  model::BlockNumber next_block_ = 1;
  uint64_t state_ = 0x9e3779b97f4a7c15u;
  uint64_t time_ns_ = 0;
  uint32_t stack_ = 0;
};

}  // namespace heaptap::bench
