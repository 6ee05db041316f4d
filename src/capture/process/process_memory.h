// Memory of another process, which should be stopped. Reads only; makes no pages in the target, and never waits for a
// process that may be stopped with it: absent pages are identified through the kernel first, and touched, if at all, in
// a thread that can be abandoned.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "capture/process/memory_map.h"
#include "capture/process/page_map.h"
#include "capture/process/page_touch.h"
#include "capture/process/present_pages.h"
#include "capture/process/remote_memory.h"
#include "common/base/address_range.h"
#include "common/base/byte_source.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {

class ProcessMemory final : public base::ByteSource {
 public:
  // `thread` is any live thread of the process (StoppedProcess::live_thread), `word_bytes` 4 or 8. Reads the memory map, once.
  explicit ProcessMemory(pid_t thread, unsigned word_bytes = sizeof(uint64_t));

  // Includes private memory that the process itself may not read. Large ranges are best read in pieces that fit the
  // cache (256 KiB: over 5 GB/s).
  size_t read_some(uint64_t address, void* to, size_t bytes) const override;

  // An access timed out: absent memory isn't read any more, and the process should be released by whatever stopped it.
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

  // The parts of `range` worth reading, ascending, in whole pages: without untouched pages, and without unmodified
  // pages of a private file mapping.
  std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end);

  // One value; none where it isn't fully readable.
  template <typename T>
  std::optional<T> value(uint64_t address) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T result;
    if (read_some(address, &result, sizeof(result)) != sizeof(result)) return std::nullopt;
    return result;
  }

  // Words of the target's size: one (none if unreadable), and as many of a range as are readable, up to kMaxWordsBytes:
  // the range may come from the target itself.
  static constexpr size_t kMaxWordsBytes = size_t{64} << 20;
  [[nodiscard]] std::optional<uint64_t> word(uint64_t address) const;
  [[nodiscard]] std::vector<uint64_t> words(base::AddressRange range) const;
  [[nodiscard]] unsigned word_bytes() const { return word_bytes_; }

  [[nodiscard]] const std::vector<Mapping>& map() const { return map_; }
  // The first address in [begin, end) that may have been touched, or the end: see PageMap::skip_untouched.
  [[nodiscard]] uint64_t skip_untouched(uint64_t begin, uint64_t end) const {
    return pages_.skip_untouched({begin, end});
  }
  [[nodiscard]] PageMap& pages() { return pages_; }

 private:
  // Presence bits of 512 pages each.
  static constexpr uint64_t kPagesAtOnce = 512;
  using PageBits = std::array<uint64_t, kPagesAtOnce / 64>;

  [[nodiscard]] size_t bytes_alike(uint64_t address, size_t bytes, bool& there) const;
  [[nodiscard]] bool is_copied(uint64_t address) const { return copies_ && can_name(address); }
  [[nodiscard]] PageBits& bits_of(uint64_t page) const;
  size_t read_there(uint64_t address, std::span<uint8_t> to) const;
  size_t read_missing(uint64_t address, std::span<uint8_t> to) const;
  size_t read_from_file(uint64_t address, std::span<uint8_t> to) const;

  template <typename Word>
  [[nodiscard]] std::vector<Word> words_of(base::AddressRange range) const;

  pid_t thread_;
  unsigned word_bytes_;
  std::shared_ptr<const base::UniqueFd> file_;  // /proc/PID/mem
  mutable bool copies_ = true;                  // process_vm_readv works
  std::vector<Mapping> map_;
  PageMap pages_;
  PresentPages present_;
  mutable std::unordered_map<uint64_t, PageBits> known_pages_;  // presence, by page number / kPagesAtOnce
  std::vector<base::AddressRange> userfaults_;
  mutable PageTouch touch_;
  mutable bool has_given_up_ = false;
};

}  // namespace heaptap::process
