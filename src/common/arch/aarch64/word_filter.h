// Vectorized inner loop of a leak scan.
#pragma once
#include "common/arch/without_vectors.h"

namespace heaptap::arch::aarch64 {

using without_filter::word_filter;

}  // namespace heaptap::arch::aarch64
