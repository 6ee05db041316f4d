// Container type of a block allocated by the C++ library, inferred from inlined functions of the stack.
#pragma once
#include <span>
#include <string>

#include "common/model/frame.h"

namespace heaptap::query {

// "std::vector<int>" from "std::vector<int, std::allocator<int> >::push_back(int const&)"; empty if the innermost frames aren't the
// library's, or name nothing public.
std::string container_type(std::span<const model::Frame> frames);

// "std::shared_ptr<Session> block" for the library's class that holds an object of make_shared() and its reference counts,
// "std::shared_ptr<Session> counts" for one that holds counts alone; other types as they are. `type`: without default arguments.
std::string shared_block_type(std::string type);

}  // namespace heaptap::query
