// Compression policy of a line. Compression costs time on the target's machine, and pays off where the line is the bottleneck.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptap::line {

enum class Compression : uint8_t { kAuto, kAlways, kNever };
// Values of --compress WHEN, indexed by enumerator.
inline constexpr std::array<std::string_view, 3> kCompressionNames = {"auto", "always", "never"};

constexpr std::optional<Compression> compression_named(std::string_view name) {
  for (size_t i = 0; i < kCompressionNames.size(); ++i) {
    if (name == kCompressionNames[i]) return static_cast<Compression>(i);
  }
  return std::nullopt;
}

// `waiting_bytes`: sent, but not yet received by the other end; few on a fast line. A machine with one CPU has nothing
// to spare: compression would take its time from the program.
constexpr bool compresses(Compression when, unsigned cpus, size_t waiting_bytes) {
  constexpr size_t kIsBehind = size_t{64} << 10;
  if (when != Compression::kAuto) return when == Compression::kAlways;
  return cpus > 1 && waiting_bytes > kIsBehind;
}

}  // namespace heaptap::line
