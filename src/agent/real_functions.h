// The functions that the hooks stand in front of: the next definition of each name behind the agent in the order in
// which the loader searches. Found without dlsym, which allocates.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "wire/functions.h"

namespace heaptap::agent {

struct RealFunctions {
  void* of[wire::kFunctionCount];  // null: not found (yet)
  bool standard_new;               // operator new is the C++ library's own: it is malloc with a new_handler
};
extern RealFunctions g_real;

// Looks all of them up that are not known yet. False while the loader hasn't relocated the agent: nothing can be called.
bool find_real_functions();

template <typename Signature>
inline Signature* real(wire::Function function) {
  return reinterpret_cast<Signature*>(g_real.of[static_cast<uint8_t>(function)]);
}

// Memory for calls that come before any real function can be called. Never given back.
void* early_allocate(size_t alignment, size_t bytes);
bool is_early(const void* block);
size_t early_size(const void* block);  // how much of it may be copied

}  // namespace heaptap::agent
