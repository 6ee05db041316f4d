// Breakpoints of one address space: the original instructions, and the meaning of each stop. Owns them: on destruction,
// removes all that are still planted.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/tracer/loaded_objects.h"
#include "common/arch/cpu.h"

namespace heaptap::tracer {

struct Site {
  uint64_t address = 0;
  uint32_t object = 0;                                          // index into LoadedObjects
  std::array<uint8_t, arch::Cpu::kMaxInstructionBytes> code{};  // original bytes
  size_t code_bytes = 0;
  bool planted = false;
  // Meaning of a stop here; all that apply.
  std::vector<FoundFunction> functions;  // their first instruction
  bool tracks_return = true;             // for these functions
  bool is_return = false;                // a return instruction of some function
  bool is_tail_jump = false;             // may leave some function by a jump
  bool is_change_notice = false;         // objects were loaded or unloaded
  unsigned awaited_returns = 0;          // number of calls whose return to this address is awaited

  [[nodiscard]] std::span<const uint8_t> instruction() const { return {code.data(), code_bytes}; }
  [[nodiscard]] bool is_permanent() const {
    return !functions.empty() || is_return || is_tail_jump || is_change_notice;
  }
};

class BreakpointTable {
 public:
  BreakpointTable(const arch::Cpu& cpu, arch::TargetMemory& memory) : cpu_(cpu), memory_(memory) {}
  ~BreakpointTable();
  BreakpointTable(const BreakpointTable&) = delete;
  BreakpointTable& operator=(const BreakpointTable&) = delete;

  [[nodiscard]] Site* find(uint64_t address);
  // The site at that address, created unplanted if there was none. Null: its instruction is unreadable or can't be
  // emulated.
  Site* add(uint64_t address, uint32_t object);
  bool plant(Site& site);
  // A breakpoint where a call comes back, until await_no_more() has been called as often. Any instruction may lie below:
  // the thread that is waited for finds it there again. Null: it can't be written. `object` may be kNoObject.
  static constexpr uint32_t kNoObject = UINT32_MAX;
  Site* await_return(uint64_t address, uint32_t object);
  void await_no_more(uint64_t address);
  // Whether a breakpoint instruction is there now, no matter who has put it there.
  [[nodiscard]] bool is_breakpoint_at(uint64_t address) const { return is_in(memory_, address); }
  // Restores the original instruction until it is planted again.
  void take_out(uint64_t address);
  // Forgets the sites of an unmapped object.
  void forget(uint32_t object);
  // Removes all breakpoints from `memory`: this address space's, or a copy of it made by a fork.
  void lift_all(arch::TargetMemory& memory) const;
  // Whether `memory` may be a copy of this one: it has all planted breakpoints.
  [[nodiscard]] bool are_all_in(arch::TargetMemory& memory) const;
  // This memory is a fork's copy of the parent's: takes over the breakpoints planted in it.
  void copy_from(const BreakpointTable& parent);

  [[nodiscard]] const auto& sites() const { return sites_; }

 private:
  void read_code(Site& site);
  [[nodiscard]] bool is_in(arch::TargetMemory& memory, uint64_t address) const;

  const arch::Cpu& cpu_;
  arch::TargetMemory& memory_;
  std::unordered_map<uint64_t, std::unique_ptr<Site>> sites_;
};

}  // namespace heaptap::tracer
