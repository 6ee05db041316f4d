// Choice of the functions that are hooked: those of every object that allocates and releases, since calls may reach any of them. Pure, but
// for questions about code. What one of them calls by itself is told apart by the agent.
//
//   an allocator      defines malloc and free, perhaps operators that are these
//   the C library     maps memory: what others map by its functions is the program's. It ends the process, sets its signals and limits
//   the C++ library   has operators that are the program's malloc and free
//   another object    has operators of its own: then blocks of one family may come and go by functions of another one, and
//                     operators are recorded as malloc and free
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/tracer/loaded_objects.h"
#include "common/base/result.h"
#include "common/wire/functions.h"
#include "common/wire/injected_agent.h"

namespace heaptap::inject {

struct ChosenFunction {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  wire::Function function = wire::Function::kNone;
  wire::InjectedWay way = wire::InjectedWay::kAllocate;
  unsigned arguments = 0;   // as many, at most
  uint64_t call = 0;        // address of the function that is called in its place; 0: none
  uint32_t object = 0;      // index
  bool is_needed = true;    // without it nothing can be concluded
  bool is_library = false;  // of the C++ library: goes without being hooked, as malloc and free
};

struct FunctionChoice {
  std::vector<ChosenFunction> functions;  // ascending by address
  unsigned allocators = 0;                // objects
  bool is_glibc = false;                  // one of the allocators is glibc
  std::string why_plain;  // why operators are recorded as malloc and free; empty: they aren't, or there are none
};

struct ChoiceQuestions {
  // The function that this object's calls of malloc reach; 0: unknown.
  std::function<uint64_t(uint32_t object)> reached_malloc;
  // Whether this function of the object is nothing but a jump to its free.
  std::function<bool(uint32_t object, uint64_t function)> goes_to_free;
};

// `why_plain`: where it is known already.
base::Result<FunctionChoice> choose_functions(std::span<const tracer::LoadedObject> objects,
                                              const ChoiceQuestions& questions, std::string why_plain = {});

}  // namespace heaptap::inject
