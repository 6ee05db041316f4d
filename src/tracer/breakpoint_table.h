// The breakpoints in one address space: what lies below them, and what it means to stop there. Owns them: what is planted is
// taken out again when this ends, wherever it is still there.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "arch/cpu.h"
#include "tracer/loaded_objects.h"

namespace heaptap::tracer {

struct Site {
  uint64_t address = 0;
  uint32_t object = 0;                                          // index into LoadedObjects
  std::array<uint8_t, arch::Cpu::kMaxInstructionBytes> code{};  // as it was
  size_t code_bytes = 0;
  bool planted = false;
  // What stopping here means; all that apply.
  std::vector<FoundFunction> functions;  // these are called
  bool tracks_return = true;             // of them
  bool is_return = false;                // some function ends
  bool is_tail_jump = false;             // some function may go on elsewhere
  bool is_change_notice = false;         // objects came or went
  unsigned awaited_returns = 0;          // so many calls are waited for that come back here

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
  // The site at that address, a new one that isn't planted yet if there was none. Null: its instruction can't be read, or
  // can't be emulated.
  Site* add(uint64_t address, uint32_t object);
  bool plant(Site& site);
  // A breakpoint where a call comes back, until await_no_more() has been called as often. Any instruction may lie below:
  // whoever is waited for finds it there again. Null: it can't be written. `object` may be kNoObject.
  static constexpr uint32_t kNoObject = UINT32_MAX;
  Site* await_return(uint64_t address, uint32_t object);
  void await_no_more(uint64_t address);
  // Whether a breakpoint instruction is there now, whoever has put it there.
  [[nodiscard]] bool is_breakpoint_at(uint64_t address) const { return is_in(memory_, address); }
  // Its own instruction is there until it is planted again.
  void take_out(uint64_t address);
  // Forgets the sites of an object whose memory is gone.
  void forget(uint32_t object);
  // Takes all out of `memory`: this address space's, or a copy of it that a fork made.
  void lift_all(arch::TargetMemory& memory) const;
  // Whether `memory` may be a copy of this one: all that is planted is there, too.
  [[nodiscard]] bool are_all_in(arch::TargetMemory& memory) const;
  // This memory is the copy that a fork made of the parent's: what is planted in it is here from now on.
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
