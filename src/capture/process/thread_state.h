// Registers of one thread for a leak scan, while ptrace holds it in a stop.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/arch/cpu.h"
#include "common/wire/heap_scan.h"

namespace heaptap::process {

struct StoppedThread {
  uint32_t thread_id = 0;
  // False: the thread is in a kernel sleep that no stop reaches (vfork). Only its stack pointer and program counter are
  // known.
  bool registers_known = false;
  uint64_t stack_pointer = 0;
  uint64_t program_counter = 0;
  uint64_t frame_pointer = 0;
  uint64_t thread_pointer = 0;            // 0: not set yet
  std::vector<wire::RootWord> registers;  // words of general and vector registers, except obvious non-addresses
};

// To be called by the thread that traces `thread`, which has stopped. False: it is no longer stopped.
bool read_registers(pid_t thread, arch::RegisterImage& registers);
bool write_registers(pid_t thread, const arch::RegisterImage& registers);

// A thread with these general registers, and without others. Its thread pointer is 0 where that is none of them.
StoppedThread thread_with(uint32_t thread_id, const arch::Cpu& cpu, const arch::RegisterImage& registers);

// Adds words of vector registers, from an image of them as PTRACE_GETREGSET gives it on this machine (arch::native::kVectorRegisterSet).
void add_vector_registers(std::span<const uint8_t> image, const arch::Cpu& cpu, StoppedThread& result);

// As read_registers(), with the values for a scan. `result` is written whenever the registers are readable.
bool read_stopped_thread(pid_t thread, const arch::Cpu& cpu, StoppedThread& result);

}  // namespace heaptap::process
