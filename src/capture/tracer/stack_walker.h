// Stack walker for a stopped process: the shared walk (common/unwind/last_stack.h) over a copy of its stack and the rules of
// its objects. `CpuType` is an arch's TracedUnwinding.
#pragma once
#include <cstdint>

#include "capture/tracer/frame_rules.h"
#include "capture/tracer/last_stack.h"
#include "capture/tracer/log_writer.h"
#include "capture/tracer/traced_stack.h"

namespace heaptap::tracer {

// Code interface of unwind::LastStack. Names are the log's.
template <typename CpuType>
class TracedCode {
 public:
  using Cpu = typename CpuType::Rules;
  using Name = uint32_t;
  using Code = uint64_t;

  TracedCode(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log,
             uint32_t depth)
      : objects_(objects), log_(log), depth_limit_(unwind::depth_limit_for(depth)), rules_(cpu, memory, objects, log) {}

  FrameRules<CpuType>& rules() { return rules_; }

  [[nodiscard]] static Cpu cpu() { return {}; }
  [[nodiscard]] unwind::DepthLimit depth_limit() const { return depth_limit_; }
  const FrameRule& rule_of(uint64_t key) { return rules_.find(key); }
  static const arch::SignalTrampoline& signal_of(const FrameRule& rule) { return *rule.signal; }
  [[nodiscard]] bool is_code(uint64_t address) const { return objects_.find(address) >= 0; }

  [[nodiscard]] bool chains_stacks(uint64_t address) const {
    const int index = objects_.find(address);
    return index >= 0 && objects_.objects()[static_cast<size_t>(index)].is_go;
  }

  static uint32_t root(wire::StackEnd end) { return LogWriter::root(end); }
  uint32_t add(uint32_t parent, uint64_t code) { return log_.intern(parent, code); }
  template <typename Fresh>
  uint32_t add_all(uint32_t parent, Fresh* fresh, uint32_t count) {
    for (uint32_t i = count; i > 0; --i) fresh[i - 1].name = parent = add(parent, fresh[i - 1].code);
    return parent;
  }

 private:
  const LoadedObjects& objects_;
  LogWriter& log_;
  const unwind::DepthLimit depth_limit_;
  FrameRules<CpuType> rules_;
};

template <typename CpuType>
class StackWalker {
 public:
  StackWalker(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log,
              uint32_t depth)
      : code_(cpu, memory, objects, log, depth), stack_(memory, cpu.is_big_endian()) {}

  void object_came(uint32_t index, uint32_t generation) {
    code_.rules().object_came(index, generation);
    ++changes_;
  }
  void object_went(uint32_t index) {
    code_.rules().object_went(index);
    ++changes_;
  }

  // That stack plus the first instruction of the function called there.
  uint32_t into(uint32_t stack, uint64_t address) {
    const uint64_t key = (address & code_.cpu().address_mask()) | wire::kCodeExact;
    return code_.add(stack, code_.rule_of(key).code());
  }

  // The stack of the code that is returned to, without its callers.
  uint32_t caller(uint64_t return_address) {
    const FrameRule& rule = code_.rule_of(return_address & code_.cpu().address_mask());
    const bool is_first = rule.row().kind() == unwind::RowKind::kEnd;
    return code_.add(code_.root(is_first ? wire::StackEnd::kComplete : wire::StackEnd::kDepthLimit), rule.code());
  }

  // The number of the stack of `thread` whose innermost frame is `start`.
  uint32_t walk(pid_t thread, unwind::Frame start, LastStack& last) {
    start.key &= code_.cpu().address_mask();
    if (code_.rules().take_late_rows()) ++changes_;
    last.note_changes(changes_);
    const uint64_t outermost = last.outermost_slot();
    stack_.begin(thread, start.slot != 0 ? start.slot : start.sp, outermost != 0 ? outermost + sizeof(Word) : 0);
    return last.walk(stack_, code_, start);
  }

 private:
  using Word = typename CpuType::Word;

  TracedCode<CpuType> code_;
  TracedStack<Word> stack_;
  uint64_t changes_ = 1;  // incremented when objects are loaded or unloaded
};

}  // namespace heaptap::tracer
