// The functions whose calls are events, as an enumeration with their facts. Freestanding: both sides include it.
#pragma once
#include <stdint.h>

namespace heaptap::wire {

enum class Function : uint8_t {
  kNone = 0,
#define HEAPTAP_FUNCTION(enumerator, symbol, name, variant, role, family) enumerator,
#include "wire/functions.def"
  kCount
};

enum class Role : uint8_t { kNone, kAllocate, kRelease, kReallocate, kMap, kUnmap, kRemap };
enum class Family : uint8_t { kNone, kMalloc, kNew, kNewArray, kMap };

struct FunctionFacts {
  const char* symbol;
  const char* name;
  const char* variant;
  Role role;
  Family family;
};

inline constexpr FunctionFacts kFunctionFacts[] = {
    {"", "", "", Role::kNone, Family::kNone},
#define HEAPTAP_FUNCTION(enumerator, symbol, name, variant, role, family) \
  {#symbol, name, variant, Role::k##role, Family::k##family},
#include "wire/functions.def"
};
inline constexpr uint8_t kFunctionCount = static_cast<uint8_t>(Function::kCount);

// Facts of a function number that came from outside; an unknown number gets the facts of kNone.
constexpr const FunctionFacts& facts_of(Function function) {
  const auto number = static_cast<uint8_t>(function);
  return kFunctionFacts[number < kFunctionCount ? number : 0];
}

static_assert(sizeof(kFunctionFacts) / sizeof(kFunctionFacts[0]) == kFunctionCount);

}  // namespace heaptap::wire
