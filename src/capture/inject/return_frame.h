// Return of a borrowed thread that needs nobody: a signal's frame with its registers and its mask, and code of the process by which any system
// call ends in the return from that signal. If the borrower is killed, the thread goes on from it as from a signal handler. x86-64.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/process/memory_map.h"
#include "capture/process/traced_memory.h"
#include "common/arch/cpu.h"
#include "common/base/address_range.h"

namespace heaptap::inject {

// Code of the C library, which every process has that has handlers for signals.
struct ReturnCode {
  base::AddressRange call;    // a system call instruction, then a return
  base::AddressRange signal;  // the return from a signal handler, as handlers return to it
  [[nodiscard]] bool is_there() const { return call.size() != 0 && signal.size() != 0; }
};
ReturnCode find_return_code(const std::vector<process::Mapping>& map, const process::TracedMemory& memory);

// What the frame restores, of a stopped thread.
struct InterruptedThread {
  arch::RegisterImage registers;
  std::vector<uint8_t> vectors;  // as PTRACE_GETREGSET gives them (NT_X86_XSTATE)
  uint64_t mask = 0;
};

struct ReturnFrame {
  uint64_t place = 0;  // of its first word, which the last system call's return pops
  std::vector<uint8_t> bytes;
};

// Below the thread's stack pointer, where that is on a stack that the thread alone has: the process's first one, or one with a guard below and
// the thread's control block above. None: it has no room there, or is on another stack.
std::optional<ReturnFrame> make_return_frame(const InterruptedThread& thread, const std::vector<process::Mapping>& map,
                                             const ReturnCode& code);

// Registers that return from the frame.
arch::RegisterImage registers_to_return(const arch::RegisterImage& registers, const ReturnFrame& frame,
                                        const ReturnCode& code);

// A thread that a signal has interrupted, from that signal's frame: its handler's third argument points there. None: it can't be read. Of the
// general registers without those that the kernel doesn't keep in it; vectors as far as they can be read.
std::optional<InterruptedThread> read_interrupted(uint64_t context, const process::TracedMemory& memory);

}  // namespace heaptap::inject
