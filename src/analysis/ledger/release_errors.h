// Erroneous releases: mismatched, double, of memory never allocated, into the middle of a block. Repetitions of an error are
// counted; the number of distinct errors is bounded.
#pragma once
#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/ledger/block.h"

namespace heaptap::ledger {

enum class ReleaseErrorKind : uint8_t { kMismatched, kDouble, kBad, kInterior };

struct ReleaseErrorKey {
  ReleaseErrorKind kind = ReleaseErrorKind::kBad;
  model::SiteId released_at = kNoSite;
  model::SiteId allocated_at = kNoSite;       // kNoSite if unknown
  model::SiteId first_released_at = kNoSite;  // of a double release

  bool operator==(const ReleaseErrorKey&) const = default;
  friend size_t hash_value(const ReleaseErrorKey& key) {
    size_t seed = static_cast<size_t>(key.kind);
    boost::hash_combine(seed, key.released_at);
    boost::hash_combine(seed, key.allocated_at);
    boost::hash_combine(seed, key.first_released_at);
    return seed;
  }
};

struct ReleaseError {
  ReleaseErrorKey key;
  uint64_t count = 0;
  uint64_t address = 0;  // of the first occurrence; 0 if unknown
  uint64_t size_bytes = 0;
};

class ReleaseErrors {
 public:
  static constexpr size_t kMaxDistinct = 10'000;
  static constexpr size_t kDropped = ~size_t{0};

  // Returns the error's index, for take_back.
  size_t add(const ReleaseErrorKey& key, uint64_t address, uint64_t size_bytes) {
    const auto found = index_.find(key);
    if (found != index_.end()) {
      ++errors_[found->second].count;
      return found->second;
    }
    if (errors_.size() >= kMaxDistinct) {
      ++dropped_;
      return kDropped;
    }
    index_.emplace(key, errors_.size());
    errors_.push_back({key, 1, address, size_bytes});
    return errors_.size() - 1;
  }

  void take_back(size_t index) { index == kDropped ? --dropped_ : --errors_[index].count; }

  // Ordered by first occurrence; an error taken back has count 0.
  [[nodiscard]] const std::vector<ReleaseError>& all() const { return errors_; }
  [[nodiscard]] uint64_t dropped() const { return dropped_; }

 private:
  std::vector<ReleaseError> errors_;
  boost::unordered_flat_map<ReleaseErrorKey, size_t> index_;
  uint64_t dropped_ = 0;
};

}  // namespace heaptap::ledger
