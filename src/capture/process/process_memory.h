// Memory of another process, which should be stopped. Reads only; makes no pages in the target, and never waits for a
// process that may be stopped with it: absent pages are identified through the kernel first, and touched, if at all, in
// a thread that can be abandoned.
#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/process/page_map.h"
#include "capture/process/page_touch.h"
#include "capture/process/present_pages.h"
#include "capture/process/program_memory.h"
#include "capture/process/remote_memory.h"
#include "common/base/address_range.h"
#include "common/base/unique_fd.h"

namespace heaptap::process {

class ProcessMemory final : public ProgramMemory {
 public:
  // `thread` is any live thread of the process (StoppedProcess::live_thread), `word_bytes` 4 or 8. Reads the memory map, once.
  explicit ProcessMemory(pid_t thread, unsigned word_bytes = sizeof(uint64_t));

  // Includes private memory that the process itself may not read. Large ranges are best read in pieces that fit the
  // cache (256 KiB: over 5 GB/s).
  size_t read_some(uint64_t address, void* to, size_t bytes) const override;

  // An access timed out: absent memory isn't read any more, and the process should be released by whatever stopped it.
  [[nodiscard]] bool has_given_up() const { return has_given_up_; }

  std::vector<base::AddressRange> touched_ranges(uint64_t begin, uint64_t end) override;

  [[nodiscard]] uint64_t skip_untouched(uint64_t begin, uint64_t end) const override {
    return pages_.skip_untouched({begin, end});
  }
  [[nodiscard]] PageMap& pages() { return pages_; }

 private:
  static constexpr uint64_t kPagesAtOnce = 512;
  enum class Presence : uint8_t { kUnknown, kThere, kUntouched };
  using Presences = std::array<Presence, kPagesAtOnce>;

  [[nodiscard]] size_t bytes_alike(uint64_t address, size_t bytes, Presence& presence) const;
  [[nodiscard]] bool is_copied(uint64_t address) const { return copies_ && can_name(address); }
  [[nodiscard]] Presence& presence_of(uint64_t page) const;
  size_t read_there(uint64_t address, std::span<uint8_t> to) const;
  size_t read_missing(uint64_t address, std::span<uint8_t> to, bool is_untouched) const;
  size_t read_from_file(uint64_t address, std::span<uint8_t> to) const;

  pid_t thread_;
  std::shared_ptr<const base::UniqueFd> file_;  // /proc/PID/mem
  mutable bool copies_ = true;                  // process_vm_readv works
  PageMap pages_;
  PresentPages present_;
  mutable std::unordered_map<uint64_t, Presences> known_pages_;  // by page number / kPagesAtOnce
  std::vector<base::AddressRange> userfaults_;
  mutable PageTouch touch_;
  mutable bool has_given_up_ = false;
};

}  // namespace heaptap::process
