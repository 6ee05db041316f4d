// Whether memory grows.
#pragma once
#include <cstdint>
#include <span>

namespace heaptap::report {

// Whether live bytes, at the ends of intervals of equal width, grew through the whole time and were still growing at its end:
// they are about as many as ever, and each quarter of the time added a twentieth of them or more. False of so few intervals
// that it can't be told.
bool grows_to_the_end(std::span<const uint64_t> live_bytes);

}  // namespace heaptap::report
