// Labels of a log (common/wire/labels.h), for writers outside of the program: each name under a parent once.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/wire/labels.h"
#include "common/wire/log.h"

namespace heaptap::log {

class LabelTable {
 public:
  // `layout`: a checked copy of the header's.
  LabelTable(wire::LogHeader& log, const wire::LogLayout& layout);

  // The number of the label of that name under another; wire::kNoLabel: no room, which is counted.
  uint32_t find_or_add(uint32_t parent, wire::LabelKind kind, std::string_view name);
  [[nodiscard]] uint32_t parent_of(uint32_t label) const { return label < labels_.size() ? labels_[label].parent : 0; }

 private:
  struct Label {
    uint32_t parent = wire::kNoLabel;
    uint32_t depth = 0;
  };
  wire::LogHeader& log_;
  wire::LabelEntry* entries_;
  uint32_t capacity_;
  std::vector<Label> labels_{Label{}};  // by number
  std::map<std::tuple<uint32_t, wire::LabelKind, std::string>, uint32_t> numbers_;
};

}  // namespace heaptap::log
