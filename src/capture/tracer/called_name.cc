#include "capture/tracer/called_name.h"

#include <algorithm>
#include <array>

#include "capture/elf/elf_headers.h"

namespace heaptap::tracer {
namespace {

// The function is called by another name: by an allocator itself, or in a static program.
constexpr auto kNoName = wire::Function::kCount;

using InstructionBytes = std::array<uint8_t, arch::Cpu::kMaxInstructionBytes>;

// Memory that notes the last address read by an emulated instruction; writes are ignored.
class ReadObserver final : public arch::TargetMemory {
 public:
  explicit ReadObserver(process::TracedMemory& memory) : memory_(memory) {}
  bool read(uint64_t address, void* to, size_t bytes) override {
    last_ = address;
    return memory_.read(address, to, bytes);
  }
  bool write(uint64_t, const void*, size_t) override { return true; }
  [[nodiscard]] uint64_t last() const { return last_; }

 private:
  process::TracedMemory& memory_;
  uint64_t last_ = 0;
};

const FoundFunction* find_function(std::span<const FoundFunction> functions, wire::Function function) {
  const auto found = std::ranges::find(functions, function, &FoundFunction::function);
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace

const CalledName::Slots& CalledName::slots_of(uint32_t object) {
  const auto [place, is_new] = slots_.try_emplace(object);
  if (is_new) {
    for (const NamedSlot& slot : objects_.named_slots(object)) place->second.emplace(slot.address, slot.function);
  }
  return place->second;
}

void CalledName::forget(uint32_t object) {
  slots_.erase(object);
  by_return_.clear();
}

uint64_t CalledName::slot_read_by(uint64_t at, std::span<const uint8_t> code, arch::RegisterImage registers) {
  ReadObserver observer(memory_);
  cpu_.set_program_counter(registers, at);
  return cpu_.emulate(at, code, registers, observer) ? observer.last() : 0;
}

// The slot of a stub between the call and the function: a few instructions, then a jump to what was read last.
uint64_t CalledName::slot_of_jump(uint64_t at, arch::RegisterImage registers) {
  constexpr int kMaxStubInstructions = 5;
  ReadObserver observer(memory_);
  for (int i = 0; i < kMaxStubInstructions; ++i) {
    InstructionBytes code;
    const std::span<const uint8_t> bytes(code.data(), memory_.read_some(at, code.data(), code.size()));
    const arch::Instruction instruction = cpu_.decode(at, bytes);
    const bool jumps = instruction.flow == arch::Flow::kIndirectJump;
    cpu_.set_program_counter(registers, at);
    if ((!jumps && instruction.flow != arch::Flow::kNext) || !cpu_.emulate(at, bytes, registers, observer)) return 0;
    if (jumps) return observer.last();
    at += instruction.length_bytes;
  }
  return 0;
}

uint64_t CalledName::word(uint64_t at) {
  std::array<uint8_t, 8> raw{};
  if (!memory_.read(at, raw.data(), cpu_.word_bytes())) return 0;
  return elf::ElfForm{cpu_.word_bytes(), cpu_.is_big_endian()}.number(raw.data(), cpu_.word_bytes());
}

// The call is the instruction before the return address. Other bytes that look like a call lead to no slot.
wire::Function CalledName::find_called(const Slots& slots, const arch::RegisterImage& registers, uint64_t function,
                                       uint64_t return_address) {
  for (size_t length = 2; length <= arch::Cpu::kMaxInstructionBytes; ++length) {
    InstructionBytes code;
    const uint64_t at = return_address - length;
    const std::span<const uint8_t> bytes(code.data(), memory_.read_some(at, code.data(), length));
    const arch::Instruction instruction = cpu_.decode(at, bytes);
    if (instruction.flow != arch::Flow::kCall || instruction.length_bytes != length) continue;
    if (instruction.target == function) return kNoName;
    const uint64_t slot =
        instruction.target != 0 ? slot_of_jump(instruction.target, registers) : slot_read_by(at, bytes, registers);
    if (const auto named = slots.find(slot); named != slots.end()) return named->second;
    if (slot != 0 && word(slot) == function) return kNoName;
  }
  return wire::Function::kNone;
}

wire::Function CalledName::choose(std::span<const FoundFunction> functions, const arch::RegisterImage& registers,
                                  uint64_t return_address) {
  if (functions.size() == 1) return functions.front().function;
  if (const int caller = objects_.find(return_address - 1); caller >= 0) {
    const Slots& slots = slots_of(static_cast<uint32_t>(caller));
    const auto [known, is_new] = by_return_.try_emplace(return_address, wire::Function::kNone);
    if (is_new) known->second = find_called(slots, registers, functions.front().address, return_address);
    if (find_function(functions, known->second) != nullptr) return known->second;
  }
  wire::Function all = functions.front().function;
  for (const FoundFunction& function : functions) all = wire::combined(all, function.function);
  return all;
}

}  // namespace heaptap::tracer
