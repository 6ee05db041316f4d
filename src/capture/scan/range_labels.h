// Labels of a target's memory ranges: they are painted over each other, the last one counts.
#pragma once
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "common/base/address_range.h"
#include "common/wire/heap_scan.h"

namespace heaptap::scan {

// begin > end: they are apart.
inline base::AddressRange common_part(base::AddressRange a, base::AddressRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// A label that is made without arguments stands for none.
template <typename Label>
class PaintedRanges {
 public:
  void set(base::AddressRange range, Label label) {
    if (range.begin >= range.end) return;
    split(range.end);
    split(range.begin);
    starts_.erase(starts_.find(range.begin), starts_.find(range.end));
    starts_[range.begin] = label;
  }

  // Calls use(AddressRange, Label) for each labelled part, ascending.
  template <typename Use>
  void each(Use use) const {
    for (auto at = starts_.begin(); at != starts_.end(); ++at) {
      const auto next = std::next(at);
      if (at->second != Label{} && next != starts_.end()) use(base::AddressRange{at->first, next->first}, at->second);
    }
  }

 private:
  // Creates a boundary at the address.
  void split(uint64_t address) {
    const auto behind = starts_.upper_bound(address);
    const Label before = behind == starts_.begin() ? Label{} : std::prev(behind)->second;
    starts_.emplace(address, before);
  }

  std::map<uint64_t, Label> starts_;  // a label extends to the next one's address
};

// Root kinds.
struct RootLabel {
  std::optional<wire::RootKind> kind;  // none: not a root
  uint32_t thread_id = 0;
  bool operator==(const RootLabel&) const = default;
};

class RangeLabels : public PaintedRanges<RootLabel> {
 public:
  void paint(base::AddressRange range, wire::RootKind kind, uint32_t thread_id = 0) { set(range, {kind, thread_id}); }
  void erase(base::AddressRange range) { set(range, {}); }
};

}  // namespace heaptap::scan
