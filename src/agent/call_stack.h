// The call stack of an event, as a number. Walks from the hook's caller towards the thread's first frame, stops where the
// rest is proven to be what it was at this thread's last event, and interns what is new.
#pragma once
#include <stdint.h>

#include "agent/modules.h"
#include "agent/rule_table.h"
#include "agent/stack_trie.h"
#include "agent/stack_window.h"
#include "wire/log.h"

namespace heaptap::agent {

// A frame as a walk finds it: where the return address was read, the address itself, and the frame pointer of the function
// that it returns to. Of the innermost frame these are the hook's own.
struct Frame {
  uintptr_t slot;  // 0: an interrupted instruction, whose address was in a signal's frame
  uintptr_t key;   // the return address; with wire::kCodeExact an interrupted instruction's
  uintptr_t sp;    // stack pointer once the function that returns to `key` has done so
  uintptr_t fp;
  uintptr_t fp_slot;  // where `fp` was read from; 0: it is the register's value at the hook
};

// What is shared by all threads of a session.
struct UnwindTables {
  RuleTable rules;
  StackTrie trie;
  Modules modules;
  uint32_t depth_limit = 0;
  std::atomic<uint32_t> unloads{0};  // counted up with the list of modules
  std::atomic<uint32_t> changes{0};  // counted up when code came or went: what threads remember may be void

  void refresh_modules();
};

// The last stack of one thread, outermost frame first.
class CallStack {
 public:
  static constexpr uint32_t kFewFrames = 192;
  static constexpr uint32_t kMostFrames = 131072;
  static constexpr uint32_t kFramesOfDeeper = 1024;  // what is kept of a stack that is deeper than even that

  // The number of the stack whose innermost frame is `caller`; `sp` is the stack pointer behind that call.
  uint32_t capture(UnwindTables& tables, const Frame& caller, uintptr_t sp) {
    const uint32_t known = find_known(tables, caller);
    return known != 0 ? known : capture_unknown(tables, caller, sp);
  }

  // The same, only if it is a branch that has come again; 0: it is not.
  [[nodiscard]] __attribute__((always_inline)) uint32_t find_known(const UnwindTables& tables,
                                                                   const Frame& caller) const {
    const Branch& branch = branches_[branch_index({caller.slot, caller.key})];
    const bool is_known = branch.top.key == caller.key && branch.top.slot == caller.slot &&
                          tables.changes.load(std::memory_order_relaxed) == changes_ && branch.epoch == epoch_ &&
                          window_.is_own(caller.slot) && is_on_last(branch, caller.fp);
    return is_known ? branch.node : 0;
  }

  // The same, if it isn't.
  uint32_t capture_unknown(UnwindTables& tables, const Frame& caller, uintptr_t sp) {
    if (tables.changes.load(std::memory_order_relaxed) == changes_ && count_ != 0) [[likely]] {
      tables.rules.expect(caller.key);
      window_.enter(sp);
      if (is_last(caller)) return remembered_[count_ - 1].name.node;
    }
    return walk(tables, caller, sp);
  }

  // Forgets the last stack.
  void reset() { count_ = 0; }

  // Whether the stack that was captured last, after a reset(), passes through this code.
  [[nodiscard]] bool passes(const door::CodeRange& code) const {
    for (uint32_t i = 0; i < last_fresh_; ++i) {
      if (code.holds(wire::code_address(fresh_[i].word.key))) return true;
    }
    return false;
  }

  // Whether the last walk led to the first frame of the thread's own stack.
  [[nodiscard]] bool is_known_whole() const { return last_is_whole_ && window_.on_own_stack(); }

  // Another thread takes this over: its own stack isn't known yet.
  void begin() {
    count_ = 0;
    forget_branches();
    branch_mask_ = kFewBranches - 1;
    displaced_ = 0;
    window_ = StackWindow();
  }

  // Called instead of a lookup in the rule table where it doesn't know the address: makes the row.
  static Rule learn(UnwindTables& tables, uint64_t key);

