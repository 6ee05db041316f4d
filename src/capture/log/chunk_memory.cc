#include "capture/log/chunk_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "common/base/pages.h"
#include "common/base/sizes.h"
#include "common/wire/log.h"

namespace heaptap::log {
namespace {

#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_WRITE = 23;  // since Linux 5.14
#endif

void touch(uintptr_t begin, uintptr_t end) {
  for (uintptr_t at = begin; at < end; at += base::size_of_known(base::page_bytes())) {
    std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(at)).fetch_or(0, std::memory_order_relaxed);
  }
}

}  // namespace

bool make_pages(const void* start, size_t bytes) {
  const auto begin = static_cast<uintptr_t>(base::page_begin(reinterpret_cast<uintptr_t>(start)));
  const uintptr_t end = reinterpret_cast<uintptr_t>(start) + bytes;
  if (madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  touch(begin, end);
  return true;
}

bool ChunkMemory::make(uint32_t first, uint32_t count) const {
  if (!is_sparse_ || count == 0) return true;
  return make_pages(chunks_.data() + uint64_t{first} * wire::kChunkBytes, size_t{count} * wire::kChunkBytes);
}

bool ChunkMemory::make(std::span<const uint32_t> chunks) const {
  return std::ranges::all_of(chunks, [this](uint32_t chunk) { return make(chunk, 1); });
}

void ChunkMemory::give_back(std::vector<uint32_t>& chunks) const {
  std::ranges::sort(chunks);
  for (size_t at = 0; is_sparse_ && at < chunks.size();) {
    size_t end = at + 1;
    while (end < chunks.size() && chunks[end] == chunks[end - 1] + 1) ++end;
    const uint64_t begin = reinterpret_cast<uintptr_t>(chunks_.data()) + uint64_t{chunks[at]} * wire::kChunkBytes;
    const base::AddressRange pages =
        base::pages_within({begin, begin + uint64_t{end - at} * wire::kChunkBytes}, page_bytes_);
    if (pages.size() > 0) {
      (void)madvise(reinterpret_cast<void*>(base::size_of_known(pages.begin)), base::size_of_known(pages.size()),
                    MADV_REMOVE);
    }
    at = end;
  }
}

}  // namespace heaptap::log
