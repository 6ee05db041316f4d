#include "host/analysis/stack_index.h"

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <tuple>
#include <utility>

#include "wire/log.h"

namespace heaptap::analysis {
namespace {

template <typename Key>
using Map = boost::unordered_flat_map<Key, uint32_t, boost::hash<Key>>;

std::vector<model::CodeId> index_codes(const model::Tables& tables) {
  using Key = std::tuple<uint64_t, uint32_t, bool>;
  Map<Key> first;
  std::vector<model::CodeId> same(tables.codes.size());
  for (model::CodeId code = 0; code < tables.codes.size(); ++code) {
    const model::Code& entry = tables.codes[code];
    same[code] = first.emplace(Key{entry.address, entry.generation, entry.exact}, code).first->second;
  }
  return same;
}

}  // namespace

// A stack's parent comes before it in the table; whatever else a damaged trace says is taken as a stack's end.
model::StackId parent_of(const model::Tables& tables, model::StackId stack) {
  const model::StackId parent = tables.stacks[stack].parent;
  return parent < stack ? parent : static_cast<model::StackId>(wire::StackEnd::kUnreadable);
}

StackIndex::StackIndex(const model::Tables& tables) {
  index_stacks(tables);
  group_sites(tables);
}

void StackIndex::index_stacks(const model::Tables& tables) {
  const std::vector<model::CodeId> same_code = index_codes(tables);
  using Key = std::pair<model::StackId, model::CodeId>;
  Map<Key> first;
  same_stack_.resize(tables.stacks.size());
  for (model::StackId stack = 0; stack < tables.stacks.size(); ++stack) {
    if (stack < wire::kRootCount) {
      same_stack_[stack] = stack;
      continue;
    }
    const Key key{same_stack_[parent_of(tables, stack)], same_code[tables.stacks[stack].code]};
    same_stack_[stack] = first.emplace(key, stack).first->second;
  }
}

void StackIndex::group_sites(const model::Tables& tables) {
  using Key = std::pair<uint32_t, model::StackId>;
  Map<Key> first;
  ids_.resize(tables.sites.size());
  for (model::SiteId site = 0; site < tables.sites.size(); ++site) {
    const model::Site& entry = tables.sites[site];
    if (entry.kind != model::EventKind::kAllocate && entry.kind != model::EventKind::kMap) {
      continue;
    }
    const Key key{static_cast<uint32_t>(entry.function), same_stack_[entry.stack]};
    const auto [found, added] = first.emplace(key, static_cast<uint32_t>(groups_.size()));
    if (added) {
      groups_.emplace_back();
    }
    groups_[found->second].push_back(site);
    ids_[site] = uint64_t{found->second} + 1;
  }
}

std::vector<model::CodeId> codes_of(const model::Tables& tables, model::StackId stack) {
  std::vector<model::CodeId> codes;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    codes.push_back(tables.stacks[stack].code);
  }
  return codes;
}

size_t depth_of(const model::Tables& tables, model::StackId stack) {
  size_t depth = 0;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    ++depth;
  }
  return depth;
}

std::string ends_early(const model::Tables& tables, model::StackId stack) {
  while (stack >= wire::kRootCount) {
    stack = parent_of(tables, stack);
  }
  switch (static_cast<wire::StackEnd>(stack)) {
    case wire::StackEnd::kComplete:
      return "";
    case wire::StackEnd::kNoUnwindTable:
      return "the caller's code has no unwind table and no frame pointer led on";
    case wire::StackEnd::kUnsupportedRule:
      return "the caller's unwind table has a rule that can't be followed";
    case wire::StackEnd::kUnreadable:
      return "the stack's memory ended or made no sense";
    case wire::StackEnd::kDepthLimit:
      return "deeper than the depth limit of the capture";
    case wire::StackEnd::kTableFull:
      return "the capture's table of stacks was full (more --log-memory makes room)";
    case wire::StackEnd::kNotUnwound:
      return "the call came where the stack could not be unwound";
  }
  return "it ended for a reason that this version doesn't know";
}

}  // namespace heaptap::analysis
