// Unwind state shared by all threads of a session, to find and to name call stacks: rules by address, names, loaded objects.
#pragma once
#include <stdint.h>

#include "agent/core/change_count.h"
#include "agent/core/modules.h"
#include "agent/core/rule_table.h"
#include "agent/core/stack_trie.h"
#include "common/arch/native.h"
#include "common/arch/signal_frames.h"
#include "common/unwind/last_stack.h"
#include "common/wire/late_rows.h"
#include "common/wire/log.h"

namespace heaptap::agent {

// Code interface of unwind::LastStack.
class UnwindTables {
 public:
  using Cpu = arch::native::Unwinding;
  using Name = StackName;
  using Code = uint32_t;

  // Incremented when a session starts, and when code was loaded or unloaded: what threads have cached may be invalid.
  ChangeCount changes;
  RuleTable rules;
  StackTrie trie;
  Modules modules;

  void refresh_modules();

  // Enables late rows through this log.
  void start_late_rows(wire::LogHeader* log, const wire::LogLayout& layout);
  // Whether rows came since the last check. Then results of walks made without them are forgotten.
  void look_for_rows() {
    if (late_rows_.reach() != seen_rows_.load(std::memory_order_relaxed)) [[unlikely]]
      take_rows();
  }

  void set_depth_limit(unwind::DepthLimit limit) { depth_limit_ = limit; }
  [[nodiscard]] unwind::DepthLimit depth_limit() const { return depth_limit_; }

  static Cpu cpu() { return {}; }

  [[nodiscard]] Rule rule_of(uint64_t key) {
    const Rule rule = rules.find(key);
    return rule.has_row() ? rule : learn(key);
  }
  // All signal trampolines of this CPU are alike.
  static constexpr arch::SignalTrampoline signal_of(Rule /*rule*/) { return arch::native::kSignalTrampolines[0]; }
  [[nodiscard]] bool is_code(uint64_t address) const { return modules.find(address) != nullptr; }

  [[nodiscard]] bool chains_stacks(uint64_t address) const {
    const Module* module = modules.find(address);
    return module != nullptr && module->is_go;
  }

  static StackName root(wire::StackEnd end) { return root_name(end); }
  StackName add(StackName name, uint32_t code) {
    return code == Rule::kNoCode ? root_name(wire::StackEnd::kTableFull) : trie.intern(name, code);
  }

  // Names the stacks that the fresh frames make on the parent, from the outermost frame inwards. Returns the last one.
  template <typename Fresh>
  StackName add_all(StackName parent, Fresh* fresh, uint32_t count) {
    uint32_t hash = parent.hash;
    for (uint32_t i = count; i > 0; --i) fresh[i - 1].name.hash = hash = hash_with(hash, fresh[i - 1].code);
    const uint32_t known = trie.find(hash, [&](uint32_t number) {
      for (uint32_t i = 0; i < count; ++i) {
        const uint64_t node = trie.node(number);
        if (wire::node_code(node) != fresh[i].code) return false;
        fresh[i].name.node = number;
        number = wire::node_parent(node);
      }
      return number == parent.node;
    });
    return known != 0 && count > 0 ? StackName{known, hash} : add_new(parent, fresh, count);
  }

 private:
  // As above, where at least the last one isn't known.
  template <typename Fresh>
  [[gnu::noinline]] StackName add_new(StackName parent, Fresh* fresh, uint32_t count) {
    StackName name = parent;
    for (uint32_t i = count; i > 0; --i) fresh[i - 1].name = name = add(name, fresh[i - 1].code);
    return name;
  }

  // Makes the rule of an address that the rule table doesn't have.
  Rule learn(uint64_t key);
  // The late row of an instruction in a module whose own tables have none.
  [[nodiscard]] unwind::Row late_row_of(const Module& module, uint64_t pc, uint64_t key);
  void take_rows();

  unwind::DepthLimit depth_limit_{};
  wire::LogHeader* log_ = nullptr;
  wire::LateRowsReader late_rows_;
  std::atomic<uint32_t> seen_rows_{0};
};

}  // namespace heaptap::agent
