// Vectorized inner loop of a leak scan.
#pragma once
#include "common/arch/without_vectors.h"

namespace heaptap::arch::arm {

using without_filter::word_filter;

}  // namespace heaptap::arch::arm
