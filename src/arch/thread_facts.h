// What a leak scan has to know of a CPU to look into a stopped thread and what the C library keeps for it. Facts, no I/O.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <span>

#include "wire/architecture.h"

namespace heaptap::arch {

// A general register that a pointer to a block can live in.
struct ScannedRegister {
  uint16_t offset;  // in RegisterImage, one word
  uint16_t dwarf;
};

// How PTRACE tells the address of a thread's control block.
enum class ThreadPointerPlace : uint8_t {
  kRegister,    // a word of the general registers
  kDescriptor,  // that of the segment that a word of the general registers selects
};

// How PTRACE gives a segment's descriptor: its request, and where in what it writes the segment's base is, of 32 bits.
struct SegmentDescriptor {
  static constexpr size_t kMaxBytes = 64;
  uint16_t ptrace_request;
  uint16_t base_offset;
};

struct ThreadFacts {
  wire::Architecture architecture;
  uint8_t word_bytes;
  uint64_t lowest_address = 4096;  // the first page is never mapped
  uint64_t highest_address;        // what is above can't be a program's pointer
  std::span<const ScannedRegister> registers;
  uint32_t preserved_registers;  // by calls: a bit for each, by DWARF's number
  ThreadPointerPlace thread_pointer_place;
  uint16_t thread_pointer_offset;
  SegmentDescriptor segment_descriptor = {};
  // DWARF's numbers: names for what a thread holds.
  uint16_t stack_pointer_number;
  uint16_t thread_pointer_number;
  uint16_t vector_number;        // of the first 16 vector registers
  uint16_t later_vector_number;  // of those from the 16th on
  uint16_t vector_count;         // that the program can see
  uint64_t red_zone_bytes;
  // In a ucontext_t.
  uint16_t context_stack;  // uc_stack: begin, flags, size
  uint16_t context_stack_pointer;
  // makecontext's arguments are in registers, up to six: what it puts onto the stack lies at its very end.
  bool context_begins_at_end = false;
  // A call of a function at a distance: its first byte and its length.
  uint8_t near_call_opcode = 0xe8;
  uint8_t near_call_bytes = 5;
  // glibc's struct pthread: its size (of 2.36; others are a little smaller or larger), and where the thread's number is.
  uint16_t glibc_control_block_bytes;
  uint16_t glibc_thread_number;

  [[nodiscard]] bool is_preserved(uint16_t dwarf) const {
    return dwarf < 32 && (preserved_registers >> dwarf & 1) != 0;
  }
  [[nodiscard]] bool may_be_address(uint64_t value) const {
    return value >= lowest_address && value <= highest_address;
  }
};

// Null: no such CPU here.
const ThreadFacts* thread_facts(wire::Architecture architecture);

}  // namespace heaptap::arch
