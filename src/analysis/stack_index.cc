#include "analysis/stack_index.h"

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <random>
#include <utility>

#include "analysis/label_names.h"
#include "wire/log.h"

namespace heaptap::analysis {
namespace {

struct ContentHash {
  using is_avalanching = void;
  size_t operator()(const StackContent& content) const { return content.low; }
};
using GroupMap = boost::unordered_flat_map<StackContent, uint32_t, ContentHash, std::equal_to<>,
                                           base::LargeAllocator<std::pair<const StackContent, uint32_t>>>;

uint64_t fold(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// 128 bits, and other ones in each run: stacks with other content never get the same, not even in a trace made for it.
class Mixer {
 public:
  Mixer() {
    std::random_device random;
    for (uint64_t& key : keys_) key = uint64_t{random()} << 32 | random();
  }
  [[nodiscard]] StackContent mix(const StackContent& a, const StackContent& b) const {
    return {fold(a.low ^ b.low ^ keys_[0], a.high ^ b.high ^ keys_[1]),
            fold((a.low + b.high) ^ keys_[2], (a.high + b.low) ^ keys_[3])};
  }

 private:
  std::array<uint64_t, 4> keys_{};
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

}  // namespace

// A stack's parent comes before it in the table; whatever else a damaged trace says is taken as a stack's end.
model::StackId parent_of(const model::Tables& tables, model::StackId stack) {
  const model::StackId parent = tables.stacks[stack].parent;
  return parent < stack ? parent : static_cast<model::StackId>(wire::StackEnd::kUnreadable);
}

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
  ids_.resize(tables.sites.size());
  next_sites_.resize(tables.sites.size(), kNoSite);
  for (model::SiteId site = 0; site < tables.sites.size(); ++site) {
    const model::Site& entry = tables.sites[site];
    if (!model::allocates(entry.kind)) continue;
    const auto [found, added] = known.emplace(content_of(entry), static_cast<uint32_t>(first_sites_.size()));
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

size_t depth_of(const model::Tables& tables, model::StackId stack) {
  size_t depth = 0;
  for (; stack >= wire::kRootCount; stack = parent_of(tables, stack)) {
    ++depth;
  }
  return depth;
}

wire::StackEnd end_of(const model::Tables& tables, model::StackId stack) {
  while (stack >= wire::kRootCount) {
    stack = parent_of(tables, stack);
  }
  return static_cast<wire::StackEnd>(stack);
}

}  // namespace heaptap::analysis
