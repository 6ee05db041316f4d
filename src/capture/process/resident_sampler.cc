#include "capture/process/resident_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

namespace heaptap::process {
namespace {

constexpr uint64_t kKib = 1024;

// The number of "\nName:   123 kB". The first line, the process's name, has its newlines escaped.
std::optional<uint64_t> kib_of(std::string_view status, std::string_view name) {
  const size_t at = status.find(name);
  if (at == status.npos) return std::nullopt;
  std::string_view line = status.substr(at + name.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  uint64_t kib = 0;
  const auto end = std::from_chars(line.data(), line.data() + line.size(), kib);
  line.remove_prefix(static_cast<size_t>(end.ptr - line.data()));
  if (end.ec != std::errc{} || !line.starts_with(" kB\n") || kib >= model::kMaxResidentBytes / kKib)
    return std::nullopt;
  return kib * kKib;
}

// Up to the last line that is needed: one call, unless the process has hundreds of groups.
std::string read_status(int descriptor) {
  constexpr size_t kPieceBytes = 4096;
  constexpr size_t kMaxBytes = size_t{1} << 20;
  std::string text;
  while (text.size() < kMaxBytes) {
    const size_t before = text.size();
    text.resize(before + kPieceBytes);
    const ssize_t got = pread(descriptor, text.data() + before, kPieceBytes, static_cast<off_t>(before));
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    const size_t swap = text.find("\nVmSwap:");
    if (got <= 0 || (swap != text.npos && text.find('\n', swap + 1) != text.npos)) break;
  }
  return text;
}

}  // namespace

std::optional<model::ResidentSample> read_resident(std::string_view status) {
  const auto anonymous = kib_of(status, "\nRssAnon:");
  const auto file = kib_of(status, "\nRssFile:");
  const auto shared = kib_of(status, "\nRssShmem:");
  if (!anonymous || !file || !shared) return std::nullopt;
  return model::ResidentSample{.anonymous_bytes = *anonymous,
                               .file_bytes = *file,
                               .shared_bytes = *shared,
                               .swapped_bytes = kib_of(status, "\nVmSwap:"),
                               .peak_bytes = kib_of(status, "\nVmHWM:")};
}

uint64_t ResidentRhythm::interval_ns(uint64_t samples) {
  constexpr uint64_t kMaxDoublings = 32;  // 2.7 years
  return kFirstNs << std::min(samples / kSamplesEach, kMaxDoublings);
}

// A descriptor stays with the process: another one that gets its number later isn't read.
ResidentSampler::ResidentSampler(pid_t process)
    : status_(open(("/proc/" + std::to_string(process) + "/status").c_str(), O_RDONLY | O_CLOEXEC)) {}

std::optional<model::ResidentSample> ResidentSampler::take(uint64_t now_ns) {
  // The kernel's counters are exact up to some pages of each CPU or thread.
  constexpr uint64_t kInexactBytes = uint64_t{512} << 10;
  if (!status_) return std::nullopt;
  if (is_due(now_ns)) due_ns_ = now_ns + ResidentRhythm::interval_ns(count_++);
  auto sample = read_resident(read_status(status_.get()));
  // The highest value never falls, except in a new program, which isn't this recording's.
  const uint64_t peak_bytes = sample ? sample->peak_bytes.value_or(0) : 0;
  if (peak_bytes + kInexactBytes < peak_bytes_) return std::nullopt;
  peak_bytes_ = std::max(peak_bytes_, peak_bytes);
  return sample;
}

}  // namespace heaptap::process
