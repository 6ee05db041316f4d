#include "common/arch/x86/common_cpu.h"

#include "common/arch/x86/action.h"
#include "common/arch/x86/emulate.h"
#include "common/arch/x86/interrupted_call.h"
#include "common/arch/x86/red_zone.h"

namespace heaptap::arch::x86 {
namespace {

constexpr uint8_t kBreakpoint[] = {0xcc};
constexpr uint8_t kSystemCall64[] = {0x0f, 0x05};  // syscall
constexpr uint8_t kSystemCall32[] = {0xcd, 0x80};  // int 0x80

}  // namespace

uint64_t CommonCpu::word(const RegisterImage& registers, unsigned index) const {
  return load_little_endian(registers.bytes + size_t{layout_.word_bytes} * index, layout_.word_bytes);
}

void CommonCpu::set_word(RegisterImage& registers, unsigned index, uint64_t value) const {
  store_little_endian(registers.bytes + size_t{layout_.word_bytes} * index, layout_.word_bytes, value);
}

bool CommonCpu::runs(const RegisterImage& registers) const {
  if (registers.size != size_t{layout_.word_bytes} * layout_.words) return false;
  const uint64_t segment = word(registers, layout_.code_segment) & 0xffff;
  return segment == layout_.user_code_segments[0] || segment == layout_.user_code_segments[1];
}

uint64_t CommonCpu::program_counter(const RegisterImage& registers) const {
  return word(registers, layout_.program_counter);
}

uint64_t CommonCpu::stack_pointer(const RegisterImage& registers) const {
  return word(registers, layout_.general[kSp]);
}

uint64_t CommonCpu::frame_pointer(const RegisterImage& registers) const {
  return word(registers, layout_.general[kBp]);
}

uint64_t CommonCpu::result(const RegisterImage& registers) const { return word(registers, layout_.general[kAx]); }

void CommonCpu::set_result(RegisterImage& registers, uint64_t value) const {
  set_word(registers, layout_.general[kAx], value);
}

void CommonCpu::set_program_counter(RegisterImage& registers, uint64_t address) const {
  set_word(registers, layout_.program_counter, address);
}

std::span<const uint8_t> CommonCpu::breakpoint() const { return kBreakpoint; }

// The breakpoint was executed: the thread's PC is after it.
uint64_t CommonCpu::breakpoint_address(const RegisterImage& registers) const {
  return low_bytes(program_counter(registers) - sizeof(kBreakpoint), layout_.word_bytes);
}

Instruction CommonCpu::decode(uint64_t address, std::span<const uint8_t> bytes) const {
  Parts parts;
  if (!take_apart(mode_, bytes, parts)) return {};
  Instruction instruction = flow_of(parts, address);
  if (instruction.flow != Flow::kUnknown) instruction.can_emulate = action_of(parts).operation != Operation::kNone;
  return instruction;
}

bool CommonCpu::emulate(uint64_t address, std::span<const uint8_t> bytes, RegisterImage& registers,
                        TargetMemory& memory) const {
  Parts parts;
  if (!take_apart(mode_, bytes, parts)) return false;
  MachineState state = state_of(registers);
  if (!add_segments(registers, state) || !x86::emulate(parts, address, state, memory)) return false;
  keep(state, registers);
  return true;
}

bool CommonCpu::may_use_red_zone(std::span<const uint8_t> function, uint64_t at) const {
  return x86::may_use_red_zone(mode_, function, at);
}

MachineState CommonCpu::state_of(const RegisterImage& registers) const {
  MachineState state;
  for (unsigned i = 0; i < layout_.general_count; ++i) state.general[i] = word(registers, layout_.general[i]);
  state.program_counter = word(registers, layout_.program_counter);
  state.flags = word(registers, layout_.flags);
  return state;
}

void CommonCpu::keep(const MachineState& state, RegisterImage& registers) const {
  for (unsigned i = 0; i < layout_.general_count; ++i) set_word(registers, layout_.general[i], state.general[i]);
  set_word(registers, layout_.program_counter, state.program_counter);
  set_word(registers, layout_.flags, state.flags);
}

bool CommonCpu::stack_word(TargetMemory& memory, uint64_t address, uint64_t& value) const {
  uint8_t raw[8];
  if (!memory.read(address, raw, layout_.word_bytes)) return false;
  value = load_little_endian(raw, layout_.word_bytes);
  return true;
}

// After the return address.
uint64_t CommonCpu::argument_place(const RegisterImage& registers, unsigned index) const {
  const uint64_t distance = uint64_t{layout_.word_bytes} * (uint64_t{index} + 1);
  return low_bytes(stack_pointer(registers) + distance, layout_.word_bytes);
}

bool CommonCpu::stack_argument(const RegisterImage& registers, TargetMemory& memory, unsigned index,
                               uint64_t& value) const {
  return stack_word(memory, argument_place(registers, index), value);
}

bool CommonCpu::set_stack_argument(const RegisterImage& registers, TargetMemory& memory, unsigned index,
                                   uint64_t value) const {
  uint8_t raw[8];
  store_little_endian(raw, layout_.word_bytes, value);
  return memory.write(argument_place(registers, index), raw, layout_.word_bytes);
}

bool CommonCpu::call_place(const RegisterImage& registers, TargetMemory& memory, CallPlace& place) const {
  const uint64_t slot = stack_pointer(registers);
  uint64_t return_address = 0;
  if (!stack_word(memory, slot, return_address)) return false;
  place = {.return_address = return_address,
           .slot = slot,
           .entry_stack_pointer = slot,
           .caller_stack_pointer = low_bytes(slot + layout_.word_bytes, layout_.word_bytes)};
  return true;
}

// A return instruction pops the address that the call pushed.
bool CommonCpu::returns_from(const RegisterImage& registers, const CallPlace& place) const {
  return stack_pointer(registers) == place.entry_stack_pointer;
}

// The stop alone may have caused EINTR.
bool CommonCpu::restart_interrupted_call(RegisterImage& registers) const {
  const uint64_t interrupted = low_bytes(kInterrupted, layout_.word_bytes);
  if (!runs(registers) || result(registers) != interrupted) return false;
  if (!does_nothing_when_interrupted(word(registers, layout_.system_call))) return false;
  set_word(registers, layout_.general[kAx], kRestartUnlessHandled);
  return true;
}

// Only those that may run under a mask of their own: the registers say what becomes of the others.
bool CommonCpu::repeat_call(RegisterImage& registers, TargetMemory& /*memory*/) const {
  const uint64_t none = low_bytes(~uint64_t{0}, layout_.word_bytes);
  const uint64_t call = word(registers, layout_.system_call);
  if (call == none || result(registers) != low_bytes(kRestartUnlessHandled, layout_.word_bytes)) return false;
  set_result(registers, call);
  set_word(registers, layout_.system_call, none);
  set_program_counter(registers, program_counter(registers) - sizeof(kSystemCall64));
  return true;
}

// Numbers of asm/unistd_64.h and asm/unistd_32.h.
bool CommonCpu::ends_all_threads(const RegisterImage& registers) const {
  const uint64_t exit_group = layout_.word_bytes == 8 ? 231 : 252;
  return runs(registers) && word(registers, layout_.system_call) == exit_group;
}

bool CommonCpu::is_clone(uint64_t system_call) const { return system_call == (layout_.word_bytes == 8 ? 56 : 120); }

bool CommonCpu::is_clone3(uint64_t system_call) const { return system_call == 435; }

bool CommonCpu::names_tracer(const RegisterImage& registers) const {
  constexpr uint64_t kSetPtracer = 0x59616d61;
  const bool is_wide = layout_.word_bytes == 8;
  const uint64_t operation = word(registers, layout_.general[is_wide ? 7 : 3]);  // rdi, ebx
  const uint64_t tracer = word(registers, layout_.general[is_wide ? 6 : 1]);     // rsi, ecx
  return runs(registers) && word(registers, layout_.system_call) == (is_wide ? 157 : 172) &&
         static_cast<uint32_t>(operation) == kSetPtracer && tracer != 0;
}

bool CommonCpu::makes_tasks(uint64_t system_call) const {
  if (is_clone(system_call) || is_clone3(system_call)) return true;
  if (layout_.word_bytes == 8) return system_call == 57 || system_call == 58;
  return system_call == 2 || system_call == 190;
}

std::span<const uint8_t> CommonCpu::system_call_instruction() const {
  return layout_.word_bytes == 8 ? std::span<const uint8_t>(kSystemCall64) : std::span<const uint8_t>(kSystemCall32);
}

void CommonCpu::set_system_call(RegisterImage& registers, uint64_t instruction, uint64_t number,
                                std::span<const uint64_t, 4> arguments) const {
  constexpr uint8_t kArguments64[] = {7, 6, kDx, 10};   // rdi, rsi, rdx, r10
  constexpr uint8_t kArguments32[] = {3, kCx, kDx, 6};  // ebx, ecx, edx, esi
  const uint8_t* const places = layout_.word_bytes == 8 ? kArguments64 : kArguments32;
  for (size_t i = 0; i < arguments.size(); ++i) set_word(registers, layout_.general[places[i]], arguments[i]);
  set_result(registers, number);
  set_word(registers, layout_.system_call, ~uint64_t{0});  // no call was interrupted
  set_program_counter(registers, instruction);
}

uint64_t CommonCpu::signal_action_call() const { return layout_.word_bytes == 8 ? 13 : 174; }

bool CommonCpu::is_signal_action(const RegisterImage& registers, SignalActionCall& call) const {
  const bool is_wide = layout_.word_bytes == 8;
  if (!runs(registers) || word(registers, layout_.system_call) != signal_action_call()) return false;
  call.signal = word(registers, layout_.general[is_wide ? 7 : 3]);  // rdi, ebx
  call.action = word(registers, layout_.general[is_wide ? 6 : 1]);  // rsi, ecx
  call.before = word(registers, layout_.general[kDx]);
  return true;
}

}  // namespace heaptap::arch::x86
