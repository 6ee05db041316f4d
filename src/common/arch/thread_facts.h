// CPU facts for leak scans of a stopped thread and the C library's data for it. Facts, no I/O.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <span>

#include "common/wire/architecture.h"

namespace heaptap::arch {

// General register that can hold a pointer to a block.
struct ScannedRegister {
  uint16_t offset;  // in RegisterImage, one word
  uint16_t dwarf;
};

// Source of a thread's control block address in ptrace.
enum class ThreadPointerPlace : uint8_t {
  kRegister,     // a word of the general registers
  kDescriptor,   // the base of the segment selected by a word of the general registers
  kRegisterSet,  // the first word of another register set
};

// Segment descriptor as given by ptrace: the request, and the offset of the 32-bit base in its result.
struct SegmentDescriptor {
  static constexpr size_t kMaxBytes = 64;
  uint16_t ptrace_request;
  uint16_t base_offset;
};

struct ThreadFacts {
  wire::Architecture architecture;
  uint8_t word_bytes;
  uint64_t lowest_address = 4096;  // the first page is never mapped
  uint64_t highest_address;        // no pointer of a program is above
  std::span<const ScannedRegister> registers;
  uint32_t preserved_registers;  // by calls: a bit for each DWARF number
  ThreadPointerPlace thread_pointer_place;
  uint16_t thread_pointer_offset;  // in RegisterImage; or the number of the register set
  SegmentDescriptor segment_descriptor = {};
  // DWARF numbers: names of what a thread holds.
  uint16_t stack_pointer_number;
  uint16_t thread_pointer_number;
  uint16_t vector_number;        // of the first 16 vector registers
  uint16_t later_vector_number;  // of those from the 16th on
  uint16_t vector_count;         // visible to the program
  uint64_t red_zone_bytes;
  // In a ucontext_t.
  uint16_t context_stack;  // uc_stack: begin, flags, size
  uint16_t context_stack_pointer;
  // makecontext passes up to six arguments in registers: what it pushes lies at the very end of the stack.
  bool context_begins_at_end = false;
  // Near call instruction: its first byte and its length. No length: makecontext puts no return address onto the stack.
  uint8_t near_call_opcode = 0xe8;
  uint8_t near_call_bytes = 5;
  // glibc's struct pthread: its size (of 2.36; others differ a little), and the offset of the thread's number.
  uint16_t glibc_control_block_bytes;
  uint16_t glibc_thread_number;

  [[nodiscard]] bool is_preserved(uint16_t dwarf) const {
    return dwarf < 32 && (preserved_registers >> dwarf & 1) != 0;
  }
  [[nodiscard]] bool may_be_address(uint64_t value) const {
    return value >= lowest_address && value <= highest_address;
  }
};

// Null: unsupported CPU.
const ThreadFacts* thread_facts(wire::Architecture architecture);

}  // namespace heaptap::arch
