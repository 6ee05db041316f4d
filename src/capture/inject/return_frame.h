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

// Code of the C library, which every process has that has handlers for signals. 0: it isn't there.
struct ReturnCode {
  uint64_t call = 0;    // a system call instruction, then a return
  uint64_t signal = 0;  // the return from a signal handler, as handlers return to it
  [[nodiscard]] bool is_there() const { return call != 0 && signal != 0; }
  // Of the instructions themselves.
  [[nodiscard]] base::AddressRange call_extent() const { return {call, call + 3}; }
  [[nodiscard]] base::AddressRange signal_extent() const { return {signal, signal + 9}; }
};
ReturnCode find_return_code(std::span<const process::Mapping> map, const process::TracedMemory& memory);

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
std::optional<ReturnFrame> make_return_frame(const InterruptedThread& thread, std::span<const process::Mapping> map,
                                             const ReturnCode& code);

// Registers that return from the frame.
arch::RegisterImage registers_to_return(const arch::RegisterImage& registers, const ReturnFrame& frame,
                                        const ReturnCode& code);

}  // namespace heaptap::inject
