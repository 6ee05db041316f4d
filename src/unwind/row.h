// A row of unwind rules: how to get from a frame to its caller's. Freestanding, the same for every CPU.
#pragma once
#include <stdint.h>

namespace heaptap::unwind {

enum class RowKind : uint8_t {
  kUnknown = 0,    // not looked up yet
  kStackOffset,    // CFA = SP + cfa_offset
  kFrameOffset,    // CFA = FP + cfa_offset
  kFrameIndirect,  // CFA = *(FP + cfa_offset); the caller's FP is at *(FP + fp_words)  (realigned stacks)
  kSignal,         // a signal's trampoline: the interrupted registers are at SP
  kEnd,            // the thread's first frame
  kNoTable,        // this code has no CFI
  kUnsupported,    // CFI of another shape
};

// 8 bytes, so that a table of them is small and one is read in one go.
struct Row {
  RowKind kind = RowKind::kUnknown;
  int8_t ra_words = 0;   // return address at CFA + ra_words * word
  int16_t fp_words = 0;  // caller's frame pointer at CFA + fp_words * word; 0: unchanged
  int32_t cfa_offset = 0;

  friend bool operator==(const Row&, const Row&) = default;
};
static_assert(sizeof(Row) == 8);

}  // namespace heaptap::unwind
