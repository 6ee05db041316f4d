// Call stack of an event, as a number. Walks from the hook's caller towards the thread's first frame, stops where the
// rest is proven equal to the stack of this thread's last event, and interns the new frames.
#pragma once
#include <stdint.h>

#include "agent/core/stack_window.h"
#include "agent/core/string.h"
#include "agent/core/suffix_cache.h"
#include "agent/core/unwind_tables.h"
#include "common/unwind/last_stack.h"
#include "common/wire/log.h"

namespace heaptap::agent {

using Frame = unwind::FrameOf<UnwindTables::Cpu>;
using unwind::kFramePointerMatters;

// Allocator of a thread's frame lists. Short lists are cut from memory that is never given back and may be abandoned:
// they have only two sizes.
struct FrameLists {
  static void* take(uint32_t frames, size_t bytes);
  static void give_back(void* lists, uint32_t frames, size_t bytes);
};

struct CallStackParts {
  using Name = StackName;
  using Code = uint32_t;
  using Lists = FrameLists;
  static constexpr bool kKeepsStackPointer = kHasLinkRegister;
};

// Last stack of one thread, outermost frame first, with a cache of the suffixes that recur.
class CallStack : unwind::LastStack<CallStack, CallStackParts> {
 public:
  // The number of the stack whose innermost frame is `caller`; `sp` is the stack pointer after that call.
  uint32_t capture(UnwindTables& tables, const Frame& caller, uintptr_t sp) {
    divergence_ = {};
    const uint32_t known = tables.changes.value() == changes_ ? find_known(caller) : 0;
    return known != 0 ? known : walk(tables, caller, sp);
  }

  // As capture(), but only for the last stack or a cached suffix; 0: unknown. Valid while seen_changes() is up to date.
  [[nodiscard]] __attribute__((always_inline)) uint32_t find_known(const Frame& caller) {
    Divergence divergence;
    if (trusted_.holds(base_of(caller))) [[likely]] {
      divergence = find_divergence(base_of(caller));
      if (divergence.kept + 1 >= count_ && last_number_ != 0 && is_last(caller)) return last_number_;
      divergence.suffix = divergence.kept != 0 ? find_suffix(divergence, caller) : nullptr;
      if (divergence.suffix != nullptr) {
        const uint32_t from = remembered_[divergence.kept - divergence.suffix->dropped - 1].name.node;
        const uint32_t number = suffix_cache_.find_number(from, *divergence.suffix);
        if (number != 0) return number;
      }
    }
    divergence_ = divergence;
    return 0;
  }

  // Forgets what loaded and unloaded code makes invalid; walk() and name_caller() do it, too.
  void note_changes(UnwindTables& tables);

  // The stack of the caller alone; 0: unknown. Valid as find_known() is.
  [[nodiscard]] __attribute__((always_inline)) uint32_t find_caller(uintptr_t return_address) const {
    return callers_.find(return_address & wire::kCodeAddressMask);
  }
  // The same, where it isn't known.
  uint32_t name_caller(UnwindTables& tables, uintptr_t return_address);

  // As capture(), after find_known() returned 0 for this stack.
  uint32_t walk(UnwindTables& tables, const Frame& caller, uintptr_t sp);

  // UnwindTables::changes as of the last walk.
  [[nodiscard]] uint32_t seen_changes() const { return changes_; }

  [[nodiscard]] uint32_t remembered_frames() const { return count_; }

  // Forgets the last stack.
  void reset() { count_ = 0; }

  // Whether the last captured stack, after a reset(), passes through this code.
  [[nodiscard]] bool passes(const CodeExtent& code) const {
    for (uint32_t i = 0; i < last_fresh_; ++i) {
      if (code.holds(own_address(wire::code_address(fresh_[i].word.key)))) return true;
    }
    return false;
  }

  // Whether the last walk reached the first frame of the thread's own stack.
  [[nodiscard]] bool is_known_whole() const { return last_is_whole_ && window_.is_on_own_stack(); }

  // Memory [begin, end) is about to be unmapped or made unreadable, while the thread runs at `sp`.
  void forget_memory(uintptr_t begin, uintptr_t end, uintptr_t sp) {
    if (window_.forget(begin, end, sp)) trusted_ = {};
  }

