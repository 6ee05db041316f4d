// One step of a walk in another process: from a frame to its caller's, by a row of unwind rules or over a signal's frame.
#pragma once
#include <stdint.h>

#include "arch/signal_frames.h"
#include "unwind/row.h"

namespace heaptap::unwind {

// A frame as a walk finds it: where the return address was read, the address itself, and the registers of the function that it
// returns to.
struct WalkFrame {
  uint64_t slot = 0;  // 0: not on the stack: in a register, or in a signal's frame
  uint64_t key = 0;
  uint64_t sp = 0;
  uint64_t fp = 0;
  uint64_t fp_slot = 0;   // where `fp` was read from; 0: it is the register's value at the start
  uint64_t cfa_slot = 0;  // where `sp` was read from; 0: it follows from the next inner frame
};

// How a walk came from the next inner frame to this one.
enum FrameOrigin : uint32_t {
  kByFramePointer = 1,     // found by way of the frame pointer
  kLoadsFramePointer = 2,  // the frame pointer was read from the stack
};

// By a row of kind kStackOffset, kFrameOffset or kFrameIndirect. `load(address, value)` reads a word of the stack. False: the
// stack can't be read, or leads downwards.
template <typename Load>
bool step_by_row(const unwind::Row& row, unsigned word_bytes, const Load& load, WalkFrame& frame, uint32_t& origin) {
  const uint64_t most = word_bytes == sizeof(uint64_t) ? UINT64_MAX : UINT32_MAX;
  const auto moved = [most](uint64_t address, int64_t bytes) {
    return (address + static_cast<uint64_t>(bytes)) & most;
  };
  const auto words = [word_bytes](int64_t count) { return count * static_cast<int64_t>(word_bytes); };
  WalkFrame next = frame;
  next.cfa_slot = 0;
  next.sp = moved(frame.sp, row.cfa_offset);
  uint64_t fp_base = next.sp;
  origin = 0;
  if (row.kind != unwind::RowKind::kStackOffset) {
    origin = kByFramePointer;
    next.sp = fp_base = moved(frame.fp, row.cfa_offset);
    if (row.kind == unwind::RowKind::kFrameIndirect) {
      next.cfa_slot = next.sp;
      if (!load(next.cfa_slot, next.sp)) return false;
      fp_base = frame.fp;
    }
  }
  next.slot = moved(next.sp, words(row.ra_words));
  if (next.slot < frame.sp || !load(next.slot, next.key)) return false;
  if (row.fp_words != 0 || row.kind == unwind::RowKind::kFrameIndirect) {
    next.fp_slot = moved(fp_base, words(row.fp_words));
    if (!load(next.fp_slot, next.fp)) return false;
    origin |= kLoadsFramePointer;
  }
  frame = next;
  return true;
}

// To what a signal interrupted; the frame's `key` is the address of an instruction then.
template <typename Load>
bool step_over_signal(const arch::SignalTrampoline& signal, const Load& load, WalkFrame& frame) {
  WalkFrame interrupted;
  interrupted.fp_slot = frame.sp + signal.frame_pointer;
  if (!load(interrupted.fp_slot, interrupted.fp) || !load(frame.sp + signal.stack_pointer, interrupted.sp) ||
      !load(frame.sp + signal.program_counter, interrupted.key)) {
    return false;
  }
  frame = interrupted;
  return true;
}

}  // namespace heaptap::unwind
