// Wire encoding of addresses and names between a symbol server and its clients. Input is never trusted.
//
//   addresses  varint: count, then each minus the previous one (signed)
//   frames     varint: number of texts; each: bytes (varint), text
//              varint: number of addresses; each: number of frames (varint); each: function, symbol, file (numbers of texts), line,
//              1 if it is inlined
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/model/frame.h"

namespace heaptap::symbol_server {

inline constexpr size_t kMaxAddresses = 4096;          // per request
inline constexpr size_t kMaxFramesEach = 1000;         // functions inlined into one another
inline constexpr size_t kMaxFrames = size_t{1} << 18;  // per answer

std::string write_addresses(std::span<const uint64_t> addresses);
// None: invalid, or too many.
std::optional<std::vector<uint64_t>> read_addresses(std::string_view bytes);

// Encoder of frames, address by address, up to a size limit.
class FrameWriter {
 public:
  explicit FrameWriter(size_t max_bytes) : max_bytes_(max_bytes) {}
  // Adds the frames of the next address. False: no room left. The first address always fits.
  bool add(std::span<const model::Frame> frames);
  [[nodiscard]] size_t count() const { return frames_.size(); }
  [[nodiscard]] std::string bytes() const;

 private:
  size_t number_of(const std::string& text);

  size_t max_bytes_;
  size_t used_bytes_ = 0;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, size_t> numbers_;  // of texts_
  std::vector<std::string> frames_;                  // of each address
};

std::optional<std::vector<std::vector<model::Frame>>> read_frames(std::string_view bytes);

}  // namespace heaptap::symbol_server
