// Reader of massif's snapshots, in file order.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/imports/damage.h"
#include "analysis/imports/text_file.h"
#include "common/base/result.h"

namespace heaptap::imports {

struct MassifFacts {
  std::string command;
  std::string time_unit;
};

// Node of a snapshot's tree: a code location and the bytes it held. Its callers are one level deeper.
struct MassifNode {
  uint32_t depth = 0;  // 0: the root
  uint64_t bytes = 0;
  std::string label;  // text after its bytes
};

struct MassifSnapshot {
  uint64_t time = 0;
  uint64_t heap_bytes = 0;
  uint64_t extra_bytes = 0;
  uint64_t stacks_bytes = 0;
  bool is_peak = false;           // by massif's own mark
  std::vector<MassifNode> nodes;  // in file order; empty: no tree
};

class MassifFile {
 public:
  static base::Result<MassifFile> open(const std::string& path);

  [[nodiscard]] const MassifFacts& facts() const { return facts_; }
  // Next snapshot. Its tree is complete: a snapshot cut off inside its tree has none.
  std::optional<MassifSnapshot> next();
  // Valid after the last snapshot. Empty if the file is complete.
  [[nodiscard]] std::string damage() const { return damage_text(file_, fault_); }
  [[nodiscard]] uint64_t skipped_lines() const { return skipped_lines_; }
  [[nodiscard]] const TextFile& text() const { return file_; }

 private:
  explicit MassifFile(TextFile file) : file_(std::move(file)) {}
  void read_facts();
  bool read_field(std::string_view line, MassifSnapshot& snapshot);
  void read_tree(MassifSnapshot& snapshot);

  TextFile file_;
  MassifFacts facts_;
  Fault fault_ = Fault::kNone;
  uint64_t skipped_lines_ = 0;
};

}  // namespace heaptap::imports
