// Grouping of equal sites: one function called from stacks with equal content, under the same label. A trace may contain a stack more
// than once, under different numbers, where threads found it at the same time.
#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/large_allocator.h"
#include "common/model/tables.h"
#include "common/wire/log.h"

namespace heaptap::query {

// Hash of a stack's content, comparable within one run of heaptap.
struct StackContent {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const StackContent&) const = default;
};

class StackIndex {
 public:
  explicit StackIndex(const model::Tables& tables);

  // Groups of equal sites that allocate (or map). Ids start at 1, in order of first occurrence in the trace, whatever part of it is
  // shown.
  [[nodiscard]] uint64_t group_count() const { return first_sites_.size(); }
  [[nodiscard]] uint64_t id_of(model::SiteId site) const { return ids_[site]; }  // 0: doesn't allocate
  // Sites of a group: for (SiteId site = first_site(id); site != kNoSite; site = next_site(site))
  static constexpr model::SiteId kNoSite = ~model::SiteId{0};
  [[nodiscard]] model::SiteId first_site(uint64_t id) const { return first_sites_[id - 1]; }
  [[nodiscard]] model::SiteId next_site(model::SiteId site) const { return next_sites_[site]; }

  // By site: see id_of.
  [[nodiscard]] std::span<const uint32_t> ids() const { return ids_; }

  // Equal for one function called from the same stack, whatever the kind of the site.
  [[nodiscard]] StackContent content_of(const model::Site& site) const;

 private:
  void mix_stacks(const model::Tables& tables);
  void group_sites(const model::Tables& tables);

  std::vector<model::LabelId> first_labels_;      // by label
  base::LargeVector<StackContent> contents_;      // by stack
  base::LargeVector<model::SiteId> first_sites_;  // by group
  base::LargeVector<model::SiteId> next_sites_;   // by site
  base::LargeVector<uint32_t> ids_;               // by site
};

// A stack's parent comes before it in the tables; any other one in a damaged trace counts as a stack's end. Inline: asked at each step of
// each walk.
inline model::StackId parent_of(const model::Tables& tables, model::StackId stack) {
  const model::StackId parent = tables.stacks[stack].parent;
  return parent < stack ? parent : static_cast<model::StackId>(wire::StackEnd::kUnreadable);
}

struct StackShape {
  size_t depth = 0;                                // number of return addresses
  wire::StackEnd end = wire::StackEnd::kComplete;  // reason why there are no further frames
  model::CodeId outermost = 0;                     // if there are any
};
StackShape shape_of(const model::Tables& tables, model::StackId stack);

// The codes of a stack, innermost first.
std::vector<model::CodeId> codes_of(const model::Tables& tables, model::StackId stack);

}  // namespace heaptap::query
