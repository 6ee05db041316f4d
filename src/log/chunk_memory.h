// The pages of a log's chunks, made and given back from the collector's side: a page is charged to the memory group (cgroup) of
// whoever touches it first, which shall not be the program's.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace heaptap::log {

class ChunkMemory {
 public:
  // `is_sparse`: pages that are given back are no memory, and can be made again whenever there is memory. So it isn't in a file.
  ChunkMemory(std::span<uint8_t> chunks, bool is_sparse) : chunks_(chunks), is_sparse_(is_sparse) {}

  // Of chunks that nobody writes to. False: the kernel has no memory for them.
  [[nodiscard]] bool make(uint32_t first, uint32_t count) const;
  [[nodiscard]] bool make(std::span<const uint32_t> chunks) const;
  // Of chunks that nobody has. Puts them in order.
  void give_back(std::vector<uint32_t>& chunks) const;

 private:
  std::span<uint8_t> chunks_;
  bool is_sparse_;
};

}  // namespace heaptap::log
