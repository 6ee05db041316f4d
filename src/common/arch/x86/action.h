// Actions of instructions that can be emulated: an operation on one or two places. One table determines both whether an
// instruction can be emulated and how.
#pragma once
#include <stdint.h>

#include "common/arch/x86/decode.h"

namespace heaptap::arch::x86 {

enum class Operation : uint8_t {
  kNone,  // can't be emulated
  kNothing,
  kMove,
  kMoveSigned,
  kLoadAddress,
  kExchange,
  kArithmetic,  // `number`: as in arithmetic()
  kTest,
  kNot,
  kNegate,
  kIncrement,
  kDecrement,
  kShift,  // `number`: as in shift()
  kMultiply,
  kMultiplyBy,  // `from` by the immediate
  kBitTest,
  kSetIf,   // `number`: the condition
  kMoveIf,  // the same
  kWiden,   // ax from its lower half
  kSpread,  // dx from the sign of ax
  kPush,
  kPop,
  kLeave,
  kCall,  // `from`: the target; kNowhere: relative, by the immediate
  kJump,  // the same
  kBranch,
  kBranchIfZero,  // cx
  kReturn,
};

enum class Place : uint8_t {
  kNowhere,
  kModrm,  // register or memory
  kReg,    // of the ModRM byte
  kAccumulator,
  kOpcodeRegister,
  kImmediate,
  kCount,  // cl
  kOne,
};

struct Action {
  Operation operation = Operation::kNone;
  Place to = Place::kNowhere;
  Place from = Place::kNowhere;
  uint8_t bytes = 0;       // of `to`
  uint8_t from_bytes = 0;  // 0: the same
  uint8_t number = 0;
};

Action action_of(const Parts& parts);

}  // namespace heaptap::arch::x86
