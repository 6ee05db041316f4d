// What a followed child of a fork has of its parent's session: its log and its tables, of no use any more. Without an end to
// it, each link of a chain of forks would have the mappings of all those before.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::agent {

struct MappedPart {
  void* start = nullptr;
  size_t bytes = 0;
};

// A signal handler may fork while its thread is in the middle of a record, which goes on in the child: so what the parent's
// session had stays, and goes when that child has a child with a session of its own.
class Leftovers {
 public:
  void add(MappedPart part) {
    if (part.start != nullptr && recent_count_ < kMax) recent_[recent_count_++] = part;
  }
  // `unmap(part)` for those of the session before the last one. Those of the last one can be added then.
  template <typename Unmap>
  void age(const Unmap& unmap) {
    for (uint32_t i = 0; i < older_count_; ++i) unmap(older_[i]);
    for (uint32_t i = 0; i < recent_count_; ++i) older_[i] = recent_[i];
    older_count_ = recent_count_;
    recent_count_ = 0;
  }
  // Something may be at work in them still: they stay.
  void keep() { older_count_ = recent_count_ = 0; }

 private:
  static constexpr uint32_t kMax = 16;  // what is more stays
  MappedPart recent_[kMax]{};
  MappedPart older_[kMax]{};
  uint32_t recent_count_ = 0;
  uint32_t older_count_ = 0;
};

}  // namespace heaptap::agent