  // Reuse by another thread, whose own stack isn't known yet.
  void begin() {
    count_ = 0;
    suffix_cache_.begin();
    callers_.begin();
    trusted_ = {};
    window_ = StackWindow();
  }

 private:
  friend class unwind::LastStack<CallStack, CallStackParts>;
  using Walk = unwind::Walk<UnwindTables::Cpu>;

  // The frame where a stack leaves the last one.
  struct Divergence {
    uint32_t kept = 0;   // so many outermost frames of the last stack are unchanged in memory; 0: or unknown
    uintptr_t word = 0;  // what is in the place of the next one, if that is part of the stack
    const StackSuffix* suffix = nullptr;  // by which it leaves, if that is proven
  };
  static constexpr uint32_t kWordsAtOnce = 8;

  // Where the innermost frame's return address lies, or would lie if the call had left it on the stack: next to what the stack
  // pointer is after the return. All of the caller's stack that lasts is above. Suffixes are measured from here.
  static __attribute__((always_inline)) uintptr_t base_of(const Frame& caller) {
    return own_address(unwind::moved<UnwindTables::Cpu>(caller.sp, UnwindTables::Cpu::kReturnSlotWords));
  }
  static uint64_t base_of(const Fresh& fresh) { return LastStack::base_of<UnwindTables::Cpu>(fresh); }

  // For a stack in the thread's own memory whose innermost frame has this base. Doesn't check frame pointers. A return address in a
  // register is no part of memory, so that frame of the last stack is no part of what is unchanged.
  [[nodiscard]] __attribute__((always_inline)) Divergence find_divergence(uintptr_t base) const {
    const Word* const end = words_ + count_;
    const Word* const changed = find_changed(words_, end, base);
    const bool is_above = changed != end && changed->slot > base;
    return {static_cast<uint32_t>(changed - words_), is_above ? load_word(changed->slot) : 0, nullptr};
  }
  [[nodiscard]] __attribute__((always_inline)) SuffixPlace suffix_place(const Divergence& divergence,
                                                                        const Frame& caller) const {
    return {.key = own_address(caller.key),
            .distance = own_address(words_[divergence.kept - 1].slot) - base_of(caller),
            .word = divergence.word};
  }
  // The first of these words whose memory has changed or isn't above `base`, or `end`. Slots descend: where a block's last one is
  // above, all of them are. One loop for both, since the end of each is a branch that the processor can't foresee.
  static __attribute__((always_inline)) const Word* find_changed(const Word* word, const Word* end, uintptr_t base) {
    for (; static_cast<size_t>(end - word) >= kWordsAtOnce && word[kWordsAtOnce - 1].slot > base;
         word += kWordsAtOnce) {
#pragma GCC unroll 8
      for (uint32_t i = 0; i < kWordsAtOnce; ++i) {
        if (load_code(word[i].slot) != word[i].key) return word + i;
      }
    }
    while (word != end && word->slot > base && load_code(word->slot) == word->key) ++word;
    return word;
  }
  // Whether this is the last stack again, with all frames but the innermost unchanged.
  [[nodiscard]] bool is_last(const Frame& caller) const {
    if (count_ == 0) return false;
    const Word& top = words_[count_ - 1];
    if (top.slot != caller.slot || top.key != caller.key) return false;
    const Remembered& last = remembered_[count_ - 1];
    if (has_other_sp(last, caller.sp)) return false;
    if ((last.origin & kFramePointerMatters) != 0 && (last.fp != caller.fp || last.fp_slot != caller.fp_slot))
      return false;
    return are_pointers_unchanged(count_, base_of(caller));
  }
  // The proven suffix by which the stack leaves the last one there; null: none is known.
  [[nodiscard]] __attribute__((always_inline)) const StackSuffix* find_suffix(const Divergence& divergence,
                                                                              const Frame& caller) const {
    const SuffixPlace place = suffix_place(divergence, caller);
    for (uint32_t way = 0; way < SuffixCache::kAssociativity; ++way) {
      const StackSuffix* suffix = suffix_cache_.find_suffix(place, way);
      if (suffix != nullptr && is_on_last(*suffix, divergence.kept, caller)) return suffix;
    }
    return nullptr;
  }
  // Whether the suffix is in memory, on a frame of the last stack that is unchanged, as are all frames further out. The
  // stack leaves the last one at `left_at`.
  [[nodiscard]] __attribute__((always_inline)) bool is_on_last(const StackSuffix& suffix, uint32_t left_at,
                                                               const Frame& caller) const {
    if (suffix.dropped + floor_ >= left_at) return false;
    const uint32_t kept = left_at - suffix.dropped;
    const uintptr_t base = base_of(caller);
    if (words_[kept - 1].slot != StackSuffix::at(base, suffix.below) || !suffix.stands(base, own_address(caller.fp)))
      return false;
    const Remembered& parent = remembered_[kept - 1];
    if (has_other_sp(parent, StackSuffix::at(base, suffix.outer_sp()))) return false;
    if ((parent.origin & kFramePointerMatters) != 0) {
      const uint64_t fp = suffix.fp_slot != 0 ? load_word(StackSuffix::at(base, suffix.fp_slot)) : caller.fp;
      if (fp != parent.fp) return false;
    }
    return are_pointers_unchanged(kept, base);
  }
  // Whether the saved frame pointers that lead to the outermost `count` frames of the last stack are unchanged, except
  // that of the innermost of these frames. The requested stack begins at `slot`.
  [[nodiscard]] __attribute__((always_inline)) bool are_pointers_unchanged(uint32_t count, uintptr_t slot) const {
    return count < 2 || remembered_[count - 2].fp_user == 0 || are_users_unchanged(count, slot);
  }
  [[nodiscard]] bool are_users_unchanged(uint32_t count, uintptr_t slot) const;
  // The return address at this place, without what the CPU has put beside it.
  static __attribute__((always_inline)) uint64_t load_code(uint64_t slot) {
    const uint64_t word = load_word(slot);
    return UnwindTables::Cpu::kTagsReturnAddresses ? word & UnwindTables::Cpu().address_mask() : word;
  }
  // Whether that word of the thread's own stack, above `slot`, is unchanged. Memory below is not in use.
  static bool is_kept(uint64_t at, uint64_t value, uintptr_t slot) { return at > slot && load_word(at) == value; }
  void remember_suffix(const Walk& walk);
  uint32_t name_suffix(UnwindTables& tables, const StackSuffix& suffix);

