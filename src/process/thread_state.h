// What a leak scan needs of one thread: its registers, while ptrace holds it in a stop.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "arch/cpu.h"
#include "wire/heap_scan.h"

namespace heaptap::process {

struct StoppedThread {
  uint32_t thread_id = 0;
  // False: the thread sits in the kernel where no stop reaches it (vfork). Of its registers only stack pointer and program
  // counter are known.
  bool registers_known = false;
  uint64_t stack_pointer = 0;
  uint64_t program_counter = 0;
  uint64_t frame_pointer = 0;
  uint64_t thread_pointer = 0;            // 0: not set yet
  std::vector<wire::RootWord> registers;  // general and vector registers' words that aren't plainly no address
};

// To be called by the thread that traces `thread`, which has stopped. False: it isn't stopped any more.
bool read_registers(pid_t thread, arch::RegisterImage& registers);
bool write_registers(pid_t thread, const arch::RegisterImage& registers);

// The same, and what a scan makes of them. `result` is written in any case where they can be read.
bool read_stopped_thread(pid_t thread, const arch::Cpu& cpu, StoppedThread& result);

}  // namespace heaptap::process
