// Enumeration of the functions whose calls are events, with their facts. Freestanding: both sides include it.
#pragma once
#include <stdint.h>

namespace heaptap::wire {

enum class Function : uint8_t {
  kNone = 0,  // for a release: not seen, but inferred from its block's address being handed out again
#define HEAPTAP_FUNCTION(enumerator, symbol, name, variant, role, family) enumerator,
#include "common/wire/functions.def"
  kCount
};

enum class Role : uint8_t {
  kNone,
  kAllocate,
  kRelease,
  kReallocate,
  kMap,
  kUnmap,
  kRemap,
  kProtect,
  kPoolAllocate,
  kPoolRelease
};
enum class Family : uint8_t { kNone, kMalloc, kNew, kNewArray, kMap, kAny, kPool, kResource };

// Whether a release of this family matches a block of that one.
constexpr bool match(Family release, Family allocation) {
  return release == allocation || release == Family::kAny || allocation == Family::kAny;
}

// Whether it is a family of the C++ operators.
constexpr bool is_cpp(Family family) { return family == Family::kNew || family == Family::kNewArray; }

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
#include "common/wire/functions.def"
};
inline constexpr uint8_t kFunctionCount = static_cast<uint8_t>(Function::kCount);

// Facts of a function number from outside; an unknown number gets the facts of kNone.
constexpr const FunctionFacts& facts_of(Function function) {
  const auto number = static_cast<uint8_t>(function);
  return kFunctionFacts[number < kFunctionCount ? number : 0];
}

// The function recorded where `a` and `b` have the same code.
constexpr Function combined(Function a, Function b) {
  const FunctionFacts& first = facts_of(a);
  const FunctionFacts& second = facts_of(b);
  if (first.role != second.role || first.family == second.family) return a;
  const bool with_malloc = first.family == Family::kMalloc || second.family == Family::kMalloc ||
                           a == Function::kMallocOrNew || a == Function::kFreeOrDelete;
  if (first.role == Role::kAllocate) return with_malloc ? Function::kMallocOrNew : Function::kNewOrNewArray;
  if (first.role == Role::kRelease) return with_malloc ? Function::kFreeOrDelete : Function::kDeleteOrDeleteArray;
  return a;
}

static_assert(sizeof(kFunctionFacts) / sizeof(kFunctionFacts[0]) == kFunctionCount);

}  // namespace heaptap::wire
