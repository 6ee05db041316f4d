// Stacks of massif's trees in model::Tables.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/imports/massif_file.h"
#include "analysis/imports/name_table.h"

namespace heaptap::imports {

using BytesByStack = std::map<model::StackId, uint64_t>;

class MassifStacks {
 public:
  explicit MassifStacks(model::Tables& tables);

  // Bytes held by each stack. None: the tree's sums are inconsistent, or there are more names than heaptap keeps.
  std::optional<BytesByStack> stacks_of(const MassifSnapshot& snapshot);
  // Placeholder stack of snapshots without a tree.
  std::optional<model::StackId> not_detailed();

 private:
  std::optional<uint32_t> string(std::string_view text);
  std::optional<model::CodeId> code_of(std::string_view label, bool is_inlined);
  std::optional<model::CodeId> named(std::string_view name);
  std::optional<model::StackId> stack(model::StackId caller, model::CodeId code);

  model::Tables& tables_;
  std::shared_ptr<NameTable> names_;
  boost::unordered_flat_map<std::string, uint32_t> strings_;
  boost::unordered_flat_map<std::pair<model::StackId, model::CodeId>, model::StackId> stacks_;
};

}  // namespace heaptap::imports
