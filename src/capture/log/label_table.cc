#include "capture/log/label_table.h"

#include <cstring>

namespace heaptap::log {

LabelTable::LabelTable(wire::LogHeader& log, const wire::LogLayout& layout)
    : log_(log),
      entries_(reinterpret_cast<wire::LabelEntry*>(reinterpret_cast<uint8_t*>(&log) + layout.labels_offset)),
      capacity_(layout.label_capacity) {}

uint32_t LabelTable::find_or_add(uint32_t parent, wire::LabelKind kind, std::string_view name) {
  name = name.substr(0, wire::kMaxLabelBytes);
  const auto number = static_cast<uint32_t>(labels_.size());
  const auto [known, is_new] = numbers_.try_emplace(std::tuple(parent, kind, std::string(name)), number);
  if (!is_new) return known->second;
  const uint32_t depth = labels_[parent].depth + 1;
  if (number >= capacity_ || depth > wire::kMaxLabelDepth) {
    numbers_.erase(known);
    log_.unkept_labels.fetch_add(1, std::memory_order_relaxed);
    return wire::kNoLabel;
  }
  labels_.push_back({.parent = parent, .depth = depth});
  wire::LabelEntry& entry = entries_[number];
  entry.parent = parent;
  entry.kind = kind;
  entry.name_bytes = static_cast<uint8_t>(name.size());
  std::memcpy(entry.name, name.data(), name.size());
  entry.is_whole.store(1, std::memory_order_release);  // pairs with the collector's acquire
  log_.label_count.store(number + 1, std::memory_order_release);
  return number;
}

}  // namespace heaptap::log
