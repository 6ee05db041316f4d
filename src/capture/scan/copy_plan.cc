#include "capture/scan/copy_plan.h"

#include <algorithm>

#include "capture/scan/own_mappings.h"
#include "capture/scan/searched_mappings.h"
#include "common/base/address_ranges.h"

namespace heaptap::scan {
namespace {

using base::AddressRange;
using process::Mapping;
using process::PageRun;

// The kernel's own mappings, but for heap and stacks.
bool is_special(const Mapping& mapping) {
  return !mapping.has_file() && mapping.name.starts_with('[') && !mapping.name.starts_with("[anon") &&
         !mapping.is_kernels("[heap]") && !mapping.is_kernels("[stack]");
}

bool is_of_no_file(const Mapping& mapping) { return !mapping.shared && !mapping.has_file() && !is_special(mapping); }

bool is_searched_shared(const Mapping& mapping, const process::PageStates& now) {
  if (is_our_log(mapping) || !is_shared_memory(mapping)) return false;
  if (!mapping.writable && !has_made_code(mapping)) return false;
  if (!may_be_large_file(mapping)) return true;
  std::vector<AddressRange> touched;
  now.touched(mapping.range, false, touched);
  uint64_t bytes = 0;
  for (const AddressRange& part : touched) bytes += part.size();
  return bytes <= kMaxTouchedBytes;
}

void append(AddressRange part, std::vector<AddressRange>& parts) {
  if (part.begin < part.end) base::append_joined(part, parts);
}

// Divides an unchanged part into what was copied and what wasn't.
void keep_copied(AddressRange part, std::span<const AddressRange> copied, CopyPlan& plan) {
  auto at = std::ranges::upper_bound(copied, part.begin, {}, &AddressRange::end);
  for (; at != copied.end() && at->begin < part.end; ++at) {
    const uint64_t begin = std::max(at->begin, part.begin);
    append({part.begin, begin}, plan.read);
    part.begin = std::min(at->end, part.end);
    append({begin, part.begin}, plan.kept);
  }
  append(part, plan.read);
}

}  // namespace

bool is_copied_early(const Mapping& mapping) {
  return is_of_no_file(mapping) && mapping.readable && !mapping.is_kernels("[stack]");
}

CopyPlan plan_copy(const std::vector<Mapping>& map, const process::PageStates& now,
                   std::span<const AddressRange> copied) {
  CopyPlan plan;
  for (const Mapping& mapping : map) {
    if (mapping.is_kernels("[vdso]")) {
      append(mapping.range, plan.read);
      continue;
    }
    if (mapping.shared ? !is_searched_shared(mapping, now) : is_special(mapping)) continue;
    for (const PageRun& run : now.from(mapping.range.begin)) {
      if (run.range.begin >= mapping.range.end) break;
      if (run.is_zeros || (run.is_file && !mapping.shared)) continue;
      const AddressRange part{std::max(run.range.begin, mapping.range.begin),
                              std::min(run.range.end, mapping.range.end)};
      if (is_copied_early(mapping) && run.is_unchanged()) {
        keep_copied(part, copied, plan);
      } else {
        append(part, plan.read);
      }
    }
  }
  return plan;
}

}  // namespace heaptap::scan
