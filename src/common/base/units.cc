#include "common/base/units.h"

#include <array>
#include <cmath>

namespace heaptap::base {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

// The number before the unit and the unit's text; none if the text does not begin with a number. By hand: the library's
// functions bring 100 KB of the C library into a static program.
bool split_number(std::string_view text, double& number, std::string_view& unit) {
  constexpr size_t kMaxDigits = 15;  // exact as a double, as is the power of ten: so the quotient is the nearest one
  const auto is_digit = [](char character) { return character >= '0' && character <= '9'; };
  double digits = 0;
  double divisor = 1;
  size_t digit_count = 0;
  size_t at = 0;
  bool is_behind_point = false;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !is_behind_point)); ++at) {
    if (text[at] == '.') {
      is_behind_point = true;
      continue;
    }
    ++digit_count;
    if (digit_count > kMaxDigits && is_behind_point) continue;  // far below the precision
    digits = digits * 10 + (text[at] - '0');
    if (is_behind_point) divisor *= 10;
  }
  number = digits / divisor;
  unit = text.substr(at);
  return digit_count > 0;
}

template <size_t N>
Result<uint64_t> scale(std::string_view text, const std::array<Unit, N>& units, std::string_view what,
                       std::string_view example) {
  double number = 0;
  std::string_view suffix;
  if (split_number(text, number, suffix)) {
    for (const Unit& unit : units) {
      if (suffix == unit.suffix && number * unit.factor < 1.8e19) {
        return static_cast<uint64_t>(std::llround(std::ceil(number * unit.factor)));
      }
    }
  }
  return fail_as(ErrorKind::kUsage, "'{}' is not a {}: write it like {}", text, what, example);
}

// Rounded to this many parts of a unit, ties to even. `parts`: at most 100.
uint64_t rounded(uint64_t value, uint64_t unit, uint64_t parts) {
  const uint64_t scaled = value % unit * parts;
  uint64_t whole = value / unit * parts + scaled / unit;
  const uint64_t rest = scaled % unit;
  if (rest > unit / 2 || (rest == unit / 2 && whole % 2 == 1)) ++whole;
  return whole;
}

// Without floating point, which {fmt} has no room for in a small program.
std::string with_decimals(uint64_t value, uint64_t unit, unsigned decimals) {
  const uint64_t parts = decimals == 1 ? 10 : 100;
  const uint64_t whole = rounded(value, unit, parts);
  return fmt::format("{}.{:0{}}", whole / parts, whole % parts, decimals);
}

}  // namespace

Result<uint64_t> parse_size(std::string_view text) {
  static constexpr double kKi = 1024;
  static constexpr std::array<Unit, 18> kUnits{{{"", 1},
                                                {"B", 1},
                                                {"K", kKi},
                                                {"k", kKi},
                                                {"KB", kKi},
                                                {"kB", kKi},
                                                {"KiB", kKi},
                                                {"M", kKi * kKi},
                                                {"MB", kKi * kKi},
                                                {"MiB", kKi * kKi},
                                                {"m", kKi * kKi},
                                                {"G", kKi * kKi * kKi},
                                                {"g", kKi * kKi * kKi},
                                                {"GB", kKi * kKi * kKi},
                                                {"GiB", kKi * kKi * kKi},
                                                {"T", kKi * kKi * kKi * kKi},
                                                {"TB", kKi * kKi * kKi * kKi},
                                                {"TiB", kKi * kKi * kKi * kKi}}};
  return scale(text, kUnits, "size", "4096, 64K, 100M or 1.5G");
}

Result<uint64_t> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 7> kUnits{
      {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}, {"m", 60e9}, {"h", 3600e9}}};
  return scale(text, kUnits, "duration", "250ms, 30s, 5m or 1h");
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) {
    return fmt::format("{} B", bytes);
  }
  static constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  constexpr uint64_t kTooManyTenths = 10240;  // this many are 1 of the next unit
  uint64_t unit = 1024;
  size_t name = 0;
  while (name + 1 < kUnits.size() && rounded(bytes, unit, 10) >= kTooManyTenths) {
    unit *= 1024;
    ++name;
  }
  return with_decimals(bytes, unit, 1) + " " + std::string(kUnits[name]);
}

uint64_t tenths_of(uint64_t bytes, uint64_t unit) { return rounded(bytes, unit, 10); }

std::string format_duration(uint64_t nanoseconds) {
  if (nanoseconds < 1'000) return fmt::format("{} ns", nanoseconds);
  if (nanoseconds < 1'000'000) return with_decimals(nanoseconds, 1'000, 1) + " us";
  if (nanoseconds < 1'000'000'000) return with_decimals(nanoseconds, 1'000'000, 1) + " ms";
  if (nanoseconds < 60'000'000'000) return with_decimals(nanoseconds, 1'000'000'000, 2) + " s";
  const uint64_t seconds = nanoseconds / 1'000'000'000;
  return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t place = digits.size(); place > 3; place -= 3) {
    digits.insert(place - 3, 1, ',');
  }
  return digits;
}

}  // namespace heaptap::base
