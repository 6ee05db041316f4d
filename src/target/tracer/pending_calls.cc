#include "target/tracer/pending_calls.h"

namespace heaptap::tracer {
namespace {

bool same_place(const arch::CallPlace& a, const arch::CallPlace& b) {
  return a.entry_stack_pointer == b.entry_stack_pointer && a.return_address == b.return_address;
}

// While a call is under way its return address stays where it is.
bool still_stands(const PendingCall& call, arch::TargetMemory& memory, const arch::Cpu& cpu) {
  if (call.place.slot == 0) return true;
  uint64_t there = 0;
  return arch::read_word(cpu, memory, call.place.slot, there) && there == call.place.return_address;
}

}  // namespace

PendingCall* PendingCalls::enclosing(const arch::CallPlace& place, const FoundFunction& called,
                                     arch::TargetMemory& memory, const arch::Cpu& cpu) {
  while (!calls_.empty()) {
    PendingCall& call = calls_.back();
    // A handler's calls are its own, wherever its stack is.
    if (call.is_interrupted) return nullptr;
    const bool deeper = place.entry_stack_pointer < call.place.entry_stack_pointer;
    const bool went_on = same_place(place, call.place) && called.address != call.called.address;
    if ((deeper || went_on) && still_stands(call, memory, cpu)) return &call;
    calls_.pop_back();
  }
  return nullptr;
}

void PendingCalls::push(const PendingCall& call) {
  // Handlers that never return (siglongjmp) leave what they interrupted behind; deeper than that none are nested.
  constexpr size_t kMostCalls = 64;
  if (calls_.size() >= kMostCalls) calls_.erase(calls_.begin());
  calls_.push_back(call);
}

PendingCall* PendingCalls::ending(const arch::Cpu& cpu, const arch::RegisterImage& registers) {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (cpu.returns_from(registers, call->place)) return &*call;
    const bool was_left = cpu.stack_pointer(registers) > call->place.entry_stack_pointer;
    if (!call->is_interrupted && !was_left) return nullptr;
  }
  return nullptr;
}

void PendingCalls::handler_returned() {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (!call->is_interrupted) continue;
    call->is_interrupted = false;
    pop_after(&*call);
    return;
  }
}

void PendingCalls::pop_after(const PendingCall* call) {
  while (!calls_.empty() && &calls_.back() != call) calls_.pop_back();
}

void PendingCalls::pop(const PendingCall* call) {
  pop_after(call);
  calls_.pop_back();
}

}  // namespace heaptap::tracer
