// Plan for the patch of a function in a running program, so that calls go to a hook first. Pure: from the function's code. x86-64.
//
//   function   first instruction          the same                      copy: first instruction
//              second …          ▸        jmp entry                           second … moved
//              rest                       rest                                jmp rest
//                                                               entry: undo of the first instruction
//                                                                      jmp hook
//
// The second instruction is replaced, not the first: a uprobe may sit on a function's first instruction, now or later, and executes
// that one elsewhere. What the first one has done is undone before the hook is entered as if it had been called. A function that is a jump to
// another one gets another jump: a uprobe there goes on to the old target.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/address_range.h"
#include "common/base/result.h"
#include "common/base/sizes.h"

namespace heaptap::inject {

struct FunctionCode {
  uint64_t address = 0;
  std::span<const uint8_t> bytes;  // all of it
  unsigned arguments = 6;          // at most as many integers and pointers: registers of others may be set
};

struct PatchPlan {
  uint64_t function = 0;
  uint64_t site = 0;               // of the second instruction
  std::vector<uint8_t> head = {};  // from the function's first byte to the end of what is replaced
  std::vector<uint8_t> undo = {};  // of the first instruction
  bool continues = true;  // behind what is replaced; else its last instruction is a jump, or a call that returns there

  [[nodiscard]] std::span<const uint8_t> replaced() const {
    return std::span(head).subspan(base::size_of_known(site - function));
  }
  // Where no jump may go: a function's beginning is where it is called.
  [[nodiscard]] base::AddressRange kept() const {
    return {site == function ? site + 1 : site, site + replaced().size()};
  }
  // Where no thread may be when the bytes are written: behind the first one of them.
  [[nodiscard]] base::AddressRange inner() const { return {site + 1, site + replaced().size()}; }
};

// The error says which property of the function forbids it.
base::Result<PatchPlan> plan_patch(const FunctionCode& function);

struct Trampoline {
  std::vector<uint8_t> code;  // begins with the copy
  uint64_t entry = 0;         // offset of the way to the hook
};
// For this address. An error: code is too far away; the hook may be anywhere.
base::Result<Trampoline> make_trampoline(const PatchPlan& plan, uint64_t address, uint64_t hook);

// What takes the place of plan.replaced().
std::vector<uint8_t> make_patch(const PatchPlan& plan, uint64_t entry);

// Whether some bytes of this code, as an instruction, would be a jump or a call into one of the ranges.
bool jumps_into(std::span<const uint8_t> code, uint64_t address, std::span<const base::AddressRange> ranges);

}  // namespace heaptap::inject
