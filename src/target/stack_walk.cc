#include "target/stack_walk.h"

#include <algorithm>

#include "arch/native.h"
#include "target/cfi_copy.h"

namespace heaptap::target {
namespace {

using Cpu = arch::native::Unwinding;
using unwind::Row;
using unwind::RowKind;

uint64_t moved(uint64_t address, int64_t bytes) { return address + static_cast<uint64_t>(bytes); }

}  // namespace

StackWalk::StackWalk(const ProcessMemory& memory, const std::vector<ModuleImage>& modules) : memory_(memory) {
  for (const ModuleImage& module : modules) {
    for (const AddressRange& code : module.code) code_.push_back({code, &module});
  }
  std::ranges::sort(code_, {}, [](const Module& module) { return module.code.begin; });
}

StackWalk::~StackWalk() = default;

void StackWalk::walk(const StoppedThread& thread, std::vector<wire::StackFrame>& frames) {
  constexpr uint64_t kWindowBytes = 16384;
  window_begin_ = thread.stack_pointer & ~uint64_t{7};
  window_ = memory_.words({window_begin_, window_begin_ + kWindowBytes});
  Registers registers{thread.program_counter, thread.stack_pointer, thread.frame_pointer};
  bool exact = true;  // a return address may lie behind its function's end
  for (unsigned i = 0; i < kMostFrames && registers.pc != 0; ++i) {
    const uint64_t code = registers.pc;
    const uint64_t sp = registers.sp;
    const Row row = row_for(exact ? code : code - 1);
    exact = row.kind == RowKind::kSignal;
    if (exact ? !step_out_of_signal(registers) : !step(row, registers) || registers.sp <= sp) return;
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
    row = copy->row_for(pc);
  }
  rows_.emplace(pc, row);
  return row;
}

bool StackWalk::step(const Row& row, Registers& registers) {
  constexpr int64_t kWord = sizeof(Cpu::Word);
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
      if (!word(moved(registers.fp, row.fp_words * kWord), fp)) return false;
      break;
    default:
      return false;
  }
  const bool fp_saved = row.fp_words != 0 && row.kind != RowKind::kFrameIndirect;
  if (fp_saved && !word(moved(cfa, row.fp_words * kWord), fp)) return false;
  if (!word(moved(cfa, row.ra_words * kWord), registers.pc)) return false;
  registers.sp = cfa;
  registers.fp = fp;
  return true;
}

bool StackWalk::step_out_of_signal(Registers& registers) {
  const uint64_t context = registers.sp;
  return word(context + Cpu::kSignalProgramCounter, registers.pc) &&
         word(context + Cpu::kSignalFramePointer, registers.fp) &&
         word(context + Cpu::kSignalStackPointer, registers.sp);
}

bool StackWalk::word(uint64_t address, uint64_t& value) {
  const uint64_t index = (address - window_begin_) / 8;
  if (address >= window_begin_ && address % 8 == 0 && index < window_.size()) {
    value = window_[index];
    return true;
  }
  const auto read = memory_.value<uint64_t>(address);
  value = read.value_or(0);
  return read.has_value();
}

}  // namespace heaptap::target
