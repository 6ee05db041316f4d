#include "analysis/query/stack_index.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "analysis/query/keyed_hash.h"
#include "analysis/query/label_names.h"

namespace heaptap::query {
namespace {

struct ContentHash {
  using is_avalanching = void;
  size_t operator()(const StackContent& content) const { return content.low; }
};
using GroupMap = boost::unordered_flat_map<StackContent, uint32_t, ContentHash, std::equal_to<>,
                                           base::LargeAllocator<std::pair<const StackContent, uint32_t>>>;

// 128-bit hash: stacks with different content never collide, not even in a trace crafted for it.
class Mixer {
 public:
  [[nodiscard]] StackContent mix(const StackContent& a, const StackContent& b) const {
    return {fold(a.low ^ b.low ^ keys_[0], a.high ^ b.high ^ keys_[1]),
            fold((a.low + b.high) ^ keys_[2], (a.high + b.low) ^ keys_[3])};
  }

 private:
  HashKeys keys_ = hash_keys();
};

base::LargeVector<StackContent> mix_codes(const model::Tables& tables, const Mixer& mixer) {
  base::LargeVector<StackContent> contents;
  contents.reserve(tables.codes.size());
  for (const model::Code& code : tables.codes) {
    const uint64_t rest = uint64_t{code.generation} << 1 | (code.exact ? 1 : 0);
    contents.push_back(mixer.mix({.low = code.address, .high = rest}, {}));
  }
  return contents;
}

// The first call of a thread after an attach, which may be part of an outer call that began before it.
bool is_uncertain(wire::Function function) {
  return function == wire::Function::kMallocOrNew || function == wire::Function::kNewOrNewArray;
}

// Whether calls known to be of `function` may have been recorded as `uncertain`, at the same place.
bool may_be(wire::Function uncertain, wire::Function function) {
  const wire::FunctionFacts& facts = wire::facts_of(function);
  if (facts.role != wire::Role::kAllocate || is_uncertain(function)) return false;
  if (uncertain == wire::Function::kMallocOrNew) return facts.family == wire::Family::kMalloc;
  return uncertain == wire::Function::kNewOrNewArray && facts.family == wire::Family::kNew;
}

}  // namespace

StackIndex::StackIndex(const model::Tables& tables) : first_labels_(first_labels(tables)) {
  mix_stacks(tables);
  group_sites(tables);
}

void StackIndex::mix_stacks(const model::Tables& tables) {
  const Mixer mixer;
  const base::LargeVector<StackContent> codes = mix_codes(tables, mixer);
  contents_.reserve(tables.stacks.size());
  for (model::StackId stack = 0; stack < tables.stacks.size(); ++stack) {
    if (stack < wire::kRootCount) {
      contents_.push_back(mixer.mix({.low = ~uint64_t{0}, .high = stack}, {}));
      continue;
    }
    const StackContent& code = codes[tables.stacks[stack].code];
    const StackContent& caller = contents_[parent_of(tables, stack)];
    contents_.push_back(mixer.mix(caller, code));
  }
}
void StackIndex::group_sites(const model::Tables& tables) {
  GroupMap known;
  known.reserve(tables.sites.size());
  base::LargeVector<model::SiteId> last_sites;  // by group
  const bool has_uncertain =
      std::ranges::any_of(tables.sites, [](const model::Site& site) { return is_uncertain(site.function); });
  // Merges calls of the same stack from before and after their function was known.
  const auto group_of_other_name = [&](const model::Site& site) -> std::optional<uint32_t> {
    model::Site other = site;
    for (uint8_t i = 1; i < wire::kFunctionCount; ++i) {
      other.function = static_cast<wire::Function>(i);
      const bool is_other =
          is_uncertain(site.function) ? may_be(site.function, other.function) : may_be(other.function, site.function);
      if (!is_other) continue;
      const auto found = known.find(content_of(other));
      if (found == known.end()) continue;
      const wire::Function called = tables.sites[first_sites_[found->second]].function;
      if (called == other.function) return found->second;
    }
    return std::nullopt;
  };
  ids_.resize(tables.sites.size());
  next_sites_.resize(tables.sites.size(), kNoSite);
  for (model::SiteId site = 0; site < tables.sites.size(); ++site) {
    const model::Site& entry = tables.sites[site];
    if (!model::allocates(entry.kind)) continue;
    auto [found, added] = known.emplace(content_of(entry), static_cast<uint32_t>(first_sites_.size()));
    if (added && has_uncertain) {
      if (const auto other = group_of_other_name(entry)) {
        found->second = *other;
        added = false;
      }
    }
    const uint32_t group = found->second;
    if (added) {
      first_sites_.push_back(site);
      last_sites.push_back(site);
    } else if (is_uncertain(tables.sites[first_sites_[group]].function) && !is_uncertain(entry.function)) {
      next_sites_[site] = first_sites_[group];  // the group gets this one's name
      first_sites_[group] = site;
    } else {
      next_sites_[last_sites[group]] = site;
      last_sites[group] = site;
    }
    ids_[site] = group + 1;
  }
}

StackContent StackIndex::content_of(const model::Site& site) const {
  StackContent content = contents_[site.stack];
  content.high += static_cast<uint64_t>(site.function) +
                  uint64_t{site.label < first_labels_.size() ? first_labels_[site.label] : 0} * 0x9e3779b97f4a7c15u;
  return content;
}

std::vector<model::CodeId> codes_of(const model::Tables& tables, model::StackId stack) {
  std::vector<model::CodeId> codes;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    codes.push_back(tables.stacks[stack].code);
  }
  return codes;
}

StackShape shape_of(const model::Tables& tables, model::StackId stack) {
  StackShape shape;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    ++shape.depth;
    shape.outermost = tables.stacks[stack].code;
  }
  shape.end = static_cast<wire::StackEnd>(stack);
  return shape;
}

}  // namespace heaptap::query
