// Copies of ranges of another process's memory. Private to scan/.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/address_range.h"

namespace heaptap::scan {

// One copied range. No bytes: it couldn't be read.
struct CopiedRange {
  base::AddressRange range;
  uint8_t* bytes = nullptr;

  [[nodiscard]] uint8_t* at(uint64_t address) const { return bytes + (address - range.begin); }
};

// Room for copies, which is taken from the kernel in large parts, and given back as a whole.
class PageStore {
 public:
  // Null: no memory.
  uint8_t* take(uint64_t bytes);

 private:
  struct Unmap {
    size_t bytes;
    void operator()(uint8_t* begin) const;
  };
  std::vector<std::unique_ptr<uint8_t, Unmap>> parts_;
  uint8_t* next_ = nullptr;
  uint64_t free_bytes_ = 0;
};

// Reads the ranges, many with one system call. `thread` is any live thread of the process. Calls done(range) for each
// part that was read, and failed(range) for each page, or part of a range, that wasn't.
class RangeReader {
 public:
  explicit RangeReader(pid_t thread) : thread_(thread) {}

  template <typename Done, typename Failed>
  void read(std::span<const CopiedRange> ranges, Done done, Failed failed) {
    for (size_t next = 0; next < ranges.size();) {
      const size_t count = read_batch(ranges.subspan(next));
      uint64_t rest = got_bytes_;
      for (const CopiedRange& each : ranges.subspan(next, count)) {
        const uint64_t part = rest < each.range.size() ? rest : each.range.size();
        rest -= part;
        if (part != 0) done(CopiedRange{{each.range.begin, each.range.begin + part}, each.bytes});
        if (part == each.range.size()) continue;
        failed(CopiedRange{{each.range.begin + part, each.range.end}, each.at(each.range.begin + part)});
      }
      next += count;
    }
  }

 private:
  // Sets got_bytes_. Returns the number of ranges up to the first one that wasn't read as a whole, which is the last then.
  size_t read_batch(std::span<const CopiedRange> ranges);

  pid_t thread_;
  uint64_t got_bytes_ = 0;
};

}  // namespace heaptap::scan
