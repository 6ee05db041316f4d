#include "capture/process/resident_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include "common/base/process_file.h"
#include "common/base/status_file.h"

namespace heaptap::process {
namespace {

constexpr uint64_t kKib = 1024;

std::optional<uint64_t> bytes_in(std::string_view status, std::string_view name) {
  const std::string_view value = base::status_field(status, name);
  uint64_t kib = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), kib);
  const bool is_whole = error == std::errc{} && std::string_view(end, value.data() + value.size()) == " kB";
  return is_whole && kib < model::kMaxResidentBytes / kKib ? std::optional(kib * kKib) : std::nullopt;
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
  const auto anonymous = bytes_in(status, "RssAnon");
  const auto file = bytes_in(status, "RssFile");
  const auto shared = bytes_in(status, "RssShmem");
  if (!anonymous || !file || !shared) return std::nullopt;
  return model::ResidentSample{.anonymous_bytes = *anonymous,
                               .file_bytes = *file,
                               .shared_bytes = *shared,
                               .swapped_bytes = bytes_in(status, "VmSwap"),
                               .peak_bytes = bytes_in(status, "VmHWM")};
}

uint64_t ResidentRhythm::interval_ns(uint64_t samples) {
  constexpr uint64_t kMaxDoublings = 32;  // 2.7 years
  return kFirstNs << std::min(samples / kSamplesEach, kMaxDoublings);
}

// A descriptor stays with the process: another one that gets its number later isn't read.
ResidentSampler::ResidentSampler(pid_t process)
    : status_(open(base::process_file(process, "status").c_str(), O_RDONLY | O_CLOEXEC)) {}

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