  // Callback of the walk (common/unwind/last_stack.h). Where this thread's own stack was compared before the walk began, the
  // return addresses are known to be unchanged, and that memory is readable without asking the kernel.
  [[nodiscard]] uint32_t first_unchanged(StackWindow& window, UnwindTables& tables, const Walk& walk, uint32_t index) {
    if (walk.kept == 0) [[unlikely]]
      return first_unchanged_of_all(window, tables, index);
    return index == 0 || remembered_[index - 1].fp_user == 0 ? 0
                                                             : first_unchanged_pointer(index, base_of(walk.at.frame));
  }
  [[nodiscard]] uint32_t first_unchanged_pointer(uint32_t index, uintptr_t slot) const;
  void note_walk(const Walk& walk);
  // Frames without names are told apart by numbers of the cache's own.
  StackName identify(StackName outer, uint32_t code) { return {suffix_cache_.number_prefix(outer.node, code), 0}; }
  static bool is_name(StackName name) { return !SuffixCache::is_prefix(name.node); }

  // Where the last stack may be compared with memory without asking the kernel: the thread's own stack, if all
  // remembered frames lie there and prove where it ends; else nowhere.
  AddressSpan trusted_;
  StackWindow window_;
  SuffixCache suffix_cache_;
  CallerCache callers_;
  Divergence divergence_;  // of the requested stack; its suffix is valid only while no other is added
  uint32_t changes_ = 0;
  uint32_t last_number_ = 0;  // of the last stack; 0: unknown
  uint32_t last_fresh_ = 0;   // frames in fresh_ since the last capture
  bool last_is_whole_ = false;
};

}  // namespace heaptap::agent
