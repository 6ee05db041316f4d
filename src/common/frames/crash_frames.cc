#include "common/frames/crash_frames.h"

#include "common/model/signal_number.h"

namespace heaptap::frames {
namespace {

// The flag is the lowest bit, so that an address takes few bytes.
constexpr uint64_t packed(uint64_t code) {
  return wire::code_address(code) << 1 | ((code & wire::kCodeExact) != 0 ? 1 : 0);
}
constexpr uint64_t unpacked(uint64_t number) {
  return wire::code_address(number >> 1) | ((number & 1) != 0 ? wire::kCodeExact : 0);
}

}  // namespace

void write_crash(ByteBuffer& out, const model::Crash& crash) {
  out.varint(static_cast<uint64_t>(crash.signal));
  out.varint(crash.thread_id);
  out.varint(static_cast<uint64_t>(crash.end));
  out.varint(crash.codes.size());
  for (const uint64_t code : crash.codes) out.varint(packed(code));
}

std::optional<model::Crash> read_crash(wire::VarintReader& in) {
  const uint64_t signal = in.varint();
  const uint64_t thread = in.varint();
  const uint64_t end = in.varint();
  const uint64_t count = in.varint();
  const bool is_sound = signal >= 1 && signal <= model::kMaxSignal && thread <= UINT32_MAX && end < wire::kRootCount &&
                        count >= 1 && count <= model::kMaxCrashFrames;
  if (!in.ok() || !is_sound) return std::nullopt;
  model::Crash crash{.signal = static_cast<int>(signal),
                     .thread_id = static_cast<uint32_t>(thread),
                     .end = static_cast<wire::StackEnd>(end),
                     .codes = {}};
  for (uint64_t i = 0; i < count; ++i) crash.codes.push_back(unpacked(in.varint()));
  if (!in.ok()) return std::nullopt;
  return crash;
}

}  // namespace heaptap::frames
