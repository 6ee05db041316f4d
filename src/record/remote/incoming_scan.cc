#include "record/remote/incoming_scan.h"

#include <algorithm>
#include <utility>

namespace heaptap::remote {
namespace {

// While the buffer grows there are two copies of it, in addition to the decoded scan.
constexpr uint64_t kShareOfMemory = 4;

}  // namespace

void IncomingScan::begin(uint64_t stream) {
  stream_ = stream;
  is_refused_ = false;
  max_bytes_ = std::min(largest_, free_memory_() / kShareOfMemory);
  bytes_ = std::vector<uint8_t>();
}

base::Result<std::optional<std::vector<uint8_t>>> IncomingScan::take(uint64_t stream, std::span<const uint8_t> piece,
                                                                     bool is_last) {
  if (stream_ != stream) begin(stream);
  const bool is_too_large = !is_refused_ && piece.size() > max_bytes_ - bytes_.size();
  if (is_too_large) {
    is_refused_ = true;
    bytes_ = std::vector<uint8_t>();
  }
  if (!is_refused_) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
  const bool is_whole = is_last && !is_refused_;
  if (is_last) stream_.reset();
  if (is_too_large) {
    constexpr uint64_t kMiB = uint64_t{1} << 20;
    return base::fail("no leak scan: its data is larger than the limit of {} MiB", max_bytes_ / kMiB);
  }
  return is_whole ? std::optional(std::exchange(bytes_, {})) : std::nullopt;
}

}  // namespace heaptap::remote
