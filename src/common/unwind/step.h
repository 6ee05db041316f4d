// One step of a stack walk: from a frame to its caller's, by a row, by the frame pointer alone, or over a signal's
// frame. Freestanding; shared by the agent in its own process and the tracer in another, for every CPU.
#pragma once
#include <stdint.h>

#include <concepts>
#include <type_traits>

#include "common/unwind/cpu_facts.h"
#include "common/unwind/row.h"
#include "common/wire/log.h"

namespace heaptap::unwind {

// Stack memory, in words of a CPU.
template <typename T>
concept StackMemory = requires(T& memory, uint64_t address, uint64_t& value) {
  // Reads the word at this address, in this machine's byte order, zero-extended. False: unreadable, unaligned, or below
  // the walk's first frame.
  { memory.load(address, value) } -> std::same_as<bool>;
};

// Frame of a walk: the place of the return address, the address itself, and the registers of the function that it
// returns to. For the innermost frame the registers are the walk's initial ones.
struct Frame {
  uint64_t slot = 0;  // 0: not on the stack: in a register, or in a signal's frame
  uint64_t key = 0;   // the return address; with wire::kCodeExact an interrupted instruction's
  uint64_t sp = 0;    // stack pointer after the return to `key`
  uint64_t fp = 0;
  uint64_t fp_slot = 0;   // place that `fp` was read from; 0: it is the initial register value
  uint64_t cfa_slot = 0;  // place that `sp` was read from; 0: it follows from the next inner frame
};

struct FrameWithLink : Frame {
  uint64_t link = 0;  // the link register; 0: unknown, since calls overwrite it
};

template <UnwoundCpu Cpu>
using FrameOf = std::conditional_t<kHasLinkRegister<Cpu>, FrameWithLink, Frame>;

// Step by which this frame was reached from the next inner one.
enum FrameOrigin : uint32_t {
  kByFramePointer = 1,     // found by way of the frame pointer
  kLoadsFramePointer = 2,  // the frame pointer was read from the stack
};

// Position of a walk.
template <UnwoundCpu Cpu>
struct Position {
  FrameOf<Cpu> frame;
  uint32_t origin = 0;
  wire::StackEnd end = wire::StackEnd::kComplete;  // reason of a failed step
};

// The instruction whose row applies to a frame with this key: for a return address the call before it, which may be the
// last instruction of its function.
constexpr uint64_t instruction_of(uint64_t key) {
  return wire::code_address(key) - ((key & wire::kCodeExact) != 0 ? 0 : 1);
}

// Entry code of the program or its loader, which has no caller whatever its CFI says. `entry` 0: it is neither. `function`: where the
// function of pc begins; 0: unknown. Another one may follow an entry of a few bytes.
constexpr bool is_entry_code(uint64_t entry, uint64_t function, uint64_t pc) {
  constexpr uint64_t kEntryBytes = 64;
  return entry != 0 && pc - entry < kEntryBytes && function <= entry;
}

// `at` plus that many words.
template <UnwoundCpu Cpu>
constexpr uint64_t moved(uint64_t at, int64_t words) {
  constexpr auto kWord = static_cast<int64_t>(sizeof(typename Cpu::Word));
  return static_cast<typename Cpu::Word>(at + static_cast<uint64_t>(words * kWord));
}

// Base of a row's distances, and the resulting addresses for one frame.
template <UnwoundCpu Cpu>
struct RowPlaces {
  bool is_stack;            // relative to SP, else to FP
  bool is_record = false;   // saved registers are relative to that too, not to the CFA
  bool is_return = false;   // the return address alone is
  bool is_pair = false;     // the return address is behind the frame pointer
  bool is_in_link = false;  // the return address isn't on the stack
  bool is_indirect;
  uint64_t from;
  uint64_t cfa;
  uint64_t cfa_slot = 0;  // place that the CFA was read from

  RowPlaces(Row row, const Frame& frame)
      : is_stack(row.kind() == RowKind::kStackOffset), is_indirect(row.kind() == RowKind::kFrameIndirect) {
    if constexpr (kHasLinkRegister<Cpu>) {
      is_return = row.kind() == RowKind::kStackReturn;
      is_pair = row.kind() == RowKind::kStackPair || row.kind() == RowKind::kFramePair;
      is_stack = is_stack || is_return || row.kind() == RowKind::kStackLeaf || row.kind() == RowKind::kStackRecord ||
                 row.kind() == RowKind::kStackPair;
      is_record = row.kind() == RowKind::kStackRecord || row.kind() == RowKind::kFrameRecord;
      is_in_link = row.kind() == RowKind::kStackLeaf || row.kind() == RowKind::kFrameLeaf;
    }
    from = is_stack ? frame.sp : frame.fp;
    cfa = moved<Cpu>(from, row.cfa_words());
  }

