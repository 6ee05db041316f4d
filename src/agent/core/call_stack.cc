#include "agent/core/call_stack.h"

#include "agent/core/kernel.h"
#include "agent/core/pieces.h"
#include "agent/core/string.h"

// How a stack gets its number without being walked whole. The frames of the thread's last stack are remembered from the
// outermost one inwards: where each return address was read, and what was read there. A new stack mostly shares its outer
// frames with that one. So the walk goes outwards from the hook, frame by frame, and at each frame that stands where a remembered
// one stood (the same slot, the same return address) it reads the remembered words further out again: if all are as they were,
// so is the rest of the stack, and its number is known. Equal words alone prove it only where the frame was found by the stack
// pointer; where a frame pointer led to it, what that was read from is compared as well (`origin`, `fp_user`).
// What is left are the frames further in, the suffix. It is looked for first (suffix_cache.h): where words stop to be equal and
// what stands there now tells which of the suffixes that were seen there it may be, and its own words prove it. Only where
// none fits is there a walk. A stack that crossed a signal frame, or whose end nothing proves, isn't remembered at all.
namespace heaptap::agent {
namespace {

using Cpu = arch::native::Unwinding;
constexpr uintptr_t kWord = sizeof(uintptr_t);

// The first instructions of a program or of the loader have no caller, whatever their CFI says.
constexpr uint64_t kEntryBytes = 64;

// A frame pointer in code without CFI that points further away isn't followed: it is a fiber's, from where its context was made.
constexpr uintptr_t kLargestFrame = 8u << 20;

unwind::Row row_of(const Module& module, uint64_t pc) {
  if (module.entry != 0 && pc - module.entry < kEntryBytes) return unwind::Row{unwind::RowKind::kEnd, 0, 0, 0};
  return unwind::find_row<Cpu>(module.tables, pc);
}

}  // namespace

__attribute__((noinline)) uint32_t CallStack::walk(UnwindTables& tables, const Frame& caller, uintptr_t sp) {
  const uint32_t changes = tables.changes.value();
  if (changes != changes_) [[unlikely]] {
    count_ = 0;
    divergence_ = {};
    suffix_cache_.forget();
    changes_ = changes;
  }
  if (divergence_.suffix != nullptr) {
    const uint32_t number = name_suffix(tables, *divergence_.suffix);
    if (number != 0) return number;
  }
  window_.begin(sp);
  Walk walk{.frame = caller, .candidates = candidates(), .unverified = candidates()};
  while (!meets_last(walk)) {
    if (walk.fresh_count == capacity_ && !reserve(walk.fresh_count + 1)) [[unlikely]] {
      walk.end = wire::StackEnd::kDepthLimit;
      return finish(tables, walk, 0);
    }
    const Frame& frame = walk.frame;
    Rule rule = tables.rules.find(frame.key);
    if (!rule.has_row()) [[unlikely]]
      rule = learn(tables, frame.key);
    Fresh& fresh = fresh_[walk.fresh_count++];
    fresh.word = {frame.slot, frame.key};
    fresh.fp = frame.fp;
    fresh.fp_slot = frame.fp_slot;
    fresh.cfa_slot = frame.cfa_slot;
    fresh.code = rule.code();
    fresh.origin = walk.origin;
    if (!advance(tables, walk, rule)) return finish(tables, walk, 0);
  }
  rejoin(walk, walk.candidates - 1);
  return finish(tables, walk, walk.candidates);
}

// Whether the walk's frame is one of the last stack's and everything further out is as it was.
inline bool CallStack::meets_last(Walk& walk) {
  while (walk.candidates > 0 && words_[walk.candidates - 1].slot < walk.frame.slot) --walk.candidates;
  if (walk.candidates == 0 || walk.candidates > walk.unverified) return false;
  const uint32_t index = walk.candidates - 1;
  if (words_[index].slot != walk.frame.slot || words_[index].key != walk.frame.key) return false;
  const Remembered& last = remembered_[index];
  if ((last.origin & kFramePointerMatters) != 0 && (last.fp != walk.frame.fp || last.fp_slot != walk.frame.fp_slot)) {
    return false;
  }
  const uint32_t unchanged = first_unchanged(index, walk.frame.slot);
  if (unchanged == 0) return true;
  walk.unverified = unchanged;  // the frames from there inwards are the same, but not what called them
  return false;
}

// The same where the stack's memory may have gone, or its end hangs on the first frame's frame pointer.
uint32_t CallStack::first_unchanged_checked(uint32_t index) {
  uint32_t at = index;
  while (at > 0 && is_unchanged(at - 1)) --at;
  if (at > 0 || index == 0) return at;
  const Remembered& first = remembered_[0];
  const bool is_end =
      (first.origin & kFramePointerMatters) == 0 || first.fp_slot == 0 || is_still(first.fp_slot, first.fp);
  return is_end ? 0 : 1;
}

// Of the outermost `index` frames, the outermost one from which inwards what leads to them by way of frame pointers is as it
// was, but for the frame pointer of the frame further in.
uint32_t CallStack::first_unchanged_pointer(uint32_t index, uintptr_t slot) const {
  uint32_t user = remembered_[index - 1].fp_user;
  while (user > 0) {
    const Remembered& inner = remembered_[user];
    const uintptr_t cfa_slot = remembered_[user - 1].cfa_slot;
    if (user != index && inner.fp_slot != 0 && !is_kept(inner.fp_slot, inner.fp, slot)) return user;
    if (cfa_slot != 0 && !is_kept(cfa_slot, sp_of(user - 1), slot)) return user;
    user = user > 1 ? remembered_[user - 2].fp_user : 0;
  }
  return 0;
}

bool CallStack::are_users_unchanged(uint32_t count, uintptr_t slot) const {
  for (uint32_t user = remembered_[count - 2].fp_user; user > 0;) {
    const Remembered& inner = remembered_[user];
    const uintptr_t cfa_slot = remembered_[user - 1].cfa_slot;
    if (user != count - 1 && inner.fp_slot != 0 && !is_kept(inner.fp_slot, inner.fp, slot)) return false;
    if (cfa_slot != 0 && !is_kept(cfa_slot, sp_of(user - 1), slot)) return false;
    user = user > 1 ? remembered_[user - 2].fp_user : 0;
  }
  return true;
}

bool CallStack::is_unchanged(uint32_t index) {
  const Word& word = words_[index];
  if (!is_still(word.slot, word.key)) return false;
  const Remembered& frame = remembered_[index];
  if ((frame.origin & kByFramePointer) == 0) return true;
  if (frame.cfa_slot != 0 && !is_still(frame.cfa_slot, sp_of(index))) return false;
  const Remembered& inner = remembered_[index + 1];
  return inner.fp_slot == 0 || is_still(inner.fp_slot, inner.fp);
}

// Moves the walk to the next frame outwards. False: there is none; walk.end says why.
inline bool CallStack::advance(UnwindTables& tables, Walk& walk, Rule rule) {
  if (rule.kind() == unwind::RowKind::kStackOffset) [[likely]]
    return step(walk, rule);
  switch (rule.kind()) {
    case unwind::RowKind::kFrameOffset:
    case unwind::RowKind::kFrameIndirect:
      return step(walk, rule);
    case unwind::RowKind::kSignal:
      return step_over_signal(walk);
    case unwind::RowKind::kEnd:
      walk.proof = EndProof::kFrames;
      walk.end = wire::StackEnd::kComplete;
      return false;
    case unwind::RowKind::kNoTable:
      return step_by_frame_pointer(tables, walk);
    default:
      walk.proof = EndProof::kFrames;
      walk.end = wire::StackEnd::kUnsupportedRule;
      return false;
  }
}

inline bool CallStack::step(Walk& walk, Rule rule) {
  Frame& frame = walk.frame;
  const auto offset = static_cast<uintptr_t>(rule.cfa_offset());
  uintptr_t cfa = frame.sp + offset;
  uintptr_t cfa_slot = 0;
  uintptr_t fp_base = cfa;
  uint32_t origin = 0;
  walk.end = wire::StackEnd::kUnreadable;
  if (rule.kind() != unwind::RowKind::kStackOffset) {
    origin = kByFramePointer;
    cfa = fp_base = frame.fp + offset;
    if (rule.kind() == unwind::RowKind::kFrameIndirect) {
      if (rule.ra_offset() != -static_cast<int64_t>(kWord)) [[unlikely]] {  // sp_of() counts on it
        walk.end = wire::StackEnd::kUnsupportedRule;
        return false;
      }
      cfa_slot = cfa;
      if (!window_.load(cfa_slot, cfa)) return false;
      fp_base = frame.fp;
    }
  }
  const uintptr_t slot = cfa + static_cast<uintptr_t>(rule.ra_offset());
  uintptr_t key = 0;
  if (slot < frame.sp || !window_.load(slot, key)) [[unlikely]]
    return false;
  if (rule.fp_offset() != 0 || rule.kind() == unwind::RowKind::kFrameIndirect) {
    const uintptr_t fp_slot = fp_base + static_cast<uintptr_t>(rule.fp_offset());
    if (!window_.load(fp_slot, frame.fp)) [[unlikely]]
      return false;
    frame.fp_slot = fp_slot;
    origin |= kLoadsFramePointer;
  }
  frame.slot = slot;
  frame.key = key & wire::kCodeAddressMask;
  frame.sp = cfa;
  frame.cfa_slot = cfa_slot;
  walk.origin = origin;
  walk.end = wire::StackEnd::kComplete;
  return key != 0;  // 0 is the ABI's mark for the first frame of code without CFI for it
}

// Code without CFI: its frame pointer may lead on, if what it leads to is a return address into known code.
bool CallStack::step_by_frame_pointer(UnwindTables& tables, Walk& walk) {
  Frame& frame = walk.frame;
  walk.end = wire::StackEnd::kNoUnwindTable;
  const uintptr_t at = frame.fp;
  uintptr_t fp = 0;
  uintptr_t key = 0;
  if (at < frame.sp || at % kWord != 0 || at - frame.sp > kLargestFrame) {
    walk.proof = EndProof::kFramePointer;
    return false;
  }
  if (!window_.load(at + kWord, key)) return false;
  key &= wire::kCodeAddressMask;
  if (tables.modules.find(key) == nullptr || !window_.load(at, fp)) return false;
  frame = {.slot = at + kWord, .key = key, .sp = at + 2 * kWord, .fp = fp, .fp_slot = at, .cfa_slot = 0};
  walk.origin = kByFramePointer | kLoadsFramePointer;
  return true;
}

bool CallStack::step_over_signal(Walk& walk) {
  const uintptr_t context = walk.frame.sp;
  const uintptr_t fp_slot = context + Cpu::kSignalFramePointer;
  uintptr_t fp = 0;
  uintptr_t sp = 0;
  uintptr_t pc = 0;
  walk.end = wire::StackEnd::kUnreadable;
  if (!window_.load(fp_slot, fp) || !window_.load(context + Cpu::kSignalStackPointer, sp) ||
      !window_.load(context + Cpu::kSignalProgramCounter, pc)) {
    return false;
  }
  walk.frame = {.slot = 0,
                .key = (pc & wire::kCodeAddressMask) | wire::kCodeExact,
                .sp = sp,
                .fp = fp,
                .fp_slot = fp_slot,
                .cfa_slot = 0};
  walk.origin = kLoadsFramePointer;
  walk.crossed_signal = true;
  walk.candidates = walk.unverified = candidates();
  window_.enter_interrupted(sp, Cpu::kRedZoneBytes);
  return true;
}

// The walk met the last stack at `index`: that frame may have been found in another way this time.
inline void CallStack::rejoin(const Walk& walk, uint32_t index) {
  Remembered& met = remembered_[index];
  met.fp = walk.frame.fp;
  met.fp_slot = walk.frame.fp_slot;
  met.cfa_slot = walk.frame.cfa_slot;
  met.origin = (met.origin & kFramePointerMatters) | walk.origin;
  met.fp_user = fp_user_at(index, walk.origin);
}

// Keeps the last stack's `kept` outermost frames, puts the fresh ones on them, and gives the number of the whole.
inline uint32_t CallStack::finish(UnwindTables& tables, const Walk& walk, uint32_t kept) {
  last_fresh_ = walk.fresh_count;
  last_is_whole_ = kept == 0 && walk.end == wire::StackEnd::kComplete;
  const uint32_t frames = kept + walk.fresh_count;
  const bool too_deep = walk.end == wire::StackEnd::kDepthLimit || frames > tables.depth_limit;
  if (too_deep || (frames > capacity_ && !reserve(frames))) [[unlikely]] {
    return finish_limited(tables, walk, kept);
  }
  const StackName parent = kept > 0 ? remembered_[kept - 1].name : root_name(walk.end);
  const StackName name = name_fresh(tables, parent, walk.fresh_count);
  if (walk.fresh_count - 1 <= StackSuffix::kMaxInner && kept > 0 && divergence_.kept != 0 && !walk.crossed_signal)
    remember_suffix(walk, kept);
  count_ = kept;
  for (uint32_t i = walk.fresh_count; i > 0; --i) remember(fresh_[i - 1], walk.proof);
  if (walk.crossed_signal || (kept == 0 && walk.proof == EndProof::kNone)) [[unlikely]]
    count_ = 0;
  const bool goes_on = kept > 0 ? trusted_.bytes != 0 : walk.proof == EndProof::kFrames;
  trusted_ = goes_on && window_.stayed_on_own_stack() ? window_.own() : AddressSpan{};
  return name.node;
}

// Names the stacks that the fresh frames make on the parent, from the outermost one inwards. Gives the last one.
inline StackName CallStack::name_fresh(UnwindTables& tables, StackName parent, uint32_t fresh_count) {
  uint32_t hash = parent.hash;
  for (uint32_t i = fresh_count; i > 0; --i) {
    fresh_[i - 1].name.hash = hash = hash_with(hash, fresh_[i - 1].code);
  }
  const uint32_t known = tables.trie.find(hash, [&](uint32_t number) {
    for (uint32_t i = 0; i < fresh_count; ++i) {
      const uint64_t node = tables.trie.node(number);
      if (wire::node_code(node) != fresh_[i].code) return false;
      fresh_[i].name.node = number;
      number = wire::node_parent(node);
    }
    return number == parent.node;
  });
  return known != 0 && fresh_count > 0 ? StackName{known, hash} : add_names(tables, parent, fresh_count);
}

// The same where at least the last one isn't known.
__attribute__((noinline)) StackName CallStack::add_names(UnwindTables& tables, StackName parent, uint32_t fresh_count) {
  StackName name = parent;
  for (uint32_t i = fresh_count; i > 0; --i) {
    Fresh& fresh = fresh_[i - 1];
    name = fresh.code == Rule::kNoCode ? root_name(wire::StackEnd::kTableFull) : tables.trie.intern(name, fresh.code);
    fresh.name = name;
  }
  return name;
}

// The stack that a suffix makes which stands on the last one, without a walk. 0: it needs one.
uint32_t CallStack::name_suffix(UnwindTables& tables, const StackSuffix& suffix) {
  const uint32_t kept = divergence_.kept - suffix.dropped;
  if (kept + suffix.inner_count + 1 > tables.depth_limit) return 0;
  for (uint32_t i = 0; i <= suffix.inner_count; ++i) {
    const Rule rule = tables.rules.find(i == 0 ? suffix.key : suffix.inner_key(i - 1));
    if (!rule.has_row()) return 0;
    fresh_[i].code = rule.code();
  }
  const StackName parent = remembered_[kept - 1].name;
  const uint32_t number = name_fresh(tables, parent, suffix.inner_count + 1u).node;
  suffix_cache_.add_number(parent.node, suffix, number);
  return number;
}

// The walk's fresh frames may come again on the frames that it met.
inline void CallStack::remember_suffix(const Walk& walk, uint32_t kept) {
  const uint32_t last = walk.fresh_count - 1;
  const Fresh& top = fresh_[0];
  const uintptr_t slot = top.word.slot;
  const uint32_t dropped = divergence_.kept - kept;
  StackSuffix suffix;
  suffix.serial = suffix.seen = 0;
  suffix.key = top.word.key;
  suffix.fp_slot = 0;
  suffix.dropped = static_cast<uint16_t>(dropped);
  suffix.inner_count = 0;
  suffix.pointer_count = 0;
  if (dropped > UINT16_MAX || !suffix.put_on(slot, walk.frame.slot, walk.frame.fp_slot)) return;
  for (uint32_t i = 0; i <= last; ++i) {
    const Fresh& inner = fresh_[i];
    if (i > 0 && !suffix.add_inner(slot, inner.word.slot, inner.word.key)) return;
    const uint32_t origin_of_outer = i < last ? fresh_[i + 1].origin : walk.origin;
    if ((origin_of_outer & kByFramePointer) == 0) continue;
    const uintptr_t cfa_slot = i < last ? fresh_[i + 1].cfa_slot : walk.frame.cfa_slot;
    const uintptr_t cfa = (i < last ? fresh_[i + 1].word.slot : walk.frame.slot) + kWord;
    if (!suffix.add_pointer(slot, inner.fp_slot, inner.fp)) return;
    if (cfa_slot != 0 && !suffix.add_pointer(slot, cfa_slot, cfa)) return;
  }
  const SuffixPlace place{
      .key = suffix.key, .distance = words_[divergence_.kept - 1].slot - slot, .word = divergence_.word};
  suffix_cache_.add_suffix(place, suffix);
}

inline uint32_t CallStack::fp_user_at(uint32_t index, uint32_t origin) const {
  if ((origin & kByFramePointer) != 0) return index + 1;
  return index > 0 ? remembered_[index - 1].fp_user : 0;
}

inline void CallStack::remember(const Fresh& fresh, EndProof proof) {
  uint32_t origin = fresh.origin & (kByFramePointer | kLoadsFramePointer);
  if (count_ == 0) {
    if (proof == EndProof::kFramePointer) origin |= kFramePointerMatters;
  } else {
    const Remembered& outer = remembered_[count_ - 1];
    const bool matters = (outer.origin & kByFramePointer) != 0 ||
                         ((outer.origin & kLoadsFramePointer) == 0 && (outer.origin & kFramePointerMatters) != 0);
    if (matters) origin |= kFramePointerMatters;
  }
  words_[count_] = fresh.word;
  Remembered& last = remembered_[count_];
  last.fp = fresh.fp;
  last.fp_slot = fresh.fp_slot;
  last.cfa_slot = fresh.cfa_slot;
  last.name = fresh.name;
  last.origin = origin;
  last.fp_user = fp_user_at(count_, origin);
  ++count_;
}

// Deeper than asked for: only the innermost frames, and nothing to remember, since the numbers kept are of whole stacks.
uint32_t CallStack::finish_limited(UnwindTables& tables, const Walk& walk, uint32_t kept) {
  const uint32_t limit = tables.depth_limit < kMaxFrames ? tables.depth_limit : kFramesOfDeeper;
  StackName name = root_name(wire::StackEnd::kDepthLimit);
  const auto add = [&](uint32_t code) {
    name = code == Rule::kNoCode ? root_name(wire::StackEnd::kTableFull) : tables.trie.intern(name, code);
  };
  const uint32_t fresh_used = walk.fresh_count < limit ? walk.fresh_count : limit;
  const uint32_t kept_used = kept < limit - fresh_used ? kept : limit - fresh_used;
  for (uint32_t i = kept - kept_used; i < kept; ++i) add(tables.trie.code_of(remembered_[i].name.node));
  for (uint32_t i = fresh_used; i > 0; --i) add(fresh_[i - 1].code);
  // A fitting stack can be remembered; here only that part of it which was not touched.
  count_ = walk.crossed_signal ? 0 : kept;
  return name.node;
}

void UnwindTables::refresh_modules() {
  modules.refresh([this](uint64_t start, uint64_t end) {
    rules.forget(start, end);
    changes.count_up();
  });
}

// Whether lists of so many frames are cut from what is never given back. They may be abandoned: there are two such sizes.
constexpr bool CallStack::is_piece(uint32_t capacity) { return capacity <= kUsualFrames; }

// Room for that many frames, in all three lists. False: that is more than the limit, or there is no memory.
bool CallStack::reserve(uint32_t frames) {
  if (frames > kMaxFrames) return false;
  uint32_t capacity = capacity_ * 4;
  if (capacity_ < kUsualFrames) capacity = frames <= kFewFrames ? kFewFrames : kUsualFrames;
  while (capacity < frames) capacity *= 2;
  if (capacity > kMaxFrames) capacity = kMaxFrames;
  constexpr size_t kEach = sizeof(Word) + sizeof(Remembered) + sizeof(Fresh);
  auto* words =
      static_cast<Word*>(is_piece(capacity) ? g_pieces.take(capacity * kEach) : kernel::map_memory(capacity * kEach));
  if (words == nullptr) return false;
  auto* remembered = reinterpret_cast<Remembered*>(words + capacity);
  auto* fresh = reinterpret_cast<Fresh*>(remembered + capacity);
  if (capacity_ > 0) {
    copy_bytes(words, words_, count_ * sizeof(Word));
    copy_bytes(remembered, remembered_, count_ * sizeof(Remembered));
    copy_bytes(fresh, fresh_, capacity_ * sizeof(Fresh));
  }
  // In an order that leaves something usable if a signal handler abandons this in the middle.
  Word* const old = words_;
  words_ = words;
  remembered_ = remembered;
  fresh_ = fresh;
  const uint32_t old_capacity = capacity_;
  capacity_ = capacity;
  if (!is_piece(old_capacity)) kernel::unmap(old, old_capacity * kEach);
  return true;
}

__attribute__((noinline)) Rule CallStack::learn(UnwindTables& tables, uint64_t key) {
  const uint64_t address = wire::code_address(key);
  const uint64_t pc = (key & wire::kCodeExact) != 0 ? address : address - 1;
  const Module* module = tables.modules.find(pc);
  unwind::Row row{unwind::RowKind::kNoTable, 0, 0, 0};
  if (module != nullptr) row = row_of(*module, pc);
  return tables.rules.add(key, module != nullptr ? module->generation : 0, row);
}

}  // namespace heaptap::agent
