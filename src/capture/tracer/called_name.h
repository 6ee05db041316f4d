// Name under which a function with several names was called: operator delete may be free, and memalign aligned_alloc. A
// call goes through a slot of the caller's object, which was filled for one name.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

#include "capture/process/traced_memory.h"
#include "capture/tracer/loaded_objects.h"
#include "common/arch/cpu.h"

namespace heaptap::tracer {

class CalledName {
 public:
  // All outlive it.
  CalledName(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects)
      : cpu_(cpu), memory_(memory), objects_(objects) {}

  // Chooses from `functions` (at least one) at the same address; `registers` are those at its first instruction. Where
  // the call isn't conclusive, returns their common representative.
  wire::Function choose(std::span<const FoundFunction> functions, const arch::RegisterImage& registers,
                        uint64_t return_address);
  // An object was unloaded.
  void forget(uint32_t object);

 private:
  using Slots = std::map<uint64_t, wire::Function>;  // by the slot's address
  const Slots& slots_of(uint32_t object);
  wire::Function find_called(const Slots& slots, const arch::RegisterImage& registers, uint64_t function,
                             uint64_t return_address);
  uint64_t word(uint64_t at);
  uint64_t slot_of_jump(uint64_t at, arch::RegisterImage registers);
  uint64_t slot_read_by(uint64_t at, std::span<const uint8_t> code, arch::RegisterImage registers);

  const arch::Cpu& cpu_;
  process::TracedMemory& memory_;
  const LoadedObjects& objects_;
  std::map<uint32_t, Slots> slots_;                         // by object
  std::unordered_map<uint64_t, wire::Function> by_return_;  // function called right before these return addresses
};

}  // namespace heaptap::tracer