  [[nodiscard]] uint64_t return_address(Row row) const {
    if (is_pair) return moved<Cpu>(cfa, row.fp_words() + 1);
    return moved<Cpu>(is_record || is_return ? from : cfa, row.ra_words());
  }
  [[nodiscard]] bool saves_frame_pointer(Row row) const { return row.fp_words() != 0 || is_indirect || is_record; }
  [[nodiscard]] uint64_t frame_pointer(Row row) const {
    return moved<Cpu>(is_indirect || is_record ? from : cfa, row.fp_words());
  }
};

// Reads the return address from its place. False: unreadable, or the step leads downwards.
template <UnwoundCpu Cpu, StackMemory Memory>
[[gnu::always_inline]] inline bool load_return_address(Row row, const RowPlaces<Cpu>& places, const FrameOf<Cpu>& frame,
                                                       Memory& memory, uint64_t& slot, uint64_t& key) {
  if constexpr (kHasLinkRegister<Cpu>) {
    if (places.is_in_link) {
      key = frame.link;
      return places.cfa >= frame.sp && key != 0;
    }
    if (places.cfa <= frame.sp) return false;  // otherwise the return address lies between SP and the CFA
  }
  slot = places.return_address(row);
  return slot >= frame.sp && memory.load(slot, key);
}

// Step by a row of a kind with distances. False: the stack is unreadable or leads downwards, or there is no caller.
template <UnwoundCpu Cpu, StackMemory Memory>
[[gnu::always_inline]] inline bool step_by_row(const Cpu& cpu, Row row, Memory& memory, Position<Cpu>& at) {
  RowPlaces<Cpu> places(row, at.frame);
  auto& frame = at.frame;
  at.end = wire::StackEnd::kUnreadable;
  if (places.is_indirect) {
    if (row.ra_words() != Cpu::kReturnAddressWords) [[unlikely]] {  // LastStack::sp_of() counts on it
      at.end = wire::StackEnd::kUnsupportedRule;
      return false;
    }
    places.cfa_slot = places.cfa;
    if (!memory.load(places.cfa_slot, places.cfa)) return false;
  }
  uint64_t slot = 0;
  uint64_t key = 0;
  if (!load_return_address(row, places, frame, memory, slot, key)) [[unlikely]]
    return false;
  at.origin = places.is_stack ? 0u : kByFramePointer;
  if (places.saves_frame_pointer(row)) {
    const uint64_t fp_slot = places.frame_pointer(row);
    if (!memory.load(fp_slot, frame.fp)) [[unlikely]]
      return false;
    frame.fp_slot = fp_slot;
    at.origin |= kLoadsFramePointer;
  }
  frame.slot = slot;
  frame.key = key & cpu.address_mask();
  frame.sp = places.cfa;
  frame.cfa_slot = places.cfa_slot;
  if constexpr (kHasLinkRegister<Cpu>) frame.link = 0;
  at.end = wire::StackEnd::kComplete;
  return key != 0;  // 0 marks the first frame of code without CFI, by the ABI
}

// For code without CFI: whether its frame pointer is plausible.
template <UnwoundCpu Cpu>
bool may_follow_frame_pointer(const Frame& frame) {
  if constexpr (!Cpu::kHasFrameRecords) return false;
  // A more distant one belongs to a fiber, from where its context was made.
  constexpr uint64_t kLargestFrame = 8u << 20;
  const uint64_t at = moved<Cpu>(frame.fp, Cpu::kFrameRecordWords);
  return at >= frame.sp && at % sizeof(typename Cpu::Word) == 0 && at - frame.sp <= kLargestFrame;
}

// Step by the frame pointer to any stack. Succeeds if it leads to a return address in known code: is_code(address).
template <UnwoundCpu Cpu, StackMemory Memory, typename IsCode>
bool step_to_frame_record(const Cpu& cpu, Memory& memory, const IsCode& is_code, Position<Cpu>& at) {
  at.end = wire::StackEnd::kNoUnwindTable;
  FrameOf<Cpu> next;
  next.fp_slot = moved<Cpu>(at.frame.fp, Cpu::kFrameRecordWords);
  next.slot = moved<Cpu>(next.fp_slot, 1);
  next.sp = moved<Cpu>(next.fp_slot, 2);
  if (!memory.load(next.slot, next.key)) return false;
  next.key &= cpu.address_mask();
  if (!is_code(next.key) || !memory.load(next.fp_slot, next.fp)) return false;
  at.frame = next;
  at.origin = kByFramePointer | kLoadsFramePointer;
  return true;
}

// The same, further out on this stack.
template <UnwoundCpu Cpu, StackMemory Memory, typename IsCode>
bool step_by_frame_pointer(const Cpu& cpu, Memory& memory, const IsCode& is_code, Position<Cpu>& at) {
  at.end = wire::StackEnd::kNoUnwindTable;
  return may_follow_frame_pointer<Cpu>(at.frame) && step_to_frame_record(cpu, memory, is_code, at);
}

// Step to the code interrupted by a signal. `signal`: offset of the interrupted registers in its frame, in bytes from
// SP (arch::SignalTrampoline).
template <UnwoundCpu Cpu, StackMemory Memory, typename Signal>
bool step_over_signal(const Cpu& cpu, const Signal& signal, Memory& memory, Position<Cpu>& at) {
  const uint64_t context = at.frame.sp;
  FrameOf<Cpu> next;
  next.fp_slot = context + signal.frame_pointer;
  at.end = wire::StackEnd::kUnreadable;
  if (!memory.load(next.fp_slot, next.fp) || !memory.load(context + signal.stack_pointer, next.sp) ||
      !memory.load(context + signal.program_counter, next.key)) {
    return false;
  }
  if constexpr (kHasLinkRegister<Cpu>) {
    if (!memory.load(context + signal.link_register, next.link)) return false;
    next.link &= cpu.address_mask();
  }
  next.key = (next.key & cpu.address_mask()) | wire::kCodeExact;
  at.frame = next;
  at.origin = kLoadsFramePointer;
  at.end = wire::StackEnd::kComplete;
  return true;
}

}  // namespace heaptap::unwind
