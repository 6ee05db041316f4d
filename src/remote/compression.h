// Whether what crosses a line is compressed. That costs the target's machine time, and pays where the line is what things wait for.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace heaptap::remote {

enum class Compression : uint8_t { kAuto, kAlways, kNever };
// By their values: --compress WHEN.
inline constexpr std::array<std::string_view, 3> kCompressionNames = {"auto", "always", "never"};

constexpr std::optional<Compression> compression_named(std::string_view name) {
  for (size_t i = 0; i < kCompressionNames.size(); ++i) {
    if (name == kCompressionNames[i]) return static_cast<Compression>(i);
  }
  return std::nullopt;
}

// `waiting_bytes`: that were sent, and that the other end doesn't have yet. On a fast line that is little. A machine with one CPU has
// nothing to spare: what compresses there takes its time from the program.
constexpr bool compresses(Compression when, unsigned cpus, size_t waiting_bytes) {
  constexpr size_t kIsBehind = size_t{64} << 10;
  if (when != Compression::kAuto) return when == Compression::kAlways;
  return cpus > 1 && waiting_bytes > kIsBehind;
}

}  // namespace heaptap::remote
