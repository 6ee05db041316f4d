// The functions that the hooks stand in front of: the next definition of each name behind the agent in the order in
// which the loader searches. Found without dlsym, which allocates.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "wire/functions.h"

namespace heaptap::agent {

struct RealFunctions {
  struct Range {
    uintptr_t start;
    uintptr_t bytes;
    [[nodiscard]] bool holds(uintptr_t address) const { return address - start < bytes; }
  };

  void* of[wire::kFunctionCount];  // null: not found (yet)
  // operator new is the C++ library's own, which is malloc with a new_handler, and the program replaces no form of it.
  bool standard_new;
  // Where the code of all forms of operator new lies, if they are the C++ library's own: their calls of malloc are theirs.
  uintptr_t new_start;
  uintptr_t new_bytes;

  // Where the object lies that malloc comes from: its calls of mmap are the allocator's own.
  Range allocator;

  [[nodiscard]] bool is_in_operator_new(uintptr_t address) const {
    return address - new_start < new_bytes && is_in_one_of_them(address);
  }
  [[nodiscard]] bool is_in_one_of_them(uintptr_t address) const;
  Range new_code[8];
};
extern RealFunctions g_real;

// Looks all of them up that are not known yet. False while the loader hasn't relocated the agent: nothing can be called.
bool find_real_functions();

// The next definition of a function that isn't in the list; null: there is none, or it is too early.
void* find_behind_agent(const char* name);

template <typename Signature>
inline Signature* real(wire::Function function) {
  return reinterpret_cast<Signature*>(g_real.of[static_cast<uint8_t>(function)]);
}

// Memory for calls that come before any real function can be called. Never given back.
void* early_allocate(size_t alignment, size_t bytes);
bool is_early(const void* block);
size_t early_size(const void* block);  // how much of it may be copied

}  // namespace heaptap::agent