 private:
  // How the walk came from the next inner frame to this one.
  enum Way : uint32_t {
    kByFramePointer = 1,       // found by way of the frame pointer
    kLoadsFramePointer = 2,    // the frame pointer was read from the stack
    kFramePointerMatters = 4,  // finding the frames further out depends on this frame's `fp`
  };
  struct Word {  // what has to be in the stack's memory for a frame to be what it was
    uintptr_t slot;
    uintptr_t key;
  };
  struct Remembered {
    uintptr_t fp;
    uintptr_t fp_slot;
    StackName name;  // of the stack from the outermost frame to this one
    uint32_t way;
    uint32_t
        fp_user;  // index, plus one, of the innermost frame up to this one that was found by the frame pointer; or 0
  };
  struct Fresh {
    Word word;
    uintptr_t fp;
    uintptr_t fp_slot;
    StackName name;
    uint32_t code;
    uint32_t way;
  };
  void forget_branches() { ++epoch_; }
  struct Walk {
    Frame frame;
    uint32_t way = 0;
    uint32_t candidates = 0;  // remembered frames [0, candidates) may still be found further out
    uint32_t unverified = 0;  // of these, from this index on it is known that something further out changed
    uint32_t fresh_count = 0;
    bool crossed_signal = false;
    wire::StackEnd end = wire::StackEnd::kComplete;
  };

  // Whether the last stack has come again, as a whole.
  [[nodiscard]] bool is_last(const Frame& caller) const {
    const Word& top = words_[count_ - 1];
    if (top.slot != caller.slot || top.key != caller.key) return false;
    const Remembered& last = remembered_[count_ - 1];
    if ((last.way & kFramePointerMatters) != 0 && (last.fp != caller.fp || last.fp_slot != caller.fp_slot))
      return false;
    return first_unchanged(count_ - 1) == 0;
  }
  // A stack that differed from the last one in a few innermost frames only: programs go back and forth between a few ways
  // out of one function.
  struct alignas(128) Branch {
    static constexpr uint32_t kMostFrames = 7;

