#include "target/stack_walk.h"

#include <algorithm>

#include "arch/i386/registers.h"
#include "arch/x86_64/registers.h"
#include "target/cfi_copy.h"

namespace heaptap::target {
namespace {

namespace i386 = arch::i386;
namespace x86_64 = arch::x86_64;
using unwind::Row;
using unwind::RowKind;

uint64_t moved(uint64_t address, int64_t bytes) { return address + static_cast<uint64_t>(bytes); }

// Where the interrupted registers are, from a signal's trampoline's stack pointer on.
struct SignalFrame {
  uint64_t pc;
  uint64_t fp;
  uint64_t sp;
};
constexpr SignalFrame kFrameOf64Bits = {x86_64::Unwinding::kSignalProgramCounter,
                                        x86_64::Unwinding::kSignalFramePointer, x86_64::Unwinding::kSignalStackPointer};
constexpr SignalFrame kFrameOf32Bits = {i386::Unwinding::kSignalProgramCounter, i386::Unwinding::kSignalFramePointer,
                                        i386::Unwinding::kSignalStackPointer};
constexpr SignalFrame kPlainFrameOf32Bits = {i386::Unwinding::kPlainSignalProgramCounter,
                                             i386::Unwinding::kPlainSignalFramePointer,
                                             i386::Unwinding::kPlainSignalStackPointer};

}  // namespace

StackWalk::StackWalk(const ProcessMemory& memory, const std::vector<ModuleImage>& modules,
                     wire::Architecture architecture)
    : memory_(memory), architecture_(architecture) {
  for (const ModuleImage& module : modules) {
    for (const AddressRange& code : module.code) code_.push_back({code, &module});
  }
  std::ranges::sort(code_, {}, [](const Module& module) { return module.code.begin; });
}

StackWalk::~StackWalk() = default;

void StackWalk::walk(const StoppedThread& thread, std::vector<wire::StackFrame>& frames) {
  constexpr uint64_t kWindowBytes = 16384;
  window_begin_ = thread.stack_pointer & ~uint64_t{memory_.word_bytes() - 1};
  window_ = memory_.words({window_begin_, window_begin_ + kWindowBytes});
  Registers registers{thread.program_counter, thread.stack_pointer, thread.frame_pointer};
  bool exact = true;  // a return address may lie behind its function's end
  for (unsigned i = 0; i < kMostFrames && registers.pc != 0; ++i) {
    const uint64_t code = registers.pc;
    const uint64_t sp = registers.sp;
    const Row row = row_for(exact ? code : code - 1);
    exact = row.kind == RowKind::kSignal;
    if (exact ? !step_out_of_signal(code, registers) : !step(row, registers) || registers.sp <= sp) return;
    frames.push_back({registers.sp, code, thread.thread_id});
  }
}

Row StackWalk::row_for(uint64_t pc) {
  if (const auto known = rows_.find(pc); known != rows_.end()) return known->second;
  Row row{RowKind::kNoTable, 0, 0, 0};
  const auto behind = std::ranges::upper_bound(code_, pc, {}, [](const Module& module) { return module.code.begin; });
  if (behind != code_.begin() && std::prev(behind)->code.contains(pc)) {
    const ModuleImage* image = std::prev(behind)->image;
    auto& copy = copies_[image];
    if (!copy) copy = std::make_unique<CfiCopy>(memory_, *image);
    if (architecture_ == x86_64::kArchitecture) row = copy->row_for<x86_64::Unwinding>(pc);
    if (architecture_ == i386::kArchitecture) row = copy->row_for<i386::Unwinding>(pc);
  }
  rows_.emplace(pc, row);
  return row;
}

bool StackWalk::step(const Row& row, Registers& registers) {
  const int64_t word_bytes = memory_.word_bytes();
  uint64_t cfa = 0;
  uint64_t fp = registers.fp;
  switch (row.kind) {
    case RowKind::kStackOffset:
      cfa = moved(registers.sp, row.cfa_offset);
      break;
    case RowKind::kFrameOffset:
      cfa = moved(registers.fp, row.cfa_offset);
      break;
    case RowKind::kFrameIndirect:
      if (!word(moved(registers.fp, row.cfa_offset), cfa)) return false;
      if (!word(moved(registers.fp, row.fp_words * word_bytes), fp)) return false;
      break;
    default:
      return false;
  }
  const bool fp_saved = row.fp_words != 0 && row.kind != RowKind::kFrameIndirect;
  if (fp_saved && !word(moved(cfa, row.fp_words * word_bytes), fp)) return false;
  if (!word(moved(cfa, row.ra_words * word_bytes), registers.pc)) return false;
  registers.sp = cfa;
  registers.fp = fp;
  return true;
}

bool StackWalk::step_out_of_signal(uint64_t code, Registers& registers) {
  SignalFrame frame = kFrameOf64Bits;
  if (architecture_ == i386::kArchitecture) {
    const bool is_plain = memory_.value<uint8_t>(code) == i386::kPlainSignalTrampoline[0];
    frame = is_plain ? kPlainFrameOf32Bits : kFrameOf32Bits;
  }
  const uint64_t context = registers.sp;
  return word(context + frame.pc, registers.pc) && word(context + frame.fp, registers.fp) &&
         word(context + frame.sp, registers.sp);
}

bool StackWalk::word(uint64_t address, uint64_t& value) {
  const uint64_t word_bytes = memory_.word_bytes();
  const uint64_t index = (address - window_begin_) / word_bytes;
  if (address >= window_begin_ && address % word_bytes == 0 && index < window_.size()) {
    value = window_[index];
    return true;
  }
  const auto read = memory_.word(address);
  value = read.value_or(0);
  return read.has_value();
}

}  // namespace heaptap::target
