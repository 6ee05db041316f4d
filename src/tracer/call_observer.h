// From a thread's stop in a watched function to events in the log: which calls are the program's own, what they ask for, and
// what becomes of them.
#pragma once
#include <cstdint>

#include "arch/cpu.h"
#include "tracer/address_space.h"
#include "tracer/spoken_calls.h"
#include "tracer/tracee.h"

namespace heaptap::tracer {

class CallObserver {
 public:
  CallObserver(AddressSpace& space, Tracee& thread, const arch::RegisterImage& registers)
      : space_(space), thread_(thread), registers_(registers) {}

  // At a function's first instruction.
  void entered(const Site& site);
  // At the first instruction of a function by which the program tells of itself.
  void spoke(const Site& site);
  // At sigaltstack's first instruction.
  void sets_alternate_stack();
  // At a return instruction. Of an IFUNC's resolver that ended: the function that it chose; else 0.
  struct Resolved {
    uint64_t address = 0;
    wire::Function function = wire::Function::kNone;
    Spoken asked = Spoken::kNone;  // by the program: a question, whose answer this return takes along
    uint64_t argument = 0;         // of it
  };
  Resolved returning();
  // Where calls come back to that are waited for.
  Resolved returned();
  // Behind a jump that some function may end with; the registers are those at its target. Gives the call whose return can
  // only be seen where it comes back; null: it will be seen without that.
  PendingCall* jumped(const Site& site);

 private:
  Resolved end(const PendingCall* ending);
  [[nodiscard]] bool is_for_failure(const PendingCall& outer, const FoundFunction& called,
                                    const arch::CallPlace& place) const;
  // The operator that a call at `place` is a part of, where an operator new goes on in another object's.
  [[nodiscard]] uint64_t operator_around(const PendingCall& outer, const arch::CallPlace& place) const;
  void begin(const FoundFunction& called, const Site& site, const arch::CallPlace& place);
  void begin_release(PendingCall call, bool tracks_return);
  void begin_reallocation(PendingCall call);
  void begin_mapping(PendingCall call);
  // What the call makes of the memory, whose arguments are these.
  wire::MappedMemory memory_of(wire::Role role, const PendingCall& call, int protection, int flags);
  void finish(const PendingCall& call, uint64_t result);
  void finish_allocation(const PendingCall& call, uint64_t result);
  void finish_mapping(const PendingCall& call, uint64_t result);
  [[nodiscard]] SpokenCalls spoken_at(const arch::CallPlace& place);
  void write(wire::RecordKind kind, const PendingCall& call, uint64_t address, uint64_t size_bytes);
  static LogWriter::Event event_of(wire::RecordKind kind, const PendingCall& call, uint64_t address,
                                   uint64_t size_bytes);
  wire::LogStream* stream();
  uint64_t argument(int index);
  // With a frame of the function, if that isn't 0.
  uint32_t walk(const arch::CallPlace& place, uint64_t function = 0);
  // Of the text that a function gave: what its block has to hold.
  uint64_t text_bytes(uint64_t text, bool is_wide);
  // Where a chain of jumps through tables leads; the address itself if it is no such jump.
  uint64_t behind_stubs(uint64_t address);

  AddressSpace& space_;
  Tracee& thread_;
  const arch::RegisterImage& registers_;
};

}  // namespace heaptap::tracer
