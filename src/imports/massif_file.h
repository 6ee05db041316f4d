// Reads massif's snapshots from its file, one after the other.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "imports/damage.h"
#include "imports/text_file.h"

namespace heaptap::imports {

struct MassifFacts {
  std::string command;
  std::string time_unit;
};

// One place that held memory; the callers of it are deeper.
struct MassifNode {
  uint32_t depth = 0;  // 0: the root
  uint64_t bytes = 0;
  std::string label;  // what stands behind its bytes
};

struct MassifSnapshot {
  uint64_t time = 0;
  uint64_t heap_bytes = 0;
  uint64_t extra_bytes = 0;
  uint64_t stacks_bytes = 0;
  bool is_peak = false;           // massif calls it that
  std::vector<MassifNode> nodes;  // in the order of the file; empty: it has no tree
};

class MassifFile {
 public:
  static base::Result<MassifFile> open(const std::string& path);

  [[nodiscard]] const MassifFacts& facts() const { return facts_; }
  // The next one, whose tree is whole; a snapshot that is cut off in its tree has none.
  std::optional<MassifSnapshot> next();
  // After the last one. Empty: the file is whole.
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
