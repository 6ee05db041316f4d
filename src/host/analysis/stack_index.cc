#include "host/analysis/stack_index.h"

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <tuple>
#include <utility>

#include "wire/log.h"

namespace heaptap::analysis {
namespace {

// Two numbers as one key, well spread: stacks' and codes' numbers come in ascending order.
struct Spread {
  using is_avalanching = void;
  size_t operator()(uint64_t key) const {
    const auto product = static_cast<unsigned __int128>(key) * 0x9e3779b97f4a7c15u;
    return static_cast<size_t>(product) ^ static_cast<size_t>(product >> 64);
  }
};
using PairMap = boost::unordered_flat_map<uint64_t, uint32_t, Spread, std::equal_to<>,
                                          base::LargeAllocator<std::pair<const uint64_t, uint32_t>>>;

uint64_t pair_of(uint32_t first, uint32_t second) { return uint64_t{first} << 32 | second; }

std::vector<model::CodeId> index_codes(const model::Tables& tables) {
  using Key = std::tuple<uint64_t, uint32_t, bool>;
  boost::unordered_flat_map<Key, uint32_t, boost::hash<Key>> first;
  first.reserve(tables.codes.size());
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
  PairMap first;
  first.reserve(tables.stacks.size());
  same_stack_.resize(tables.stacks.size());
  for (model::StackId stack = 0; stack < tables.stacks.size(); ++stack) {
    if (stack < wire::kRootCount) {
      same_stack_[stack] = stack;
      continue;
    }
    const uint64_t key = pair_of(same_stack_[parent_of(tables, stack)], same_code[tables.stacks[stack].code]);
    same_stack_[stack] = first.emplace(key, stack).first->second;
  }
}

void StackIndex::group_sites(const model::Tables& tables) {
  PairMap known;
  known.reserve(tables.sites.size());
  base::LargeVector<model::SiteId> last_sites;  // by group
  ids_.resize(tables.sites.size());
  next_sites_.resize(tables.sites.size(), kNoSite);
  for (model::SiteId site = 0; site < tables.sites.size(); ++site) {
    const model::Site& entry = tables.sites[site];
    if (entry.kind != model::EventKind::kAllocate && entry.kind != model::EventKind::kMap) {
      continue;
    }
    const uint64_t key = pair_of(static_cast<uint32_t>(entry.function), same_stack_[entry.stack]);
    const auto [found, added] = known.emplace(key, static_cast<uint32_t>(first_sites_.size()));
    const uint32_t group = found->second;
    if (added) {
      first_sites_.push_back(site);
      last_sites.push_back(site);
    } else {
      next_sites_[last_sites[group]] = site;
      last_sites[group] = site;
    }
    ids_[site] = group + 1;
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
