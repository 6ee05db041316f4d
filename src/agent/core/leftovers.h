// Mappings of the parent's session in a recorded child of a fork: its log and tables, no longer used. Without unmapping
// them, each child in a chain of forks would keep the mappings of all its ancestors.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace heaptap::agent {

struct MappedPart {
  void* start = nullptr;
  size_t bytes = 0;
};

// Deferred unmapping by one generation: a signal handler may fork while its thread is writing a record, which continues
// in the child. So the parent's mappings stay until the child has a child with a session of its own.
class Leftovers {
 public:
  void add(MappedPart part) {
    if (part.start != nullptr && recent_count_ < kMax) recent_[recent_count_++] = part;
  }
  // Calls unmap(part) for the mappings of the session before the last. Then those of the last session can be added.
  template <typename Unmap>
  void age(const Unmap& unmap) {
    for (uint32_t i = 0; i < older_count_; ++i) unmap(older_[i]);
    for (uint32_t i = 0; i < recent_count_; ++i) older_[i] = recent_[i];
    older_count_ = recent_count_;
    recent_count_ = 0;
  }
  // They may still be in use: keeps them.
  void keep() { older_count_ = recent_count_ = 0; }

 private:
  static constexpr uint32_t kMax = 16;  // mappings beyond that stay
  MappedPart recent_[kMax]{};
  MappedPart older_[kMax]{};
  uint32_t recent_count_ = 0;
  uint32_t older_count_ = 0;
};

}  // namespace heaptap::agent
