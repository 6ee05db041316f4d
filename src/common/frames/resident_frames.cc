#include "common/frames/resident_frames.h"

#include <algorithm>
#include <array>
#include <bit>

namespace heaptap::frames {
namespace {

constexpr uint64_t kLeastSampleBytes = 5;
constexpr uint64_t kKib = 1024;
constexpr uint64_t kMaxKib = model::kMaxResidentBytes / kKib;
constexpr size_t kAlwaysKnown = 3;  // amounts of every sample
constexpr size_t kAmounts = 6;

using Amounts = std::array<std::optional<uint64_t>, kAmounts>;
using Before = std::array<uint64_t, kAmounts>;  // the last known ones, in KiB

Amounts amounts_of(const model::ResidentSample& sample) {
  return {sample.anonymous_bytes, sample.file_bytes, sample.shared_bytes,
          sample.swapped_bytes,   sample.peak_bytes, sample.log_bytes};
}

// A bit for each of those that may be unknown.
uint64_t known_ones(const Amounts& amounts) {
  uint64_t known = 0;
  for (size_t i = kAlwaysKnown; i < kAmounts; ++i) known |= uint64_t{amounts[i].has_value()} << (i - kAlwaysKnown);
  return known;
}

std::optional<uint64_t> read_amount(wire::VarintReader& in, uint64_t& before) {
  const uint64_t kib = before + static_cast<uint64_t>(in.signed_varint());
  if (!in.ok() || kib >= kMaxKib) return std::nullopt;
  before = kib;
  return kib * kKib;
}

bool read_amounts(wire::VarintReader& in, Before& before, Amounts& amounts) {
  uint64_t known = 0;
  for (size_t i = 0; i < kAmounts; ++i) {
    if (i == kAlwaysKnown) known = in.varint();
    if (i >= kAlwaysKnown && (known >> (i - kAlwaysKnown) & 1) == 0) continue;
    amounts[i] = read_amount(in, before[i]);
    if (!amounts[i]) return false;
  }
  // Those of later versions.
  for (int left = std::popcount(known >> (kAmounts - kAlwaysKnown)); left > 0; --left) in.varint();
  return in.ok();
}

}  // namespace

void write_resident(ByteBuffer& out, std::span<const model::ResidentSample> samples) {
  out.varint(samples.size());
  uint64_t time_ns = 0;
  Before before{};
  for (const model::ResidentSample& sample : samples) {
    out.varint(sample.time_ns - time_ns);
    time_ns = sample.time_ns;
    const Amounts amounts = amounts_of(sample);
    for (size_t i = 0; i < kAmounts; ++i) {
      if (i == kAlwaysKnown) out.varint(known_ones(amounts));
      if (!amounts[i]) continue;
      const uint64_t kib = *amounts[i] / kKib;
      out.signed_varint(static_cast<int64_t>(kib - before[i]));
      before[i] = kib;
    }
  }
}

bool read_resident(wire::VarintReader& in, std::vector<model::ResidentSample>& samples) {
  const uint64_t count = in.varint();
  if (!in.ok() || count > in.left() / kLeastSampleBytes) return false;
  if (count > model::kMaxResidentSamples - std::min(samples.size(), model::kMaxResidentSamples)) return false;
  uint64_t time_ns = 0;
  Before before{};
  std::vector<model::ResidentSample> read;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t since = in.varint();
    if (since > UINT64_MAX - time_ns) return false;
    time_ns += since;
    if (i == 0 && !samples.empty() && time_ns < samples.back().time_ns) return false;
    Amounts amounts;
    if (!read_amounts(in, before, amounts)) return false;
    read.push_back({.time_ns = time_ns,
                    .anonymous_bytes = *amounts[0],
                    .file_bytes = *amounts[1],
                    .shared_bytes = *amounts[2],
                    .swapped_bytes = amounts[3],
                    .peak_bytes = amounts[4],
                    .log_bytes = amounts[5]});
  }
  samples.insert(samples.end(), read.begin(), read.end());
  return true;
}

}  // namespace heaptap::frames