    Word top;          // the innermost frame
    uintptr_t fp;      // at the hook
    uint32_t below;    // how far above the top's slot is that of the frame that it was put on
    uint32_t fp_slot;  // and the place that this frame's frame pointer was read from; 0: it is the hook's
    uint32_t parent;   // node of that frame
    uint32_t node;
    uint32_t epoch;
    uint16_t kept;  // how many frames of the last stack it was put on
    uint8_t inner_count;
    bool needs_fp;                          // these were found by way of the hook's frame pointer
    uintptr_t inner[kMostFrames - 1];       // the frames between, from the innermost one outwards
    uint32_t inner_slots[kMostFrames - 1];  // how far above the top's slot they are
  };
  static constexpr uint32_t kWordsAtOnce = 4;
  static constexpr uint32_t kFewBranches = 64;  // a thread begins with; their memory is what it touches
  static constexpr uint32_t kMostBranches = 1024;
  [[nodiscard]] uint32_t branch_index(const Word& top) const {
    return static_cast<uint32_t>((top.key ^ top.slot << 20) * 0x9e3779b97f4a7c15u >> 40) & branch_mask_;
  }
  // Whether a branch whose innermost frame has come again is one on frames that the last stack still has, and all of them
  // are unchanged.
  [[nodiscard]] __attribute__((always_inline)) bool is_on_last(const Branch& branch, uintptr_t hook_fp) const {
    if (branch.kept > count_) return false;
    const Remembered& parent = remembered_[branch.kept - 1];
    if (words_[branch.kept - 1].slot != branch.top.slot + branch.below || parent.name.node != branch.parent ||
        (branch.needs_fp && branch.fp != hook_fp)) {
      return false;
    }
    const auto* memory = reinterpret_cast<const uint8_t*>(branch.top.slot);
    for (uint32_t i = 0; i < branch.inner_count; ++i) {
      if (word_at(memory + branch.inner_slots[i]) != branch.inner[i]) return false;
    }
    if ((parent.way & kFramePointerMatters) != 0) {
      const uintptr_t fp = branch.fp_slot != 0 ? word_at(memory + branch.fp_slot) : hook_fp;
      if (fp != parent.fp) return false;
    }
    return are_unchanged_below(branch.kept);
  }
  // Whether the outermost `count` frames of the last stack are as they were, on the thread's own stack. Frame pointers: but
  // for that of the innermost one of them, which the caller knows.
  [[nodiscard]] __attribute__((always_inline)) bool are_unchanged_below(uint32_t count) const {
    return are_words_unchanged(count) &&
           (count < 2 || remembered_[count - 2].fp_user == 0 || are_pointers_unchanged(count));
  }
  // Of the outermost `count` frames. Takes four at a time, and so the padding below the first frame.
  [[nodiscard]] __attribute__((always_inline)) bool are_words_unchanged(uint32_t count) const {
    for (const Word* word = words_ + count; word > words_; word -= kWordsAtOnce) {
      const uintptr_t changes = change_of(word[-1]) | change_of(word[-2]) | change_of(word[-3]) | change_of(word[-4]);
      if (changes != 0) return false;
    }
    return true;
  }
  static uintptr_t word_at(const uint8_t* memory) { return *reinterpret_cast<const uintptr_t*>(memory); }
  static uintptr_t change_of(const Word& word) { return *reinterpret_cast<const uintptr_t*>(word.slot) ^ word.key; }
  [[nodiscard]] bool are_pointers_unchanged(uint32_t count) const;
  Branch& place_for(const Word& top);
  void remember_branch(const Walk& walk, uint32_t kept, uint32_t node);
  uint32_t walk(UnwindTables& tables, const Frame& caller, uintptr_t sp);
  bool meets_last(Walk& walk) const;
  // The outermost frame from which inwards, up to `index`, the stack's memory is as it was. 0: all of it.
  [[nodiscard]] uint32_t first_unchanged(uint32_t index) const {
    if (!window_.on_own_stack()) [[unlikely]]
      return first_unchanged_checked(index);
    uint32_t first = 0;
    if (!are_words_unchanged(index)) {
      first = index;
      while (change_of(words_[first - 1]) == 0) --first;
    }
    return index == 0 || remembered_[index - 1].fp_user <= first ? first : first_unchanged_pointer(index, first);
  }
  [[nodiscard]] uint32_t first_unchanged_pointer(uint32_t index, uint32_t first) const;
  [[nodiscard]] uint32_t first_unchanged_checked(uint32_t index) const;
  [[nodiscard]] bool is_unchanged(uint32_t index) const;
  bool advance(UnwindTables& tables, Walk& walk, Rule rule);
  bool step(Walk& walk, Rule rule);
  bool step_by_frame_pointer(UnwindTables& tables, Walk& walk);
  bool step_over_signal(Walk& walk);
  bool reserve(uint32_t frames);
  uint32_t finish(UnwindTables& tables, const Walk& walk, uint32_t kept);
  uint32_t finish_limited(UnwindTables& tables, const Walk& walk, uint32_t kept);
  StackName name_fresh(UnwindTables& tables, StackName parent, uint32_t fresh_count);
  StackName add_names(UnwindTables& tables, StackName parent, uint32_t fresh_count);
  void remember(const Fresh& fresh);
  [[nodiscard]] uint32_t fp_user_at(uint32_t index, uint32_t way) const;
  void rejoin(const Walk& walk, uint32_t index);

  Word* words_ = nullptr;
  Remembered* remembered_ = nullptr;
  Fresh* fresh_ = nullptr;
  uint32_t capacity_ = 0;
  uint32_t count_ = 0;
  uint32_t changes_ = 0;
  uint32_t last_fresh_ = 0;  // frames in fresh_ since the last capture
  bool last_is_whole_ = false;
  uint32_t epoch_ = 1;  // of the branches that count
  uint32_t branch_mask_ = kFewBranches - 1;
  uint32_t displaced_ = 0;  // branches that others took the place of since there were that many places
  mutable StackWindow window_;
  Branch branches_[kMostBranches] = {};
};

}  // namespace heaptap::agent
