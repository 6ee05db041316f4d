#include "record/recordings/write_watches.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "capture/tracer/userfault_maker.h"
#include "common/base/pages.h"
#include "common/base/process_file.h"
#include "common/base/small_file.h"

namespace heaptap::recordings {
namespace {

constexpr uint64_t kLeastResidentBytes = uint64_t{32} << 20;

// The second number of /proc/PID/statm, in pages.
uint64_t resident_bytes_of(pid_t process) {
  const std::string text = base::read_small_file(base::process_file(process, "statm"));
  const size_t blank = text.find(' ');
  return blank == text.npos ? 0 : std::strtoull(text.c_str() + blank, nullptr, 10) * base::page_bytes();
}

base::Result<process::WriteWatch> watch_writes_of(pid_t process) {
  auto userfault = tracer::make_userfault_of(process);
  if (!userfault) return std::unexpected(std::move(userfault).error());
  return process::WriteWatch::create(*std::move(userfault));
}

}  // namespace

WriteWatches watch_writes_of(std::span<const pid_t> processes) {
  WriteWatches watches;
  for (const pid_t process : processes) {
    if (resident_bytes_of(process) >= kLeastResidentBytes) watches.emplace(process, watch_writes_of(process));
  }
  return watches;
}

}  // namespace heaptap::recordings
