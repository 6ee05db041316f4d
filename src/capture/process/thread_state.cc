#include "capture/process/thread_state.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "common/arch/native.h"
#include "common/arch/thread_facts.h"

namespace heaptap::process {
namespace {

uint64_t word_at(const arch::RegisterImage& registers, size_t offset, unsigned bytes) {
  if (offset + bytes > registers.size) return 0;
  uint32_t half = 0;
  uint64_t whole = 0;
  void* const word = bytes == sizeof(half) ? static_cast<void*>(&half) : &whole;
  __builtin_memcpy(word, registers.bytes + offset, bytes);
  return bytes == sizeof(half) ? half : whole;
}

uint64_t thread_pointer_of(pid_t thread, const arch::ThreadFacts& facts, const arch::RegisterImage& registers) {
  if (facts.thread_pointer_place == arch::ThreadPointerPlace::kRegisterSet) {
    uint64_t words[4] = {};  // some kernels have a second register in the set
    iovec place{words, sizeof(words)};
    const auto set = reinterpret_cast<void*>(uintptr_t{facts.thread_pointer_offset});
    return ptrace(PTRACE_GETREGSET, thread, set, &place) == 0 ? words[0] : 0;
  }
  const uint64_t value = word_at(registers, facts.thread_pointer_offset, facts.word_bytes);
  if (facts.thread_pointer_place == arch::ThreadPointerPlace::kRegister) return value;
  constexpr unsigned kIndexShift = 3;  // the lower bits: table and privilege
  const arch::SegmentDescriptor& known = facts.segment_descriptor;
  alignas(uint64_t) uint8_t descriptor[arch::SegmentDescriptor::kMaxBytes] = {};
  const auto index = reinterpret_cast<void*>((value & 0xffff) >> kIndexShift);
  if (ptrace(static_cast<__ptrace_request>(known.ptrace_request), thread, index, descriptor) != 0) return 0;
  uint32_t base;
  __builtin_memcpy(&base, descriptor + known.base_offset, sizeof(base));
  return base;
}

void add(StoppedThread& result, const arch::ThreadFacts& facts, uint64_t value, unsigned dwarf) {
  if (!facts.may_be_address(value)) return;
  result.registers.push_back({value, result.thread_id, static_cast<uint16_t>(dwarf)});
}

}  // namespace

bool read_registers(pid_t thread, arch::RegisterImage& registers) {
  iovec place{registers.bytes, sizeof(registers.bytes)};
  if (ptrace(PTRACE_GETREGSET, thread, reinterpret_cast<void*>(NT_PRSTATUS), &place) != 0) return false;
  registers.size = place.iov_len;
  return true;
}

bool write_registers(pid_t thread, const arch::RegisterImage& registers) {
  arch::RegisterImage copy = registers;
  iovec place{copy.bytes, copy.size};
  return ptrace(PTRACE_SETREGSET, thread, reinterpret_cast<void*>(NT_PRSTATUS), &place) == 0;
}

StoppedThread thread_with(uint32_t thread_id, const arch::Cpu& cpu, const arch::RegisterImage& registers) {
  StoppedThread result{.thread_id = thread_id, .registers_known = true, .registers = {}};
  result.stack_pointer = cpu.stack_pointer(registers);
  result.program_counter = cpu.program_counter(registers);
  result.frame_pointer = cpu.frame_pointer(registers);
  const arch::ThreadFacts* facts = arch::thread_facts(cpu.architecture());
  if (facts == nullptr) return result;
  if (facts->thread_pointer_place == arch::ThreadPointerPlace::kRegister) {
    result.thread_pointer = word_at(registers, facts->thread_pointer_offset, facts->word_bytes);
  }
  for (const arch::ScannedRegister& known : facts->registers) {
    add(result, *facts, word_at(registers, known.offset, facts->word_bytes), known.dwarf);
  }
  return result;
}

void add_vector_registers(std::span<const uint8_t> image, const arch::Cpu& cpu, StoppedThread& result) {
  const arch::ThreadFacts* const facts = arch::thread_facts(cpu.architecture());
  if (facts == nullptr) return;
  const auto use = [&](const arch::native::VectorWord& word) {
    constexpr unsigned kFirstOnes = 16;
    if (word.index >= facts->vector_count) return;
    const bool is_later = word.index >= kFirstOnes;
    const unsigned number = is_later ? facts->later_vector_number - kFirstOnes : facts->vector_number;
    add(result, *facts, word.value, number + word.index);
  };
  if (facts->word_bytes == sizeof(uint32_t)) {
    arch::native::each_vector_word<uint32_t>(image.data(), image.size(), use);
  } else {
    arch::native::each_vector_word<uint64_t>(image.data(), image.size(), use);
  }
}

bool read_stopped_thread(pid_t thread, const arch::Cpu& cpu, StoppedThread& result) {
  arch::RegisterImage registers;
  const arch::ThreadFacts* facts = arch::thread_facts(cpu.architecture());
  if (!read_registers(thread, registers)) return false;
  result = thread_with(static_cast<uint32_t>(thread), cpu, registers);
  if (facts == nullptr) return true;
  result.thread_pointer = thread_pointer_of(thread, *facts, registers);
  if (arch::native::kVectorRegisterSet == 0) return true;
  alignas(64) uint8_t image[arch::native::kVectorImageBytes];
  iovec place{image, sizeof(image)};
  const auto set = reinterpret_cast<void*>(uintptr_t{arch::native::kVectorRegisterSet});
  if (ptrace(PTRACE_GETREGSET, thread, set, &place) == 0)
    add_vector_registers(std::span(image, place.iov_len), cpu, result);
  return true;
}

}  // namespace heaptap::process
