#include "capture/process/present_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/sizes.h"

namespace heaptap::process {

PresentPages::PresentPages(pid_t thread)
    : file_(open(base::process_file(thread, "pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}

size_t PresentPages::read_entries(uint64_t page, std::span<uint64_t> entries) const {
  ssize_t got = -1;
  do {
    got = pread(file_.get(), entries.data(), entries.size_bytes(), static_cast<off_t>(page * sizeof(uint64_t)));
  } while (got < 0 && errno == EINTR);
  return got > 0 ? static_cast<size_t>(got) / sizeof(uint64_t) : 0;
}

size_t PresentPages::bytes_there(uint64_t address, size_t bytes, Access access) const {
  if (!file_) return bytes;
  constexpr size_t kAtOnce = 32;
  std::array<uint64_t, kAtOnce> entries;
  const uint64_t page_size = base::page_bytes();
  size_t done = 0;
  while (done < bytes) {
    const uint64_t page = (address + done) / page_size;
    const size_t wanted = base::at_most(kAtOnce, (address + bytes - 1) / page_size - page + 1);
    const size_t got = read_entries(page, std::span(entries).first(wanted));
    for (size_t i = 0; i < got; ++i) {
      if (!is_there(entries[i], access)) return done;
      done = base::at_most(bytes, (page + i + 1) * page_size - address);
    }
    if (got < wanted) break;
  }
  return done;
}

}  // namespace heaptap::process
