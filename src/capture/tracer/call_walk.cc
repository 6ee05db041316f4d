#include "capture/tracer/call_walk.h"

#include "capture/tracer/stack_walker.h"
#include "common/arch/walked_cpus.h"

namespace heaptap::tracer {

struct CallWalk::State {
  virtual ~State() = default;
  virtual void object_came(uint32_t index, uint32_t generation) = 0;
  virtual void object_went(uint32_t index) = 0;
  virtual uint32_t walk(const Start& start, LastStack& last) = 0;
  virtual uint32_t caller(const Start& start) = 0;

  template <typename Cpu>
  class Of;
};

template <typename Cpu>
class CallWalk::State::Of final : public State {
 public:
  template <typename... Arguments>
  explicit Of(Arguments&... arguments) : walker_(arguments...) {}

  void object_came(uint32_t index, uint32_t generation) override { walker_.object_came(index, generation); }
  void object_went(uint32_t index) override { walker_.object_went(index); }
  uint32_t walk(const Start& start, LastStack& last) override {
    const uint32_t stack = walker_.walk(start.thread,
                                        {.slot = start.slot,
                                         .key = start.return_address,
                                         .sp = start.stack_pointer,
                                         .fp = start.frame_pointer,
                                         .fp_slot = 0,
                                         .cfa_slot = 0},
                                        last);
    return start.function != 0 ? walker_.into(stack, start.function) : stack;
  }
  uint32_t caller(const Start& start) override {
    const uint32_t stack = walker_.caller(start.return_address);
    return start.function != 0 ? walker_.into(stack, start.function) : stack;
  }

 private:
  StackWalker<Cpu> walker_;
};

CallWalk::CallWalk(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log,
                   uint32_t depth_limit) {
  // There is no unwinding yet for CPUs other than the walker's.
  arch::visit_walked_cpu(cpu.architecture(), [&]<typename Cpu>(Cpu) {
    state_ = std::make_unique<State::Of<Cpu>>(cpu, memory, objects, log, depth_limit);
  });
}

CallWalk::~CallWalk() = default;

void CallWalk::object_came(uint32_t index, uint32_t generation) {
  if (state_) state_->object_came(index, generation);
}

void CallWalk::object_went(uint32_t index) {
  if (state_) state_->object_went(index);
}

uint32_t CallWalk::walk(const Start& start, LastStack& last) {
  return state_ ? state_->walk(start, last) : LogWriter::root(wire::StackEnd::kNotUnwound);
}

uint32_t CallWalk::caller(const Start& start) {
  return state_ ? state_->caller(start) : LogWriter::root(wire::StackEnd::kNotUnwound);
}

std::unique_ptr<LastStack, void (*)(LastStack*)> CallWalk::make_last_stack() const {
  return {new LastStack, [](LastStack* last) { delete last; }};
}

}  // namespace heaptap::tracer
