// Figures in few characters, for narrow columns. An unknown value is "-".
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace heaptap::top {

// "0", "999", "1.23K", "12.3M", "123G"; at most five characters, powers of 1024.
std::string short_bytes(double bytes);
// "+1.5K", "-12.3M", "0".
std::string short_change(double bytes);
// "12,345", "123k", "1.23M", "12.3G"; at most six characters.
std::string short_count(double count);
// "850ns", "1.2us", "3.4ms", "12.5s", "2m05", "3h12", "400d", "12y"; at most six characters.
std::string short_duration(double nanoseconds);
// "01:02:03", "3d 01:02:03".
std::string clock_text(uint64_t nanoseconds);

// Converts a count back from double; saturates.
uint64_t whole(double count);
// "1 block", "1,234 blocks".
std::string counted(uint64_t count, const char* what);

template <typename Number, typename ToText>
std::string known_text(const std::optional<Number>& number, ToText to_text) {
  return number ? to_text(static_cast<double>(*number)) : std::string("-");
}

}  // namespace heaptap::top
