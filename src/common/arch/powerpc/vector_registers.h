// Vector registers of a stopped thread: not read, since threads of this CPU aren't stopped yet.
#pragma once
#include "common/arch/without_vectors.h"

namespace heaptap::arch::powerpc {

using without_vectors::each_vector_word;
using without_vectors::kVectorImageBytes;
using without_vectors::kVectorRegisterSet;
using without_vectors::VectorWord;

}  // namespace heaptap::arch::powerpc
