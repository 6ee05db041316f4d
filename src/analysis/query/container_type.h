// Container type of a block allocated by the C++ library, inferred from inlined functions of the stack.
#pragma once
#include <span>
#include <string>

#include "common/model/frame.h"

namespace heaptap::query {

// "std::vector<int>" from "std::vector<int, std::allocator<int> >::push_back(int const&)"; empty if the innermost frames aren't the
// library's, or name nothing public.
std::string container_type(std::span<const model::Frame> frames);

}  // namespace heaptap::query
