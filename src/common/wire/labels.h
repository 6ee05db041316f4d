// Labels: names that a program gives to its allocations. A label is a tag of a thread, nested in other tags, or the
// name of a pool or of a kind of resource, nested in the tags that its blocks were allocated under. They form a trie in
// the log: each has a parent, 0 for none. Freestanding.
#pragma once
#include <stdint.h>

#include <atomic>

namespace heaptap::wire {

enum class LabelKind : uint8_t {
  kNone = 0,
  kTag = 1,
  kPool = 2,
  kResource = 3,
  // Names of an interpreted program's code (wire::make_named_code), which aren't labels of allocations: a source file's path, cut
  // into pieces, each within the one before it; and a function within its file.
  kSourceFile = 4,
  kFunction = 5,
};

inline constexpr uint32_t kNoLabel = 0;           // the first entry is not used
inline constexpr uint32_t kMaxLabels = 1u << 20;  // maximum of any log
inline constexpr uint32_t kMaxLabelDepth = 64;

struct LabelEntry {
  std::atomic<uint32_t> is_whole;  // 1: complete; stored with release after all other fields
  uint32_t parent;                 // smaller than the entry's own number
  LabelKind kind;
  uint8_t name_bytes;
  char name[118];  // longer names are cut; zero-filled
};
static_assert(sizeof(LabelEntry) == 128);
inline constexpr uint32_t kMaxLabelBytes = 112;  // so that a name ends in a word with a zero byte

// Size field of a pool event: the pool's number and the size.
inline constexpr unsigned kPooledSizeBits = 40;
inline constexpr uint64_t kMaxPooledSize = (uint64_t{1} << kPooledSizeBits) - 1;
inline constexpr uint32_t kMaxPools = (1u << (64 - kPooledSizeBits)) - 1;
constexpr uint64_t make_pooled_size(uint32_t pool, uint64_t size_bytes) {
  return uint64_t{pool} << kPooledSizeBits | (size_bytes < kMaxPooledSize ? size_bytes : kMaxPooledSize);
}
constexpr uint32_t pool_of(uint64_t pooled_size) { return static_cast<uint32_t>(pooled_size >> kPooledSizeBits); }
constexpr uint64_t size_in_pool(uint64_t pooled_size) { return pooled_size & kMaxPooledSize; }

}  // namespace heaptap::wire
