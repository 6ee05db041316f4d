#include "capture/tracer/pending_calls.h"

#include <algorithm>

namespace heaptap::tracer {
namespace {

bool same_place(const arch::CallPlace& a, const arch::CallPlace& b) {
  return a.entry_stack_pointer == b.entry_stack_pointer && a.return_address == b.return_address;
}

}  // namespace

bool still_stands(const arch::CallPlace& place, arch::TargetMemory& memory, const arch::Cpu& cpu) {
  if (place.slot == 0) return true;
  uint64_t there = 0;
  return arch::read_word(cpu, memory, place.slot, there) && there == place.return_address;
}

PendingCall* PendingCalls::enclosing(const arch::CallPlace& place, const FoundFunction& called,
                                     arch::TargetMemory& memory, const arch::Cpu& cpu) {
  while (!calls_.empty()) {
    PendingCall& call = calls_.back();
    // A handler's calls are separate, whatever its stack is.
    if (call.is_interrupted) return nullptr;
    const bool deeper = place.entry_stack_pointer < call.place.entry_stack_pointer;
    const bool went_on = same_place(place, call.place) && called.address != call.called.address;
    if ((deeper || went_on) && still_stands(call.place, memory, cpu)) return &call;
    pop_last();
  }
  return nullptr;
}

void PendingCalls::push(const PendingCall& call) {
  // Handlers that never return (siglongjmp) leave their entry behind; real ones aren't nested deeper than that.
  constexpr size_t kMaxCalls = 64;
  if (calls_.size() >= kMaxCalls) {
    forget(calls_.front());
    calls_.erase(calls_.begin());
  }
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

PendingCall* PendingCalls::returned(uint64_t address, uint64_t stack_pointer) {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (call->awaited_return == address && call->place.caller_stack_pointer == stack_pointer) return &*call;
    const bool was_left = stack_pointer > call->place.caller_stack_pointer;
    if (!call->is_interrupted && !was_left) return nullptr;
  }
  return nullptr;
}

// A handler that interrupts another one's first instruction interrupts no call.
bool PendingCalls::interrupt(uint64_t stack_pointer) {
  if (calls_.empty() || calls_.back().is_interrupted) return false;
  calls_.back().is_interrupted = true;
  calls_.back().interrupted_at = stack_pointer;
  return true;
}

void PendingCalls::handler_returned(uint64_t resumed_at) {
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
    if (!call->is_interrupted || call->interrupted_at != resumed_at) continue;
    call->is_interrupted = false;
    pop_after(&*call);
    return;
  }
}

bool PendingCalls::has_interrupted() const { return std::ranges::any_of(calls_, &PendingCall::is_interrupted); }

void PendingCalls::pop_after(const PendingCall* call) {
  while (!calls_.empty() && &calls_.back() != call) pop_last();
}

void PendingCalls::pop(const PendingCall* call) {
  pop_after(call);
  if (calls_.empty()) return;
  calls_.back().may_be_missed = false;
  pop_last();
}

void PendingCalls::may_miss_returns(uint64_t address) {
  for (PendingCall& call : calls_) {
    if (call.awaited_return == address) call.may_be_missed = call.is_recorded_at_return();
  }
}

void PendingCalls::pop_last() {
  forget(calls_.back());
  calls_.pop_back();
}

void PendingCalls::forget(const PendingCall& call) {
  if (call.awaited_return != 0) ended_awaits_.push_back(call.awaited_return);
  if (call.may_be_missed) ++missed_;
}

void PendingCalls::clear() {
  while (!calls_.empty()) pop_last();
}

}  // namespace heaptap::tracer
