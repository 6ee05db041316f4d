#include "capture/scan/page_store.h"

#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <utility>

#include "capture/process/remote_memory.h"
#include "common/base/large_allocator.h"
#include "common/base/sizes.h"

namespace heaptap::scan {

void PageStore::Unmap::operator()(uint8_t* begin) const { munmap(begin, bytes); }

uint8_t* PageStore::take(uint64_t bytes) {
  constexpr uint64_t kPartBytes = uint64_t{64} << 20;
  if (bytes > free_bytes_) {
    const auto size = base::as_size(std::max(base::whole_pages(bytes), kPartBytes));
    void* const part = size ? base::map_huge_pages(*size) : nullptr;
    if (part == nullptr) return nullptr;
    next_ = static_cast<uint8_t*>(part);
    free_bytes_ = *size;
    parts_.push_back({next_, Unmap{*size}});
  }
  free_bytes_ -= bytes;
  return std::exchange(next_, next_ + bytes);
}

size_t RangeReader::read_batch(std::span<const CopiedRange> ranges) {
  constexpr size_t kMaxParts = 256;
  constexpr uint64_t kMaxBytes = uint64_t{4} << 20;
  std::array<iovec, kMaxParts> here{};
  std::array<iovec, kMaxParts> there{};
  size_t count = 0;
  uint64_t wanted = 0;
  while (count < std::min(ranges.size(), kMaxParts) &&
         (count == 0 || wanted + ranges[count].range.size() <= kMaxBytes)) {
    const CopiedRange& each = ranges[count];
    here[count] = {each.bytes, base::size_of_known(each.range.size())};
    there[count] = process::remote_part(each.range.begin, here[count].iov_len);
    wanted += here[count++].iov_len;
  }
  const ssize_t got = process_vm_readv(thread_, here.data(), count, there.data(), count, 0);
  got_bytes_ = got > 0 ? static_cast<uint64_t>(got) : 0;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += here[i].iov_len;
    if (sum > got_bytes_) return i + 1;
  }
  return count;
}

}  // namespace heaptap::scan
