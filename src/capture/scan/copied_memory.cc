#include "capture/scan/copied_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/sizes.h"

namespace heaptap::scan {

CopiedMemory::CopiedMemory(Parts parts)
    : ProgramMemory(std::move(parts.map), sizeof(uint64_t)),
      states_(std::move(parts.states)),
      ranges_(std::move(parts.ranges)),
      store_(std::move(parts.store)),
      files_(std::move(parts.files)),
      again_bytes_(parts.again_bytes) {
  for (const CopiedRange& each : ranges_) copied_bytes_ += each.range.size();
}

size_t CopiedMemory::read_some(uint64_t address, void* into, size_t wanted) const {
  const std::span to(static_cast<uint8_t*>(into), wanted);
  size_t done = 0;
  while (done < to.size()) {
    const size_t got = read_part(address + done, to.subspan(done));
    if (got == 0) break;
    done += got;
  }
  return done;
}

// Up to the end of what is alike.
size_t CopiedMemory::read_part(uint64_t address, std::span<uint8_t> to) const {
  const auto next =
      std::ranges::upper_bound(ranges_, address, {}, [](const CopiedRange& each) { return each.range.end; });
  if (next != ranges_.end() && next->range.contains(address)) {
    if (next->bytes == nullptr) return 0;
    const size_t bytes = base::at_most(to.size(), next->range.end - address);
    std::memcpy(to.data(), next->at(address), bytes);
    return bytes;
  }
  const process::Mapping* const mapping = process::find_mapping(map_, address);
  if (mapping == nullptr || mapping->shared) return 0;
  const uint64_t end = next == ranges_.end() ? mapping->range.end : std::min(mapping->range.end, next->range.begin);
  to = to.first(base::at_most(to.size(), end - address));
  if (mapping->has_file()) return mapping->readable ? files_.read(*mapping, address, to) : 0;
  const bool is_own = mapping->is_anonymous() || mapping->is_kernels("[heap]") || mapping->is_kernels("[stack]");
  if (!is_own) return 0;
  std::ranges::fill(to, uint8_t{0});  // untouched
  return to.size();
}

std::vector<base::AddressRange> CopiedMemory::touched_ranges(uint64_t begin, uint64_t end) {
  std::vector<base::AddressRange> parts;
  auto mapping = std::ranges::upper_bound(map_, begin, {}, [](const process::Mapping& m) { return m.range.end; });
  for (; mapping != map_.end() && mapping->range.begin < end; ++mapping) {
    states_.touched({std::max(begin, mapping->range.begin), std::min(end, mapping->range.end)}, !mapping->shared,
                    parts);
  }
  return parts;
}

}  // namespace heaptap::scan
