// By which of its names a function was called that has several: operator delete may be free, and memalign aligned_alloc. The
// caller's call goes through a slot of its object, which was filled for one name.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

#include "arch/cpu.h"
#include "process/traced_memory.h"
#include "tracer/loaded_objects.h"

namespace heaptap::tracer {

class CalledName {
 public:
  // All outlive it.
  CalledName(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects)
      : cpu_(cpu), memory_(memory), objects_(objects) {}

  // Which of `functions` (there is at least one), which are at one address: `registers` are those at its first instruction.
  // Where the call doesn't tell, what stands for all of them.
  wire::Function choose(std::span<const FoundFunction> functions, const arch::RegisterImage& registers,
                        uint64_t return_address);
  // An object is gone.
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
  std::unordered_map<uint64_t, wire::Function> by_return_;  // what the calls in front of these addresses go to
};

}  // namespace heaptap::tracer
