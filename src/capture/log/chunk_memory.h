// Pages of a log's chunks, allocated and freed by the collector: a page is charged to the memory group (cgroup) of the
// process that touches it first, which must not be the program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace heaptap::log {

// For pages of the log in use or not; their contents stay unchanged. False: the kernel has no memory for them.
[[nodiscard]] bool make_pages(const void* start, size_t bytes);

class ChunkMemory {
 public:
  // `is_sparse`: freed pages take no memory and can be allocated again while there is memory. Not for a file.
  ChunkMemory(std::span<uint8_t> chunks, bool is_sparse) : chunks_(chunks), is_sparse_(is_sparse) {}

  // For chunks that no thread writes to. False: the kernel has no memory for them.
  [[nodiscard]] bool make(uint32_t first, uint32_t count) const;
  [[nodiscard]] bool make(std::span<const uint32_t> chunks) const;
  // For unused chunks. Sorts them.
  void give_back(std::vector<uint32_t>& chunks) const;

 private:
  std::span<uint8_t> chunks_;
  bool is_sparse_;
};

}  // namespace heaptap::log
