// Mutates whole trace files so that they stay files: a frame's payload changes, its head and checksum follow. Otherwise
// every change would end at the checksum. One change in eight is to the plain bytes, for the checks of heads and sums.
// A target that includes this gets LLVMFuzzerCustomMutator.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "common/frames/byte_buffer.h"
#include "common/wire/frame.h"
#include "common/wire/varint.h"
#include "record/trace/compression.h"

extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size_bytes, size_t max_bytes);

namespace heaptap::fuzz {

struct TraceFrame {
  wire::FrameType type{};
  std::vector<uint8_t> payload;  // not compressed
};

struct TraceFile {
  std::vector<uint8_t> head = std::vector<uint8_t>(wire::kFileHeadBytes);
  std::vector<TraceFrame> frames;
};

inline std::vector<uint8_t> unpacked(const wire::FrameHead& head, std::span<const uint8_t> stored) {
  static trace::Decompressor decompressor;
  constexpr uint32_t kMaxBytes = 1u << 20;
  std::vector<uint8_t> raw(stored.begin(), stored.end());
  if (head.codec == wire::Codec::kZstd && head.raw_bytes <= kMaxBytes &&
      !decompressor.decompress(stored.data(), stored.size(), head.raw_bytes, raw)) {
    raw.clear();
  }
  return raw;
}

inline TraceFile split_trace(std::span<const uint8_t> bytes) {
  TraceFile file;
  std::copy_n(bytes.begin(), std::min(bytes.size(), file.head.size()), file.head.begin());
  for (size_t at = wire::kFileHeadBytes; at + wire::kFrameHeadBytes <= bytes.size();) {
    wire::FrameHead head;
    if (!wire::read_frame_head(bytes.data() + at, head)) break;
    at += wire::kFrameHeadBytes;
    const size_t stored = std::min<size_t>(head.stored_bytes, bytes.size() - at);
    file.frames.push_back({head.type, unpacked(head, bytes.subspan(at, stored))});
    at += stored;
  }
  return file;
}

inline std::vector<uint8_t> join_trace(const TraceFile& file) {
  std::vector<uint8_t> bytes = file.head;
  uint32_t number = 0;
  for (const TraceFrame& frame : file.frames) {
    const auto size = static_cast<uint32_t>(frame.payload.size());
    uint8_t head[wire::kFrameHeadBytes];
    wire::write_frame_head(head, {frame.type, wire::Codec::kNone, size, size, number++, 0}, frame.payload.data());
    bytes.insert(bytes.end(), head, head + sizeof(head));
    bytes.insert(bytes.end(), frame.payload.begin(), frame.payload.end());
  }
  return bytes;
}

inline void mutate_bytes(std::vector<uint8_t>& bytes, size_t max_growth) {
  const size_t size = bytes.size();
  bytes.resize(size + std::max<size_t>(max_growth, 1));
  bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
}

// An event frame's payload as what stands before its columns, and these, decompressed. No columns: it is no such payload.
struct EventPayload {
  static constexpr size_t kColumns = 8;
  std::vector<uint8_t> front;
  std::vector<std::vector<uint8_t>> columns;
};

inline bool skip_front(wire::VarintReader& in) {
  const uint64_t count = in.varint();
  in.varint();
  for (uint64_t marks = in.varint(); in.ok() && marks > 0; --marks) {
    in.varint();
    in.varint();
  }
  for (uint64_t at = 0; in.ok() && at < count;) {
    in.varint();
    const uint64_t run = in.varint();
    if (run == 0 || run > count - at) return false;
    at += run;
  }
  return in.ok();
}

inline EventPayload split_events(const std::vector<uint8_t>& payload) {
  EventPayload events;
  wire::VarintReader in(payload.data(), payload.size());
  if (!skip_front(in)) return events;
  events.front.assign(payload.data(), in.here());
  while (events.columns.size() < EventPayload::kColumns) {
    wire::FrameHead head;
    head.codec = static_cast<wire::Codec>(in.varint());
    head.raw_bytes = static_cast<uint32_t>(in.varint());
    const uint64_t stored = in.varint();
    const uint8_t* from = in.bytes(stored);
    if (from == nullptr) return {};
    events.columns.push_back(unpacked(head, {from, stored}));
  }
  return events;
}

inline std::vector<uint8_t> join_events(const EventPayload& events) {
  frames::ByteBuffer out;
  out.bytes(events.front.data(), events.front.size());
  for (const std::vector<uint8_t>& column : events.columns) {
    out.varint(static_cast<uint64_t>(wire::Codec::kNone));
    out.varint(column.size());
    out.varint(column.size());
    out.bytes(column.data(), column.size());
  }
  return {out.data(), out.data() + out.size()};
}

inline void mutate_payload(TraceFrame& frame, std::minstd_rand& random, size_t max_growth) {
  if (frame.type == wire::FrameType::kEvents && random() % 4 != 0) {
    EventPayload events = split_events(frame.payload);
    if (!events.columns.empty()) {
      const size_t place = random() % (events.columns.size() + 1);
      mutate_bytes(place == events.columns.size() ? events.front : events.columns[place], max_growth);
      frame.payload = join_events(events);
      return;
    }
  }
  mutate_bytes(frame.payload, max_growth);
}

// Frames come, go, change places and types.
inline void mutate_order(TraceFile& file, std::minstd_rand& random) {
  std::vector<TraceFrame>& frames = file.frames;
  const size_t at = random() % frames.size();
  switch (random() % 4) {
    case 0:
      frames.erase(frames.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      frames.insert(frames.begin() + static_cast<ptrdiff_t>(random() % frames.size()), TraceFrame(frames[at]));
      break;
    case 2:
      std::swap(frames[at], frames[random() % frames.size()]);
      break;
    default:
      frames[at].type = static_cast<wire::FrameType>(random() % 12);
      break;
  }
}

inline size_t mutate_trace(uint8_t* bytes, size_t size_bytes, size_t max_bytes, unsigned seed) {
  std::minstd_rand random(seed + 1);
  TraceFile file = split_trace({bytes, size_bytes});
  if (file.frames.empty() || random() % 8 == 0) return LLVMFuzzerMutate(bytes, size_bytes, max_bytes);
  if (random() % 6 == 0) {
    mutate_order(file, random);
  } else {
    mutate_payload(file.frames[random() % file.frames.size()], random, std::min<size_t>(max_bytes - size_bytes, 256));
  }
  const std::vector<uint8_t> result = join_trace(file);
  const size_t taken = std::min(result.size(), max_bytes);
  std::memcpy(bytes, result.data(), taken);
  return taken;
}

}  // namespace heaptap::fuzz

extern "C" inline __attribute__((used)) size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size_bytes,
                                                                       size_t max_bytes, unsigned seed) {
  return heaptap::fuzz::mutate_trace(bytes, size_bytes, max_bytes, seed);
}
