#include "agent/core/labels.h"

#include "agent/core/pages.h"
#include "agent/core/string.h"

namespace heaptap::agent {

constinit Labels g_labels{};

namespace {

uint32_t bucket_hash(const Label* parent, wire::LabelKind kind, const char* name, size_t bytes) {
  uint64_t hash = (14695981039346656037u ^ (parent != nullptr ? parent->number : 0)) * 1099511628211u +
                  static_cast<uint64_t>(kind);  // FNV-1a
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<uint8_t>(name[i])) * 1099511628211u;
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// Eight bytes, the first one lowest.
__attribute__((no_sanitize("address"))) inline uint64_t eight_of(const char* bytes) {
  uint64_t word;
  __builtin_memcpy(&word, bytes, sizeof(word));
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

// Reads eight bytes of a text, none of them on the page after its end. False: they would be. (AddressSanitizer reports
// bytes after the text's end.)
__attribute__((no_sanitize("address"))) inline bool load_eight(const char* text, uint64_t& word) {
  if (reinterpret_cast<uintptr_t>(text) % page_bytes() > page_bytes() - sizeof(word)) return false;
  word = eight_of(text);
  return true;
}

// A bit in each zero byte, valid up to the lowest one.
constexpr uint64_t zero_bytes(uint64_t word) { return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u; }

}  // namespace

// Eight bytes at a time: this is most of what a tag costs. The name's words end with one that has a zero byte; of that word the
// bytes up to this zero count.
bool Label::has_name(const char* text) const {
  for (size_t at = 0; at <= wire::kMaxLabelBytes; at += sizeof(uint64_t)) {
    const uint64_t own = eight_of(name + at);
    uint64_t other;
    const uint64_t zeros = zero_bytes(own);
    const uint64_t counts = zeros == 0 ? ~uint64_t{0} : zeros ^ (zeros - 1);  // up to the top bit of the zero byte
    if (!load_eight(text + at, other)) {
      for (size_t i = at; i < name_bytes; ++i) {
        if (text[i] != name[i]) return false;
      }
      return name_bytes == wire::kMaxLabelBytes || text[name_bytes] == '\0';
    }
    if (at == wire::kMaxLabelBytes) return true;  // it was cut there
    if (((own ^ other) & counts) != 0) return false;
    if (zeros != 0) return true;
  }
  return true;
}

void Labels::start(wire::LogHeader* log, const wire::LogLayout& layout) {
  log_ = log;
  entries_ = reinterpret_cast<wire::LabelEntry*>(reinterpret_cast<uint8_t*>(log) + layout.labels_offset);
  capacity_ = layout.label_capacity;
  for (const std::atomic<Label*>& bucket : buckets_) {
    for (const Label* label = bucket.load(std::memory_order_acquire); label != nullptr; label = label->next) {
      write(*label);
    }
  }
}

void Labels::count_unkept() const { log_->unkept_labels.fetch_add(1, std::memory_order_relaxed); }

__attribute__((noinline)) const Label* Labels::search(const Label* parent, wire::LabelKind kind, const char* name) {
  const size_t bytes = length_of(name, wire::kMaxLabelBytes);
  std::atomic<Label*>& bucket = buckets_[bucket_hash(parent, kind, name, bytes) % kBuckets];
  Label* label = bucket.load(std::memory_order_acquire);
  while (label != nullptr && !label->is(parent, kind, name)) label = label->next;
  if (label == nullptr) label = add(parent, kind, name, bucket);
  if (label == nullptr && !is_of_code(kind)) count_unkept();
  if (label != nullptr) recent_[place_of(parent, name)].store(label, std::memory_order_release);
  return label;
}

__attribute__((noinline)) Label* Labels::add(const Label* parent, wire::LabelKind kind, const char* name,
                                             std::atomic<Label*>& bucket) {
  const uint32_t depth = parent != nullptr ? parent->depth + 1 : 1;
  const bool is_codes = is_of_code(kind);
  const uint32_t limit = is_codes ? kMaxLabels : kMaxNumbered;
  std::atomic<uint32_t>& count = is_codes ? code_count_ : count_;
  uint32_t number = count.load(std::memory_order_relaxed);
  do {
    if (number + 1 >= capacity_ || number + 1 >= limit || depth > wire::kMaxLabelDepth) return nullptr;
  } while (!count.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  auto* label = static_cast<Label*>(pieces_.take(sizeof(Label)));
  if (label == nullptr) return nullptr;
  label->parent = parent;
  label->number = number + 1;
  label->depth = depth;
  label->kind = kind;
  label->name_bytes = static_cast<uint8_t>(length_of(name, wire::kMaxLabelBytes));
  copy_bytes(label->name, name, label->name_bytes);
  write(*label);
  if (label->number < kMaxNumbered) by_number_[label->number].store(label, std::memory_order_release);
  label->next = bucket.load(std::memory_order_relaxed);
  while (!bucket.compare_exchange_weak(label->next, label, std::memory_order_acq_rel)) {
  }
  return label;
}

// Before any event refers to it.
void Labels::write(const Label& label) const {
  if (label.number >= capacity_) return;
  wire::LabelEntry& entry = entries_[label.number];
  entry.parent = label.parent != nullptr ? label.parent->number : wire::kNoLabel;
  entry.kind = label.kind;
  entry.name_bytes = label.name_bytes;
  copy_bytes(entry.name, label.name, label.name_bytes);
  entry.is_whole.store(1, std::memory_order_release);
  uint32_t seen = log_->label_count.load(std::memory_order_relaxed);
  while (seen <= label.number &&
         !log_->label_count.compare_exchange_weak(seen, label.number + 1, std::memory_order_acq_rel)) {
  }
}

}  // namespace heaptap::agent
