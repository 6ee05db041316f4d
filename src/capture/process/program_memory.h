// Memory of a program that doesn't run: a stopped process (process_memory.h), or what a core file has of one
// (record/core_files/core_memory.h). What a leak scan reads.
#pragma once
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "capture/process/memory_map.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"

namespace heaptap::process {

class ProgramMemory : public base::ByteSource {
 public:
  // The parts of [begin, end) worth reading, ascending, in whole pages: without untouched pages, and without unmodified
  // pages of a private file mapping.
  virtual std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end) = 0;
  // The first address in [begin, end) that may have been touched, or the end.
  [[nodiscard]] virtual uint64_t skip_untouched(uint64_t begin, uint64_t end) const = 0;

  // One value; none where it isn't fully readable.
  template <typename T>
  std::optional<T> value(uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T result;
    if (read_some(address, &result, sizeof(result)) != sizeof(result)) return std::nullopt;
    return result;
  }

  // Words of the program's size: one (none if unreadable), and as many of a range as are readable, up to kMaxWordsBytes:
  // the range may come from the program itself.
  static constexpr size_t kMaxWordsBytes = size_t{64} << 20;
  [[nodiscard]] std::optional<uint64_t> word(uint64_t address) const;
  [[nodiscard]] std::vector<uint64_t> words(base::AddressRange range) const;
  [[nodiscard]] unsigned word_bytes() const { return word_bytes_; }

  [[nodiscard]] const std::vector<Mapping>& map() const { return map_; }

 protected:
  ProgramMemory(std::vector<Mapping> map, unsigned word_bytes) : map_(std::move(map)), word_bytes_(word_bytes) {}
  ~ProgramMemory() = default;

  std::vector<Mapping> map_;  // ascending, disjoint

 private:
  template <typename Word>
  [[nodiscard]] std::vector<Word> words_of(base::AddressRange range) const;

  unsigned word_bytes_;
};

}  // namespace heaptap::process
