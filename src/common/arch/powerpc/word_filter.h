// Vectorized inner loop of a leak scan.
#pragma once
#include "common/arch/without_vectors.h"

namespace heaptap::arch::powerpc {

using without_filter::word_filter;

}  // namespace heaptap::arch::powerpc
