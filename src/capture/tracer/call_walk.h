// Stack walker for call stacks of a traced process: from the registers of a stopped thread to a number in the log. Uses
// .eh_frame with or without its search table, .debug_frame, frame pointers; passes signal frames and the vDSO. The part
// shared with the thread's last stack is verified, not walked again.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "capture/process/traced_memory.h"
#include "capture/tracer/loaded_objects.h"
#include "capture/tracer/log_writer.h"
#include "common/arch/cpu.h"

namespace heaptap::tracer {

// Last stack of one thread.
class LastStack;

class CallWalk {
 public:
  // All must outlive the walk. `objects` must be current at each call; forget() reports changes.
  CallWalk(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log,
           uint32_t depth_limit);
  ~CallWalk();
  CallWalk(const CallWalk&) = delete;
  CallWalk& operator=(const CallWalk&) = delete;

  // An object was loaded or unloaded: sets its generation (LogWriter::add_module) and forgets rules of its range.
  void object_came(uint32_t index, uint32_t generation);
  void object_went(uint32_t index);

  // Start of a walk for a thread that has called a watched function: the first frame is the caller.
  struct Start {
    pid_t thread;
    uint64_t return_address;
    uint64_t slot;           // place of the return address; 0: in a register
    uint64_t stack_pointer;  // the caller's, after the call
    uint64_t frame_pointer;
    uint64_t function = 0;  // the called function, if it is to be a frame as well
  };
  uint32_t walk(const Start& start, LastStack& last);
  // The stack of the caller alone.
  uint32_t caller(const Start& start);

  [[nodiscard]] std::unique_ptr<LastStack, void (*)(LastStack*)> make_last_stack() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heaptap::tracer
