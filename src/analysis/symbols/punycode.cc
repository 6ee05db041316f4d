#include "analysis/symbols/punycode.h"

#include <cstdint>
#include <vector>

namespace heaptap::symbols {
namespace {

// RFC 3492, section 5.
constexpr uint32_t kBase = 36;
constexpr uint32_t kTMin = 1;
constexpr uint32_t kTMax = 26;
constexpr uint32_t kSkew = 38;
constexpr uint32_t kDamp = 700;
constexpr uint32_t kInitialBias = 72;
constexpr uint32_t kInitialPoint = 128;
constexpr uint64_t kLargestPoint = 0x10ffff;
constexpr size_t kLongestInput = 1024;

std::optional<uint32_t> digit_value(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<uint32_t>(c - 'a');
  if (c >= '0' && c <= '9') return static_cast<uint32_t>(c - '0') + 26;
  return std::nullopt;
}

uint32_t adapt(uint64_t delta, uint64_t point_count, bool first) {
  delta = first ? delta / kDamp : delta / 2;
  delta += delta / point_count;
  uint32_t k = 0;
  for (; delta > (kBase - kTMin) * kTMax / 2; k += kBase) delta /= kBase - kTMin;
  return k + static_cast<uint32_t>((kBase - kTMin + 1) * delta / (delta + kSkew));
}

void append_utf8(uint32_t point, std::string& out) {
  auto byte = [&out](uint32_t value) { out += static_cast<char>(value); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    byte(0xe0 | point >> 12);
    byte(0x80 | (point >> 6 & 0x3f));
  } else {
    byte(0xf0 | point >> 18);
    byte(0x80 | (point >> 12 & 0x3f));
    byte(0x80 | (point >> 6 & 0x3f));
  }
  byte(0x80 | (point & 0x3f));
}

// Reads one variable-length integer from the front of `text`.
std::optional<uint64_t> take_delta(std::string_view& text, uint32_t bias) {
  uint64_t delta = 0;
  uint64_t weight = 1;
  for (uint32_t k = kBase;; k += kBase) {
    if (text.empty()) return std::nullopt;
    const auto digit = digit_value(text[0]);
    text.remove_prefix(1);
    if (!digit) return std::nullopt;
    delta += *digit * weight;
    const uint32_t threshold = k <= bias ? kTMin : k >= bias + kTMax ? kTMax : k - bias;
    if (*digit < threshold) return delta;
    weight *= kBase - threshold;
    if (weight > uint64_t{1} << 40 || delta > uint64_t{1} << 48) return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> decode_punycode(std::string_view text) {
  if (text.size() > kLongestInput) return std::nullopt;
  std::vector<uint32_t> points;
  if (const size_t delimiter = text.rfind('_'); delimiter != text.npos) {
    for (char c : text.substr(0, delimiter)) points.push_back(static_cast<unsigned char>(c));
    text.remove_prefix(delimiter + 1);
  }
  uint64_t point = kInitialPoint;
  uint64_t index = 0;
  uint32_t bias = kInitialBias;
  for (bool first = true; !text.empty(); first = false) {
    const auto delta = take_delta(text, bias);
    if (!delta) return std::nullopt;
    const uint64_t count = points.size() + 1;
    index += *delta;
    bias = adapt(*delta, count, first);
    point += index / count;
    index %= count;
    if (point > kLargestPoint) return std::nullopt;
    points.insert(points.begin() + static_cast<ptrdiff_t>(index++), static_cast<uint32_t>(point));
  }
  std::string out;
  for (uint32_t each : points) append_utf8(each, out);
  return out;
}

}  // namespace heaptap::symbols
