// Detection of steady memory growth.
#pragma once
#include <cstdint>
#include <span>

namespace heaptap::report {

// Whether live bytes, at the ends of intervals of equal width, grew throughout and were still growing at the end: the last value is
// near the maximum, and each quarter of the time added at least a twentieth of it. False if there are too few intervals to decide.
bool grows_to_the_end(std::span<const uint64_t> live_bytes);

}  // namespace heaptap::report
