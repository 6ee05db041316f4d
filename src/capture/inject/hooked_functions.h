// Functions of a process that are to be hooked, each with the plan of its patch, and its objects as the agent has to know them: all that is
// found before anything is put in. Reads only.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture/inject/function_choice.h"
#include "capture/inject/patch_plan.h"
#include "capture/process/memory_map.h"
#include "capture/process/traced_memory.h"
#include "common/base/address_range.h"
#include "common/base/result.h"
#include "common/wire/injected_agent.h"

namespace heaptap::inject {

struct HookedFunction {
  ChosenFunction chosen;
  PatchPlan plan;
};

// Places of the dynamic loader; 0: not found.
struct LoaderPlaces {
  base::AddressRange code;
  uint64_t state = 0;        // its r_debug
  uint64_t find_object = 0;  // _dl_find_object, which the C library exports
};

struct HookedFunctions {
  std::vector<HookedFunction> functions;  // ascending by address
  std::vector<wire::InjectedModule> modules;
  base::AddressRange allocator;                    // code of the C library whose calls are its own
  base::AddressRange library;                      // code of the C library
  std::vector<base::AddressRange> mapping_owners;  // objects that map memory for themselves
  LoaderPlaces loader;
  bool has_cpp = false;   // operators of C++, in any object
  std::string why_plain;  // as in FunctionChoice
};

// An error: a condition of injection_check.h isn't met, or a function can't be patched.
base::Result<HookedFunctions> find_hooked_functions(pid_t live_thread, process::TracedMemory& memory,
                                                    const std::vector<process::Mapping>& map);

}  // namespace heaptap::inject
