// Frames: the units of a trace file and of a stream over a socket. Independent of byte order and word size: fixed
// fields are little-endian, payloads are varints and bytes. Freestanding. Described byte by byte in docs/wire.md.
//
//  file   ┌ magic 8 │ version 4 │ reserved 4 ┬ frame ┬ frame ┬ … ┬ index frame ┬ trailer 16 ┐
//  frame  ┌ sync 4 │ type 1 │ codec 1 │ reserved 2 │ stored bytes 4 │ raw bytes 4 │ number 4 │ checksum 4 ┬ payload ┐
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <array>

namespace heaptap::wire {

inline constexpr char kFileMagic[9] = "HEAPTAP\n";
inline constexpr char kTrailerMagic[9] = "HTAPIDX\n";
inline constexpr uint16_t kMajorVersion = 2;   // a reader refuses any other
inline constexpr uint16_t kMinorVersion = 16;  // higher ones only add fields and skippable frame types
inline constexpr size_t kFileHeadBytes = 16;
inline constexpr size_t kTrailerBytes = 16;  // offset of the index frame 8 │ magic 8

inline constexpr uint32_t kFrameSync = 0x52465448;  // "HTFR"
inline constexpr size_t kFrameHeadBytes = 24;
inline constexpr uint32_t kMaxFrameBytes = 64u << 20;  // of a payload, stored or raw: more means a damaged file
// Since 2.1 each frame of entries ends with the number of its first entry, so that later entries keep their numbers if frames are missing.
inline constexpr uint16_t kNumberedMinorVersion = 1;
// Since 2.4 missing data is described by notes; before, by sentences.
inline constexpr uint16_t kNotesMinorVersion = 4;
inline constexpr size_t kFirstNumberBytes = 8;

enum class FrameType : uint8_t {
  kCapture = 1,  // facts of the capture known from the start: fields
  kModules = 2,
  kCodes = 3,
  kStacks = 4,
  kSites = 5,
  kThreads = 6,
  kEvents = 7,
  kEnd = 8,          // facts known at the end: fields
  kIndex = 9,        // the positions of the frames
  kScan = 10,        // a leak scan: a head; its parts follow in other frames
  kTotals = 11,      // totals per site, in place of the events of blocks; a later one replaces an earlier one
  kRawEvents = 12,   // not in traces: events in the agent's numbering, see capture/stream/raw_stream.h
  kMarks = 13,       // since 2.5: named moments
  kLabels = 14,      // since 2.6: entries of a table, as those of kModules to kThreads
  kBlockNames = 15,  // since 2.6: names that the program gave to blocks
  // 16 was of raw streams.
  kCodeNames = 17,    // since 2.9: names that the program gave to generated code
  kResident = 18,     // since 2.11: samples of resident memory
  kScanRegions = 19,  // since 2.12: resident memory by region, behind the frames of the scan that found it
};

enum class Codec : uint8_t { kNone = 0, kZstd = 1, kDeflate = 2 };  // kZstd: traces; kDeflate: lines

struct FrameHead {
  FrameType type{};
  Codec codec = Codec::kNone;
  uint32_t stored_bytes = 0;
  uint32_t raw_bytes = 0;
  uint32_t number = 0;    // counts a trace's frames from 0
  uint32_t checksum = 0;  // CRC-32C of the head up to here and the stored payload
};

inline void put_u32(uint8_t* to, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}
inline uint32_t get_u32(const uint8_t* from) {
  uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) value |= uint32_t{from[i]} << (8 * i);
  return value;
}
inline void put_u64(uint8_t* to, uint64_t value) {
  put_u32(to, static_cast<uint32_t>(value));
  put_u32(to + 4, static_cast<uint32_t>(value >> 32));
}
inline uint64_t get_u64(const uint8_t* from) { return get_u32(from) | uint64_t{get_u32(from + 4)} << 32; }

// CRC-32C (Castagnoli), RFC 3720 B.4; with slicing by 8, since whole frames are processed at once.
namespace crc {
using Tables = std::array<std::array<uint32_t, 256>, 8>;
inline Tables make_tables() {
  Tables tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78u : 0);
    tables[0][i] = value;
  }
  for (size_t t = 1; t < 8; ++t) {
    for (size_t i = 0; i < 256; ++i) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
  }
  return tables;
}
// Made at the first use: as a constant it would be 8 KiB of each program's file.
inline const Tables& tables() {
  static const Tables made = make_tables();
  return made;
}
}  // namespace crc

inline uint32_t crc32c(const uint8_t* data, size_t bytes, uint32_t before = 0) {
  const crc::Tables& tables = crc::tables();
  uint32_t value = ~before;
  for (; bytes >= 8; bytes -= 8, data += 8) {
    const uint32_t low = get_u32(data) ^ value;
    const uint32_t high = get_u32(data + 4);
    value = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^ tables[4][low >> 24] ^
            tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^ tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
  }
  for (; bytes > 0; --bytes, ++data) value = tables[0][(value ^ *data) & 0xff] ^ (value >> 8);
  return ~value;
}

// Writes the head with a checksum over head and payload.
inline void write_frame_head(uint8_t* to, FrameHead head, const uint8_t* payload) {
  put_u32(to, kFrameSync);
  to[4] = static_cast<uint8_t>(head.type);
  to[5] = static_cast<uint8_t>(head.codec);
  to[6] = to[7] = 0;
  put_u32(to + 8, head.stored_bytes);
  put_u32(to + 12, head.raw_bytes);
  put_u32(to + 16, head.number);
  put_u32(to + 20, crc32c(payload, head.stored_bytes, crc32c(to, 20)));
}

// False: no valid frame head, or a frame beyond the maximum size.
inline bool read_frame_head(const uint8_t* from, FrameHead& head) {
  head = {static_cast<FrameType>(from[4]),
          static_cast<Codec>(from[5]),
          get_u32(from + 8),
          get_u32(from + 12),
          get_u32(from + 16),
          get_u32(from + 20)};
  return get_u32(from) == kFrameSync && head.stored_bytes <= kMaxFrameBytes && head.raw_bytes <= kMaxFrameBytes;
}

// Whether head and payload match the checksum; `head_bytes` are the 24 bytes of the head.
inline bool checksum_matches(const uint8_t* head_bytes, const FrameHead& head, const uint8_t* payload) {
  return head.checksum == crc32c(payload, head.stored_bytes, crc32c(head_bytes, 20));
}

}  // namespace heaptap::wire
