// What a block is for, where a container or a maker of the C++ library allocated it: told by the functions it was inlined into.
#pragma once
#include <span>
#include <string>

#include "model/frame.h"

namespace heaptap::analysis {

// "std::vector<int>" from "std::vector<int, std::allocator<int> >::push_back(int const&)"; empty where the innermost frames
// aren't of the library, or name nothing that people use.
std::string container_type(std::span<const model::Frame> frames);

}  // namespace heaptap::analysis
