// Call stacks of a traced process: from the registers of a stopped thread to a number in the log. By .eh_frame with or
// without its search table, .debug_frame, frame pointers; through signals' frames and the vDSO. What a stack shares with the
// thread's last one is verified, not walked again.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "arch/cpu.h"
#include "process/traced_memory.h"
#include "tracer/loaded_objects.h"
#include "tracer/log_writer.h"

namespace heaptap::tracer {

// The last stack of one thread.
class LastStack;

class CallWalk {
 public:
  // All outlive the walk. Of `objects` it uses what is loaded at each call; forget() tells it what changed.
  CallWalk(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log,
           uint32_t depth_limit);
  ~CallWalk();
  CallWalk(const CallWalk&) = delete;
  CallWalk& operator=(const CallWalk&) = delete;

  // An object came or went: its generation (LogWriter::add_module) is known from here on, rules of its range are forgotten.
  void object_came(uint32_t index, uint32_t generation);
  void object_went(uint32_t index);

  // The stack of a thread that has called a watched function: it begins with the caller.
  struct Start {
    pid_t thread;
    uint64_t return_address;
    uint64_t slot;           // where the return address lies; 0: in a register
    uint64_t stack_pointer;  // the caller's, behind the call
    uint64_t frame_pointer;
    uint64_t function = 0;  // where it stands, if that is to be a frame, too
  };
  uint32_t walk(const Start& start, LastStack& last);

  [[nodiscard]] std::unique_ptr<LastStack, void (*)(LastStack*)> make_last_stack() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::tracer
