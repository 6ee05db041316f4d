// Labels in the agent (common/wire/labels.h): each stored once, at a stable address; a thread's innermost tag is a pointer. Lock-free,
// also for signal handlers. Two threads that make the same label at once may make it twice: readers compare names.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/pieces.h"
#include "common/wire/labels.h"
#include "common/wire/log.h"

namespace heaptap::agent {

struct Label {
  const Label* parent;  // null: none
  Label* next;          // in its bucket
  uint32_t number;      // in every log of this process and its forked children
  uint32_t depth;
  wire::LabelKind kind;
  uint8_t name_bytes;
  alignas(8) char name[wire::kMaxLabelBytes + 8];  // zeros behind it

  [[nodiscard]] bool is(const Label* of, wire::LabelKind wanted, const char* text) const {
    return parent == of && kind == wanted && has_name(text);
  }

 private:
  [[nodiscard]] bool has_name(const char* text) const;
};

class Labels {
 public:
  // Writes all existing labels into the log of a new session.
  void start(wire::LogHeader* log, const wire::LogLayout& layout);

  // The label of that name under another; null: no room, which is counted for tags and pools.
  const Label* find_or_add(const Label* parent, wire::LabelKind kind, const char* name) {
    const Label* const recent = recent_[place_of(parent, name)].load(std::memory_order_acquire);
    if (recent != nullptr && recent->is(parent, kind, name)) [[likely]]
      return recent;
    return search(parent, kind, name);
  }
  // The label under this parent with the kind and name of another.
  const Label* find_or_add(const Label* parent, const Label& like) { return find_or_add(parent, like.kind, like.name); }

  // Null: no tag or pool has that number.
  [[nodiscard]] const Label* of_number(uint32_t number) const {
    return number < kMaxNumbered ? by_number_[number].load(std::memory_order_acquire) : nullptr;
  }

 private:
  // Tags and pools have the numbers below kMaxNumbered, names of code those from there on, where the log has room for them.
  static constexpr uint32_t kMaxLabels = 65536;
  static constexpr uint32_t kMaxNumbered = 4096;
  static bool is_of_code(wire::LabelKind kind) { return kind >= wire::LabelKind::kSourceFile; }
  static constexpr uint32_t kPlaces = 512;  // a power of two
  static constexpr uint32_t kBuckets = 1024;

  // Hashes the name's address: most names are literals.
  static uint32_t place_of(const Label* parent, const char* name) {
    const uint64_t mixed =
        (reinterpret_cast<uintptr_t>(name) ^ (reinterpret_cast<uintptr_t>(parent) >> 6)) * uint64_t{0x9e3779b97f4a7c15};
    return static_cast<uint32_t>(mixed >> 55);
  }
  static_assert(kPlaces == 1u << (64 - 55));
  const Label* search(const Label* parent, wire::LabelKind kind, const char* name);
  Label* add(const Label* parent, wire::LabelKind kind, const char* name, std::atomic<Label*>& bucket);
  void write(const Label& label) const;
  void count_unkept() const;

  wire::LogHeader* log_ = nullptr;
  wire::LabelEntry* entries_ = nullptr;
  uint32_t capacity_ = 0;
  std::atomic<uint32_t> count_{0};                      // tags and pools made so far; their numbers begin at 1
  std::atomic<uint32_t> code_count_{kMaxNumbered - 1};  // the last number of a name of code
  std::atomic<const Label*> recent_[kPlaces]{};
  std::atomic<Label*> buckets_[kBuckets]{};
  std::atomic<const Label*> by_number_[kMaxNumbered]{};
  Pieces pieces_;  // own memory: a forked child continues with its parent's
};

extern Labels g_labels;

}  // namespace heaptap::agent
