#include "agent/core/call_stack.h"

#include "agent/core/kernel.h"
#include "agent/core/pieces.h"
#include "agent/core/string.h"

// How a stack gets its number without being walked: common/unwind/last_stack.h proves where a walk may stop, and here the walk itself is mostly
// saved. The return addresses of the thread's last stack are compared with memory in bulk, which says how many outer frames are
// unchanged. What is left are the frames further in, the suffix: where words stop to be equal, what stands there now tells which of
// the suffixes that were seen there it may be (suffix_cache.h), and its own words prove it. Only where none fits is there
// a walk. A stack that crossed a signal frame, or whose end nothing proves, isn't remembered at all.
namespace heaptap::agent {

using unwind::EndProof;
using unwind::kByFramePointer;

void CallStack::note_changes(UnwindTables& tables) {
  tables.look_for_rows();
  const uint32_t changes = tables.changes.value();
  if (changes == changes_) [[likely]]
    return;
  count_ = 0;
  divergence_ = {};
  suffix_cache_.forget();
  callers_.forget();
  changes_ = changes;
}

__attribute__((noinline)) uint32_t CallStack::name_caller(UnwindTables& tables, uintptr_t return_address) {
  note_changes(tables);
  const uint64_t key = return_address & wire::kCodeAddressMask;
  const Rule rule = tables.rule_of(key);
  const bool is_first = rule.row().kind() == unwind::RowKind::kEnd;
  const auto end = is_first ? wire::StackEnd::kComplete : wire::StackEnd::kDepthLimit;
  const uint32_t number = tables.add(UnwindTables::root(end), rule.code()).node;
  if (number >= wire::kRootCount) callers_.add(own_address(key), number);
  return number;
}

__attribute__((noinline)) uint32_t CallStack::walk(UnwindTables& tables, const Frame& caller, uintptr_t sp) {
  note_changes(tables);
  if (divergence_.suffix != nullptr) {
    const uint32_t number = name_suffix(tables, *divergence_.suffix);
    if (number != 0) return number;
  }
  last_number_ = 0;  // until the walk has ended: a signal handler may leave it
  window_.begin(sp);
  Walk walk{.at = {.frame = caller}, .kept = divergence_.kept};
  const StackName name = LastStack::walk(window_, tables, walk);
  const bool is_remembered = count_ > 0 && words_[count_ - 1].slot == caller.slot;
  last_number_ = is_remembered ? name.node : 0;
  last_fresh_ = walk.fresh_count;
  last_is_whole_ = walk.met == 0 && walk.at.end == wire::StackEnd::kComplete;
  return name.node;
}

inline void CallStack::note_walk(const Walk& walk) {
  const bool is_on_last = walk.met > 0 && walk.kept != 0 && !walk.is_on_two_stacks;
  if (walk.fresh_count - 1 <= StackSuffix::kMaxInner && is_on_last) remember_suffix(walk);
  const bool goes_on = walk.met > 0 ? trusted_.bytes != 0 : walk.proof == EndProof::kFrames;
  trusted_ = goes_on && window_.stayed_on_own_stack() ? window_.own() : AddressSpan{};
}

// Of the outermost `index` frames, the outermost one from which inwards what leads to them by way of frame pointers is as it
// was, but for the frame pointer of the frame further in.
uint32_t CallStack::first_unchanged_pointer(uint32_t index, uintptr_t slot) const {
  uint32_t user = remembered_[index - 1].fp_user;
  while (user > 0) {
    const Remembered& inner = remembered_[user];
    const uint64_t cfa_slot = remembered_[user - 1].cfa_slot;
    if (user != index && inner.fp_slot != 0 && !is_kept(inner.fp_slot, inner.fp, slot)) return user;
    if (cfa_slot != 0 && !is_kept(cfa_slot, sp_of<UnwindTables::Cpu>(user - 1), slot)) return user;
    user = user > 1 ? remembered_[user - 2].fp_user : 0;
  }
  return 0;
}

bool CallStack::are_users_unchanged(uint32_t count, uintptr_t slot) const {
  for (uint32_t user = remembered_[count - 2].fp_user; user > 0;) {
    const Remembered& inner = remembered_[user];
    const uint64_t cfa_slot = remembered_[user - 1].cfa_slot;
    if (user != count - 1 && inner.fp_slot != 0 && !is_kept(inner.fp_slot, inner.fp, slot)) return false;
    if (cfa_slot != 0 && !is_kept(cfa_slot, sp_of<UnwindTables::Cpu>(user - 1), slot)) return false;
    user = user > 1 ? remembered_[user - 2].fp_user : 0;
  }
  return true;
}

// The stack that a suffix makes which stands on the last one, without a walk. 0: it needs one.
uint32_t CallStack::name_suffix(UnwindTables& tables, const StackSuffix& suffix) {
  const uint32_t kept = divergence_.kept - suffix.dropped;
  const uint32_t fresh_count = suffix.inner_count + 1u;
  if (!can_name(tables, kept + fresh_count)) return 0;
  for (uint32_t i = 0; i < fresh_count; ++i) {
    const Rule rule = tables.rules.find(i == 0 ? suffix.key : suffix.inner_key(i - 1));
    if (!rule.has_row()) return 0;
    fresh_[i].code = rule.code();
  }
  const uint32_t number = name_with_fresh(tables, kept, fresh_count).node;
  suffix_cache_.add_number(remembered_[kept - 1].name.node, suffix, number);
  return number;
}

// The walk's fresh frames may come again on the frames that it met.
inline void CallStack::remember_suffix(const Walk& walk) {
  const Frame& met = walk.at.frame;
  const uint32_t last = walk.fresh_count - 1;
  const Fresh& top = fresh_[0];
  const uintptr_t base = own_address(base_of(top));
  const uint32_t dropped = divergence_.kept - walk.met;
  StackSuffix suffix;
  suffix.serial = suffix.seen = 0;
  suffix.key = own_address(top.word.key);
  suffix.fp_slot = 0;
  suffix.dropped = static_cast<uint16_t>(dropped);
  suffix.inner_count = 0;
  suffix.pointer_count = 0;
  if (dropped > UINT16_MAX || !suffix.put_on(base, met, met.fp_slot)) return;
  for (uint32_t i = 0; i <= last; ++i) {
    const Fresh& inner = fresh_[i];
    if (i > 0 && !suffix.add_inner(base, inner.word.slot, inner.word.key)) return;
    const uint32_t origin_of_outer = i < last ? fresh_[i + 1].origin : walk.at.origin;
    if ((origin_of_outer & kByFramePointer) == 0) continue;
    const uint64_t cfa_slot = i < last ? fresh_[i + 1].cfa_slot : met.cfa_slot;
    const uint64_t cfa =
        i < last ? unwind::moved<UnwindTables::Cpu>(base_of(fresh_[i + 1]), -UnwindTables::Cpu::kReturnSlotWords)
                 : met.sp;
    if (!suffix.add_pointer(base, inner.fp_slot, inner.fp)) return;
    if (cfa_slot != 0 && !suffix.add_pointer(base, cfa_slot, cfa)) return;
  }
  const SuffixPlace place{
      .key = suffix.key, .distance = own_address(words_[divergence_.kept - 1].slot) - base, .word = divergence_.word};
  suffix_cache_.add_suffix(place, suffix);
}

void* FrameLists::take(uint32_t frames, size_t bytes) {
  return frames <= unwind::kUsualFrames ? g_pieces.take(bytes) : kernel::map_memory(bytes);
}

void FrameLists::give_back(void* lists, uint32_t frames, size_t bytes) {
  if (frames > unwind::kUsualFrames) kernel::unmap(lists, bytes);
}

}  // namespace heaptap::agent
