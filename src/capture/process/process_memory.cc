#include "capture/process/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "capture/process/remote_memory.h"
#include "capture/process/userfaults.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"

namespace heaptap::process {

ProcessMemory::ProcessMemory(pid_t thread, unsigned word_bytes)
    : ProgramMemory(read_memory_map(thread), word_bytes),
      thread_(thread),
      file_(std::make_shared<const base::UniqueFd>(
          open(base::process_file(thread, "mem").c_str(), O_RDONLY | O_CLOEXEC))),
      pages_(thread),
      present_(thread),
      userfaults_(read_userfault_ranges(thread)) {}

size_t ProcessMemory::read_some(uint64_t address, void* into, size_t wanted) const {
  const std::span to(static_cast<uint8_t*>(into), wanted);
  size_t done = 0;
  while (done < to.size()) {
    Presence presence{};
    const size_t bytes = bytes_alike(address + done, to.size() - done, presence);
    const std::span<uint8_t> part = to.subspan(done, bytes);
    const size_t got = presence == Presence::kThere
                           ? read_there(address + done, part)
                           : read_missing(address + done, part, presence == Presence::kUntouched);
    done += got;
    if (got < bytes) break;
  }
  return done;
}

ProcessMemory::Presence& ProcessMemory::presence_of(uint64_t page) const {
  const auto [known, is_new] = known_pages_.try_emplace(page / kPagesAtOnce);
  Presences& presences = known->second;
  if (is_new) {
    std::array<uint64_t, kPagesAtOnce> entries;
    const size_t got = present_.read_entries(page / kPagesAtOnce * kPagesAtOnce, entries);
    for (size_t i = 0; i < got; ++i) {
      if (is_there(entries[i], Access::kRead)) {
        presences[i] = Presence::kThere;
      } else if (is_untouched(entries[i])) {
        presences[i] = Presence::kUntouched;
      }
    }
  }
  return presences[page % kPagesAtOnce];
}

// Number of bytes before the first page whose presence differs from the first one's.
size_t ProcessMemory::bytes_alike(uint64_t address, size_t bytes, Presence& presence) const {
  presence = Presence::kThere;
  if (!present_.is_known()) return bytes;
  const uint64_t page_size = base::page_bytes();
  uint64_t page = address / page_size;
  const uint64_t end = (address + bytes - 1) / page_size + 1;
  presence = presence_of(page);
  do {
    ++page;
  } while (page < end && presence_of(page) == presence);
  return page < end ? base::at_most(bytes, page * page_size - address) : bytes;
}

size_t ProcessMemory::read_there(uint64_t address, std::span<uint8_t> to) const {
  size_t done = 0;
  while (done < to.size()) {
    const iovec here{to.data() + done, to.size() - done};
    const iovec there = remote_part(address + done, to.size() - done);
    ssize_t got = is_copied(address + done) ? process_vm_readv(thread_, &here, 1, &there, 1, 0) : 0;
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) copies_ = false;  // /proc/PID/mem does the same
    if (got <= 0) got = static_cast<ssize_t>(read_from_file(address + done, to.subspan(done)));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

// Untouched private memory reads as zeros, and stays untouched. All other absent pages are touched; ranges of a userfaultfd are left
// out, since only the program can fill them.
size_t ProcessMemory::read_missing(uint64_t address, std::span<uint8_t> to, bool is_untouched) const {
  const uint64_t page_size = base::page_bytes();
  size_t done = 0;
  while (done < to.size()) {
    const uint64_t at = address + done;
    const Mapping* mapping = find_mapping(map_, at);
    const bool is_watched =
        std::ranges::any_of(userfaults_, [&](const base::AddressRange& range) { return range.contains(at); });
    if (mapping == nullptr || is_watched) break;
    const bool is_kernels = mapping->name.starts_with('[') && !mapping->is_kernels("[heap]") &&
                            !mapping->is_kernels("[stack]") && !mapping->name.starts_with("[anon");
    const bool is_own = !mapping->shared && !mapping->has_file() && !is_kernels;
    const size_t rest = base::at_most(to.size() - done, mapping->range.end - at);
    if (is_own && is_untouched) {
      std::fill_n(to.data() + done, rest, uint8_t{0});
      done += rest;
      continue;
    }
    if (has_given_up_) break;
    const PageTouch::Outcome outcome =
        touch_.touch({.memory = file_, .address = at, .thread = mapping->is_of_file_system() ? thread_ : pid_t{0}});
    has_given_up_ = outcome == PageTouch::Outcome::kGivenUp;
    if (outcome == PageTouch::Outcome::kGivenUp) break;
    const size_t wanted = base::at_most(rest, page_size - at % page_size);
    const size_t got = read_there(at, to.subspan(done, wanted));
    if (got > 0) presence_of(at / page_size) = Presence::kThere;
    done += got;
    if (got < wanted) break;
  }
  return done;
}

// For PROT_NONE, and for everything that process_vm_readv is missing for. Memory only: reading a device's may have side
// effects.
size_t ProcessMemory::read_from_file(uint64_t address, std::span<uint8_t> to) const {
  const Mapping* mapping = find_mapping(map_, address);
  if (mapping == nullptr || !*file_) return 0;
  if (is_copied(address) && (mapping->readable || mapping->shared)) return 0;
  if (mapping->has_file() && mapping->name.starts_with("/dev/")) return 0;
  const size_t bytes = base::at_most(to.size(), mapping->range.end - address);
  const ssize_t got = pread(file_->get(), to.data(), bytes, static_cast<off_t>(address));
  return got > 0 ? static_cast<size_t>(got) : 0;
}

std::vector<base::AddressRange> ProcessMemory::touched_ranges(uint64_t begin, uint64_t end) {
  std::vector<base::AddressRange> parts;
  auto mapping = std::ranges::upper_bound(map_, begin, {}, [](const Mapping& m) { return m.range.end; });
  for (; mapping != map_.end() && mapping->range.begin < end; ++mapping) {
    const base::AddressRange range{std::max(begin, mapping->range.begin), std::min(end, mapping->range.end)};
    pages_.touched(range, !mapping->shared, parts);
  }
  return parts;
}

}  // namespace heaptap::process
