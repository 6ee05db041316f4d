#include "capture/scan/stack_walk.h"

#include <algorithm>
#include <span>

#include "capture/elf/frame_tables.h"
#include "common/arch/walked_cpus.h"

namespace heaptap::scan {
namespace {

using unwind::Row;
using unwind::RowKind;

std::span<const arch::SignalTrampoline> trampolines_of(wire::Architecture architecture) {
  std::span<const arch::SignalTrampoline> trampolines;
  arch::visit_walked_cpu(architecture, [&]<typename Cpu>(Cpu) { trampolines = Cpu::kTrampolines; });
  return trampolines;
}

template <typename Cpu>
unwind::Position<Cpu> position_of(const process::StoppedThread& thread) {
  unwind::Position<Cpu> at;
  at.frame.key = wire::code_address(thread.program_counter) | wire::kCodeExact;
  at.frame.sp = thread.stack_pointer;
  at.frame.fp = thread.frame_pointer;
  return at;
}

}  // namespace

StackWalk::StackWalk(const process::ProgramMemory& memory, const std::vector<elf::ModuleImage>& modules,
                     wire::Architecture architecture)
    : memory_(memory), architecture_(architecture) {
  for (const elf::ModuleImage& module : modules) {
    for (const base::AddressRange& code : module.code) code_.push_back({code, &module});
  }
  std::ranges::sort(code_, {}, [](const Module& module) { return module.code.begin; });
}

StackWalk::~StackWalk() = default;

void StackWalk::walk(const process::StoppedThread& thread, std::vector<wire::StackFrame>& frames) {
  arch::visit_walked_cpu(architecture_, [&]<typename Cpu>(Cpu) { walk_by<typename Cpu::Rules>(thread, frames); });
}

template <typename Cpu>
void StackWalk::walk_by(const process::StoppedThread& thread, std::vector<wire::StackFrame>& frames) {
  copy_window(thread.stack_pointer);
  unwind::Position<Cpu> at = position_of<Cpu>(thread);
  for (unsigned i = 0; i < kMaxFrames; ++i) {
    const uint64_t key = at.frame.key;
    const uint64_t sp = at.frame.sp;
    const bool has_caller = step(row_for<Cpu>(unwind::instruction_of(key)), at);
    if (at.end != wire::StackEnd::kComplete || at.frame.sp <= sp) return;
    frames.push_back({at.frame.sp, wire::code_address(key), thread.thread_id});
    if (!has_caller) return;
  }
}

void StackWalk::copy_window(uint64_t stack_pointer) {
  constexpr uint64_t kWindowBytes = 16384;
  window_begin_ = stack_pointer & ~uint64_t{memory_.word_bytes() - 1};
  window_ = memory_.words({window_begin_, window_begin_ + kWindowBytes});
}

model::Crash StackWalk::crash_of(const process::StoppedThread& thread, uint64_t signal_frame) {
  model::Crash crash{.signal = 0, .thread_id = thread.thread_id, .end = wire::StackEnd::kComplete, .codes = {}};
  arch::visit_walked_cpu(architecture_, [&]<typename Cpu>(Cpu) {
    using Rules = typename Cpu::Rules;
    unwind::Position<Rules> at = position_of<Rules>(thread);
    if (signal_frame != 0) {
      at.frame.sp = signal_frame;
      if (!unwind::step_over_signal(Rules(), Cpu::kTrampolines[0], *this, at)) return;
    } else if (!thread.registers_known) {
      return;
    }
    copy_window(at.frame.sp);
    crash.end = walk_crash<Rules>(at, crash.codes);
  });
  return crash;
}

template <typename Cpu>
wire::StackEnd StackWalk::walk_crash(unwind::Position<Cpu> at, std::vector<uint64_t>& codes) {
  codes.push_back(at.frame.key);
  if (!is_executable(wire::code_address(at.frame.key))) {
    if (!step_out_of_no_code(at)) return at.end;
    codes.push_back(at.frame.key);
  }
  while (codes.size() < model::kMaxCrashFrames) {
    const uint64_t sp = at.frame.sp;
    const Row row = row_for<Cpu>(unwind::instruction_of(at.frame.key));
    if (row.kind() == RowKind::kEnd) return wire::StackEnd::kComplete;
    const bool has_caller = step(row, at);
    if (at.end != wire::StackEnd::kComplete || !has_caller) return at.end;
    // A handler may run on another stack than the code that it interrupted.
    if (at.frame.sp <= sp && row.kind() != RowKind::kSignal) return wire::StackEnd::kUnreadable;
    codes.push_back(at.frame.key);
  }
  return wire::StackEnd::kDepthLimit;
}

// Out of a call through a bad pointer: nothing was executed there, so that the return address is on top of the stack.
template <typename Cpu>
bool StackWalk::step_out_of_no_code(unwind::Position<Cpu>& at) {
  at.end = wire::StackEnd::kNoUnwindTable;
  if constexpr (unwind::kHasLinkRegister<Cpu>) return false;
  uint64_t key = 0;
  if (!load(at.frame.sp, key) || tables_at(key) == nullptr) return false;
  at.frame.slot = at.frame.sp;
  at.frame.key = wire::code_address(key);
  at.frame.sp += memory_.word_bytes();
  at.end = wire::StackEnd::kComplete;
  return true;
}

bool StackWalk::is_executable(uint64_t address) const {
  const process::Mapping* const mapping = process::find_mapping(memory_.map(), address);
  return mapping != nullptr && mapping->executable;
}

template <typename Cpu>
Row StackWalk::row_for(uint64_t pc) {
  if (const auto known = rows_.find(pc); known != rows_.end()) return known->second;
  elf::FrameTables* tables = tables_at(pc);
  const Row row = tables != nullptr ? tables->row_for<Cpu>(pc) : Row(RowKind::kNoTable);
  rows_.emplace(pc, row);
  return row;
}

base::AddressRange StackWalk::function_at(uint64_t pc) {
  elf::FrameTables* tables = tables_at(pc);
  if (tables == nullptr) return {};
  base::AddressRange function{};
  arch::visit_walked_cpu(architecture_,
                         [&]<typename Cpu>(Cpu) { function = tables->function_at<typename Cpu::Rules>(pc); });
  return function;
}

elf::FrameTables* StackWalk::tables_at(uint64_t pc) {
  const auto behind = std::ranges::upper_bound(code_, pc, {}, [](const Module& module) { return module.code.begin; });
  if (behind == code_.begin() || !std::prev(behind)->code.contains(pc)) return nullptr;
  const elf::ModuleImage* image = std::prev(behind)->image;
  auto& tables = tables_[image];
  if (!tables) tables = make_tables(*image);
  return tables.get();
}

std::unique_ptr<elf::FrameTables> StackWalk::make_tables(const elf::ModuleImage& image) const {
  const elf::FrameTablePlaces places{.range = image.unwind_segment,
                                     .header = image.unwind_header,
                                     .table = 0,
                                     .table_bytes = 0,
                                     .word_bytes = memory_.word_bytes(),
                                     .bias = image.bias};
  return std::make_unique<elf::FrameTables>(places, memory_);
}

template <typename Cpu>
bool StackWalk::step(Row row, unwind::Position<Cpu>& at) {
  at.end = wire::StackEnd::kNoUnwindTable;
  switch (row.kind()) {
    case RowKind::kUnknown:
    case RowKind::kEnd:
    case RowKind::kNoTable:
    case RowKind::kUnsupported:
      return false;
    case RowKind::kSignal: {
      const arch::SignalTrampoline* signal = signal_at(wire::code_address(at.frame.key));
      return signal != nullptr && unwind::step_over_signal(Cpu(), *signal, *this, at);
    }
    default:
      return unwind::step_by_row(Cpu(), row, *this, at);
  }
}

// The kind of signal frame that the trampoline at this address belongs to.
const arch::SignalTrampoline* StackWalk::signal_at(uint64_t address) const {
  const auto trampolines = trampolines_of(architecture_);
  uint8_t code[arch::SignalTrampoline::kMaxBytes] = {};
  memory_.read_some(address, code, sizeof(code));
  for (const arch::SignalTrampoline& trampoline : trampolines) {
    if (trampoline.is(code)) return &trampoline;
  }
  return trampolines.empty() ? nullptr : trampolines.data();
}

bool StackWalk::load(uint64_t address, uint64_t& value) {
  const uint64_t word_bytes = memory_.word_bytes();
  const uint64_t index = (address - window_begin_) / word_bytes;
  if (address >= window_begin_ && address % word_bytes == 0 && index < window_.size()) {
    value = window_[static_cast<size_t>(index)];
    return true;
  }
  const auto read = memory_.word(address);
  value = read.value_or(0);
  return read.has_value();
}

}  // namespace heaptap::scan
