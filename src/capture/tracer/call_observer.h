// Observer of watched calls: turns stops of a thread into events in the log, for the program's own calls, with their
// arguments and results.
#pragma once
#include <cstdint>

#include "capture/tracer/address_space.h"
#include "capture/tracer/api_calls.h"
#include "capture/tracer/tracee.h"
#include "common/arch/cpu.h"

namespace heaptap::tracer {

class CallObserver {
 public:
  CallObserver(AddressSpace& space, Tracee& thread, const arch::RegisterImage& registers)
      : space_(space), thread_(thread), registers_(registers) {}

  // At a function's first instruction.
  void entered(const Site& site);
  // At the first instruction of an API function (include/heaptap/heaptap.h).
  void spoke(const Site& site);
  // At sigaltstack's first instruction.
  void sets_alternate_stack();
  // At a return instruction. For the end of an IFUNC's resolver: the chosen function; else 0.
  struct Resolved {
    uint64_t address = 0;
    wire::Function function = wire::Function::kNone;
    ApiCall asked = ApiCall::kNone;  // by the program: a question, to be answered with this return
    uint64_t argument = 0;           // of the question
  };
  Resolved returning();
  // At the return address of an awaited call.
  Resolved returned();
  // After a jump that may end some function; the registers are those at its target. Returns the call whose return can
  // only be seen at its return address; null: none needs that.
  PendingCall* jumped(const Site& site);

 private:
  Resolved end(const PendingCall* ending);
  [[nodiscard]] bool is_for_failure(const PendingCall& outer, const FoundFunction& called,
                                    const arch::CallPlace& place) const;
  // The operator that a call at `place` is a part of, where an operator new continues in another object's.
  [[nodiscard]] uint64_t operator_around(const PendingCall& outer, const arch::CallPlace& place) const;
  void begin(const FoundFunction& called, const Site& site, const arch::CallPlace& place);
  void begin_release(PendingCall call, bool tracks_return);
  void begin_reallocation(PendingCall call);
  void begin_mapping(PendingCall call);
  // Memory described by the call's arguments.
  wire::MappedMemory memory_of(wire::Role role, const PendingCall& call, int protection, int flags);
  void finish(const PendingCall& call, uint64_t result);
  void finish_allocation(const PendingCall& call, uint64_t result);
  void finish_mapping(const PendingCall& call, uint64_t result);
  [[nodiscard]] ApiCalls spoken_at(const arch::CallPlace& place);
  void write(wire::RecordKind kind, const PendingCall& call, uint64_t address, uint64_t size_bytes);
  static LogWriter::Event event_of(wire::RecordKind kind, const PendingCall& call, uint64_t address,
                                   uint64_t size_bytes);
  wire::LogStream* stream();
  uint64_t argument(int index);
  // Includes a frame of the function, if that isn't 0.
  uint32_t walk(const arch::CallPlace& place, uint64_t function = 0);
  uint32_t stack_for(wire::Role role, const arch::CallPlace& place, uint64_t function);
  [[nodiscard]] CallWalk::Start start_of(const arch::CallPlace& place, uint64_t function) const;
  // Block size needed for the text returned by a function.
  uint64_t text_bytes(uint64_t text, bool is_wide);
  // Resolves a chain of jumps through tables; the address itself if it is no such jump.
  uint64_t behind_stubs(uint64_t address);

  AddressSpace& space_;
  Tracee& thread_;
  const arch::RegisterImage& registers_;
};

}  // namespace heaptap::tracer
