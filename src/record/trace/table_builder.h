// Builder of a trace's tables from its frames of entries, limited by the file's size. Where frames are missing, later
// entries keep their numbers: missing entries are filled with placeholders, and references to them end there.
#pragma once
#include <cstdint>
#include <vector>

#include "common/model/tables.h"
#include "common/wire/frame.h"
#include "common/wire/varint.h"

namespace heaptap::trace {

inline constexpr const char* kUnsound = "a frame's contents are inconsistent";

// Whether it is a frame of table entries.
constexpr bool is_table(wire::FrameType type) {
  return (type >= wire::FrameType::kModules && type <= wire::FrameType::kThreads) || type == wire::FrameType::kLabels;
}

class TableBuilder {
 public:
  // For readers that need only what scans and events refer to.
  enum class Wants : uint8_t { kAll, kSitesAndModules, kSites };

  // `is_numbered`: frames contain the number of their first entry (since 2.1).
  TableBuilder(uint64_t file_bytes, bool is_numbered, Wants wants)
      : file_bytes_(file_bytes), is_numbered_(is_numbered), wants_(wants) {}

  // Adds a frame's entries. Returns null, or a description of the error.
  const char* take(wire::FrameType type, wire::VarintReader payload, model::Tables& tables);

  // The file has grown.
  void grow(uint64_t file_bytes) { file_bytes_ = file_bytes; }

  // From now on frames may be missing.
  void expect_gaps() { has_gaps_ = true; }
  [[nodiscard]] bool has_gaps() const { return has_gaps_; }
  [[nodiscard]] bool can_have_gaps() const { return is_numbered_; }
  [[nodiscard]] bool is_missing(model::SiteId site) const { return is_set(missing_sites_, site); }

 private:
  [[nodiscard]] bool is_wanted(wire::FrameType type) const;
  bool is_too_large(wire::FrameType type, wire::VarintReader payload, const model::Tables& tables);
  [[nodiscard]] uint64_t max_entries(wire::FrameType type) const;
  bool go_on_at(uint64_t first, wire::FrameType type, model::Tables& tables);
  bool read(wire::FrameType type, wire::VarintReader& payload, model::Tables& tables);
  void keep_a_code(model::Tables& tables);
  bool read_stacks_with_gaps(wire::VarintReader& payload, model::Tables& tables);
  bool read_labelled_sites(wire::VarintReader& payload, model::Tables& tables);
  bool read_sites_with_gaps(wire::VarintReader& payload, model::Tables& tables);
  static bool is_set(const std::vector<bool>& bits, size_t index) { return index < bits.size() && bits[index]; }
  static void set(std::vector<bool>& bits, size_t begin, size_t end);

  uint64_t file_bytes_;
  bool is_numbered_;
  Wants wants_;
  bool has_gaps_ = false;
  bool made_up_code_ = false;  // placeholder for entries that must refer to one
  uint64_t text_bytes_ = 0;    // in frames with names
  std::vector<bool> missing_stacks_;
  std::vector<bool> missing_sites_;
};

}  // namespace heaptap::trace
