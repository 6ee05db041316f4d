// The functions that the hooks stand in front of: the next definition of each name behind the agent in the order in
// which the loader searches. Found without dlsym, which allocates.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "wire/functions.h"

namespace heaptap::agent {

struct CodeExtent {
  uintptr_t start;
  uintptr_t bytes;
  [[nodiscard]] bool holds(uintptr_t address) const { return address - start < bytes; }
};

struct RealFunctions {
  void* of[wire::kFunctionCount];  // as the objects define them that the program was started with; null: none does
  bool searched;
  // All forms of operator new and delete are the C++ library's own, malloc with a new_handler and free, and the program
  // replaces none of them.
  bool standard_cpp;
  CodeExtent code[wire::kFunctionCount];  // of each function
  CodeExtent cpp;                         // around those of operator new, where they are standard
  CodeExtent allocator;                   // the object that malloc comes from

  // Whether code at this address is one of the functions in the list: what it calls of others is its own affair.
  [[nodiscard]] bool is_one_of_them(uintptr_t address) const {
    return (cpp.holds(address) || allocator.holds(address)) && is_within_one(address);
  }
  [[nodiscard]] bool is_within_one(uintptr_t address) const;
};
extern RealFunctions g_real;

// Looks all of them up, once. False while the loader hasn't relocated the agent: nothing can be called.
bool find_real_functions();

// A function that no object defined when the program was started: as it is for this caller, whose object or a library that
// was loaded with it may have it. Objects come and go, so this is only remembered until one went.
struct LateFunction {
  void* function;
  bool standard;  // the C++ library's own
};
LateFunction find_late_function(wire::Function function, uintptr_t caller);

// The next definition of a function that isn't in the list; null: there is none, or it is too early.
void* find_behind_agent(const char* name);

// The same, remembered in `known`.
template <typename Signature>
inline Signature* find(std::atomic<void*>& known, const char* name) {
  void* found = known.load(std::memory_order_acquire);
  if (found == nullptr) {
    found = find_behind_agent(name);
    known.store(found, std::memory_order_release);
  }
  return reinterpret_cast<Signature*>(found);
}

template <typename Signature>
inline Signature* real(wire::Function function) {
  return reinterpret_cast<Signature*>(g_real.of[static_cast<uint8_t>(function)]);
}

// Memory for calls that come before any real function can be called. Never given back.
void* early_allocate(size_t alignment, size_t bytes);
bool is_early(const void* block);
size_t early_size(const void* block);  // how much of it may be copied

}  // namespace heaptap::agent
