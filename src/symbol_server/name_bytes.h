// Addresses and names as messages between a server of symbols and its clients hold them. Nothing that is read is trusted.
//
//   addresses  varint: how many, then each minus the one before (signed)
//   frames     varint: how many texts; each: bytes (varint), text
//              varint: how many addresses; each: how many frames (varint); each: function, symbol, file (numbers of texts), line,
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

#include "model/frame.h"

namespace heaptap::symbol_server {

inline constexpr size_t kMaxAddresses = 4096;          // of a request
inline constexpr size_t kMaxFramesEach = 1000;         // functions that are inlined into one another
inline constexpr size_t kMaxFrames = size_t{1} << 18;  // of an answer

std::string write_addresses(std::span<const uint64_t> addresses);
// None: these are none, or too many.
std::optional<std::vector<uint64_t>> read_addresses(std::string_view bytes);

// Takes the frames of one address after the other, as long as there is room.
class FrameWriter {
 public:
  explicit FrameWriter(size_t max_bytes) : max_bytes_(max_bytes) {}
  // Of the next address. False: there is no room for it. For the first one there always is.
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
