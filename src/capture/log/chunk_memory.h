// Pages of a log's chunks, allocated and freed by the collector: a page is charged to the memory group (cgroup) of the
// process that touches it first, which must not be the program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/pages.h"

namespace heaptap::log {

// For pages of the log in use or not; their contents stay unchanged. False: the kernel has no memory for them.
[[nodiscard]] bool make_pages(const void* start, size_t bytes);

class ChunkMemory {
 public:
  // `is_sparse`: freed pages take no memory and can be allocated again while there is memory. Not for a file. `page_bytes`: the kernel's,
  // or a multiple.
  ChunkMemory(std::span<uint8_t> chunks, bool is_sparse, uint64_t page_bytes = base::page_bytes())
      : chunks_(chunks), page_bytes_(page_bytes), is_sparse_(is_sparse) {}

  // For chunks that no thread writes to. False: the kernel has no memory for them.
  [[nodiscard]] bool make(uint32_t first, uint32_t count) const;
  [[nodiscard]] bool make(std::span<const uint32_t> chunks) const;
  // For unused chunks. Sorts them. A page that is shared with a chunk in use stays.
  void give_back(std::vector<uint32_t>& chunks) const;

 private:
  std::span<uint8_t> chunks_;
  uint64_t page_bytes_;
  bool is_sparse_;
};

}  // namespace heaptap::log
