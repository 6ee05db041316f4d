// Incremental stack walk against the last stack of the same thread: stops where the rest is proven unchanged. Freestanding;
// shared by the agent in its own process (agent/core/call_stack.h) and the tracer in another (capture/tracer/stack_walker.h).
//
// How it works. A walk goes outwards frame by frame (step.h). Before each step it checks whether the current frame is a
// frame of the last stack, at the same place: slots grow outwards, so a finger that only moves outwards finds it
// (meets_last()). If so, everything further out is compared with memory, word by word, as far as the frames were found
// by that word: the return addresses, the frame pointers that led to frames, the stack pointers saved by realigned
// frames. Unchanged words led to the same frames and will do so again, so the walk is over: its fresh frames are put on
// top of the met ones. Nothing is assumed because something next to it is unchanged. The end of the last stack has to
// be proven as well (EndProof).
//
// So an event costs a comparison for each remembered frame, and a recursion with an event at each level costs the
// square of its depth. Without a requested depth, stacks are whole up to kWholeFrames. Of a deeper one the innermost
// frames are kept and remembered as if there were no others: the list grows with the recursion up to kMaxOfDeeper, is
// then cut to kCutTo, and when fewer than kMinOfDeeper are left, the next walk goes further out again. In any program,
// an event checks at most kWholeFrames frames, and names no more.
//
// With a requested depth, a stack is named by exactly so many frames, but more are remembered (spare_frames()): as many
// as a program may return from at once without a walk to the frames that come into view. Usually that is the whole stack.
// Deeper stacks are named by the codes of their innermost frames, which are kept beside; the remembered frames of such a
// stack have no names, only what identify() makes of them.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <concepts>
#include <type_traits>

#include "common/unwind/step.h"

namespace heaptap::unwind {

inline constexpr uint32_t kFewFrames = 24;  // enough for most threads of programs with many
inline constexpr uint32_t kUsualFrames = 192;
inline constexpr uint32_t kMaxFrames = 131072;

using wire::kMaxOfDeeper;
using wire::kMinOfDeeper;
using wire::kWholeFrames;
inline constexpr uint32_t kCutTo = kMaxOfDeeper / 2;
// Frames remembered beyond a requested depth; up to twice as many while a stack grows. Nothing is remembered of a depth of 1.
constexpr uint32_t spare_frames(uint32_t asked) { return asked > kUsualFrames ? asked : kUsualFrames; }

// Depth limit of kept stacks.
struct DepthLimit {
  uint32_t frames;
  bool is_asked;  // of deeper stacks exactly so many frames are kept
};

// `asked` frames; 0: as deep as is cheap.
constexpr DepthLimit depth_limit_for(uint32_t asked) {
  if (asked == 0) return {kWholeFrames, false};
  return {asked < kMaxFrames ? asked : kMaxFrames, true};
}

// Beside FrameOrigin: the frames further out depend on this frame's `fp`.
inline constexpr uint32_t kFramePointerMatters = 4;

// Evidence in the remembered stack that a walk ends at its outermost frame.
enum class EndProof : uint8_t {
  kNone,          // nothing: the end depends on other memory, or on unreadable memory
  kFramePointer,  // the outermost frame's frame pointer
  kFrames,        // the frames: the thread's first one, or code whose rule ends the stack
};

// State of a walk.
template <UnwoundCpu CpuType>
struct Walk {
  using Cpu = CpuType;

  Position<Cpu> at;
  uint32_t kept = 0;  // this many outermost frames of the last stack are known to be unchanged in memory; 0: unknown
  uint32_t candidates = 0;  // remembered frames [0, candidates) may still be found further out
  uint32_t unverified = 0;  // of these, a frame further out than those from this index on is known to have changed
  uint32_t fresh_count = 0;
  uint32_t fresh_room = 0;        // capacity for fresh frames
  uint32_t met = 0;               // result: this many frames of the last stack are part of this one
  uint32_t stack_changes = 0;     // number of changes to another stack
  bool is_on_two_stacks = false;  // possibly: then frames aren't in the order of their slots
  EndProof proof = EndProof::kNone;
};

// Memory access of a walk.
template <typename T>
concept WalkedMemory = StackMemory<T> && requires(T& memory, uint64_t sp, uint64_t red_zone) {
  // The walk continues in the frame of a function interrupted at `sp`, with the `red_zone` below belonging to the frame.
  memory.enter_interrupted(sp, red_zone);
};

// Code lookup and stack names.
template <typename T>
concept WalkedCode = UnwoundCpu<typename T::Cpu> && requires(T& code, uint64_t key, wire::StackEnd end,
                                                             typename T::Name name, typename T::Code entry) {
  { code.cpu() } -> std::convertible_to<typename T::Cpu>;
  // By a frame's key: rule.row(), whose kind is never kUnknown; rule.code(), what the frame is in
  // stacks' names; and where the row is a signal's, code.signal_of(rule).
  { code.rule_of(key).row() } -> std::same_as<Row>;
  { code.rule_of(key).code() } -> std::convertible_to<typename T::Code>;
  code.signal_of(code.rule_of(key));
  { code.is_code(key) } -> std::same_as<bool>;  // whether the address lies in loaded code
  // Whether the surrounding code keeps a frame pointer in each frame, also across stack switches, as Go does.
  { code.chains_stacks(key) } -> std::same_as<bool>;
  { code.depth_limit() } -> std::same_as<DepthLimit>;
  // A stack without frames; a stack plus one frame.
  { code.root(end) } -> std::same_as<typename T::Name>;
  { code.add(name, entry) } -> std::same_as<typename T::Name>;
  // Also add_all(name, fresh, count): adds `count` frames, of which fresh[0] is the innermost, and sets the name of each.
};

// Parameters of a LastStack:
//   Name, Code   as of WalkedCode
//   Lists        memory for its lists: void* take(uint32_t frames, size_t bytes), null: there is none;
//                void give_back(void* lists, uint32_t frames, size_t bytes)
//   kKeepsStackPointer
//                whether each frame's stack pointer is kept. It has to be where calls leave the return address in a register.
//                Where they leave it on the stack, it follows from the slot, and each frame is 8 bytes smaller without.
// `Self` derives from it and may have its own first_unchanged(), note_walk(), identify() and is_name().
template <typename Self, typename Parts>
class LastStack {
 public:
  using Name = typename Parts::Name;
  using Code = typename Parts::Code;

 protected:
  struct Word {  // what the stack's memory must hold for a frame to be unchanged
    uint64_t slot;
    uint64_t key;
  };
  struct NoStackPointer {};
  struct StackPointer {
    uint64_t sp;
  };
  struct FrameFacts : std::conditional_t<Parts::kKeepsStackPointer, StackPointer, NoStackPointer> {
    uint64_t fp;
    uint64_t fp_slot;
    uint64_t cfa_slot;
    Name name;  // of the stack from the outermost frame up to this one
  };
  struct Remembered : FrameFacts {
    uint32_t origin : 3;
    // Index, plus one, of the innermost frame up to this one that was found by the frame pointer; or 0.
    uint32_t fp_user : 29;
    Code code;
    void set_origin(uint32_t bits, uint32_t user) {
      origin = bits & 7;
      set_fp_user(user);
    }
    void set_fp_user(uint32_t user) { fp_user = user & ((1u << 29) - 1); }
  };
  struct Fresh : FrameFacts {
    Word word;
    Code code;
    uint32_t origin;
  };

  // Walks from the position in `walk`. Returns the name of the stack.
  template <WalkedMemory Memory, WalkedCode Tables>
  [[gnu::always_inline]] Name walk(Memory& memory, Tables& tables, Walk<typename Tables::Cpu>& walk) {
    static_assert(Parts::kKeepsStackPointer || !kHasLinkRegister<typename Tables::Cpu>);
    begin_walk(tables, walk);
    while (!meets_last(memory, tables, walk)) {
      if (walk.fresh_count == walk.fresh_room && !make_room(tables, walk)) [[unlikely]] {
        walk.at.end = wire::StackEnd::kDepthLimit;
        return finish(tables, walk, 0);
      }
      const auto& rule = tables.rule_of(walk.at.frame.key);
      add_fresh(walk, rule.code());
      if (!advance(memory, tables, walk, rule)) return finish(tables, walk, 0);
    }
    rejoin(walk, walk.candidates - 1);
    return finish(tables, walk, walk.candidates);
  }

  // The outermost frame from which on, inwards to `index`, the stack's memory is unchanged. 0: all of it.
  template <typename Memory, typename Tables>
  uint32_t first_unchanged(Memory& memory, Tables& tables, const Walk<typename Tables::Cpu>& /*walk*/, uint32_t index) {
    return first_unchanged_of_all(memory, tables, index);
  }

  template <typename Memory, typename Tables>
  [[gnu::noinline]] uint32_t first_unchanged_of_all(Memory& memory, Tables& tables, uint32_t index) {
    uint32_t at = index;
    while (at > 0 && is_unchanged(memory, tables, at - 1)) --at;
    if (at > 0 || index == 0) return at;
    const Remembered& first = remembered_[0];
    const bool is_end = (first.origin & kFramePointerMatters) == 0 || first.fp_slot == 0 ||
                        still_holds(memory, first.fp_slot, first.fp);
    return is_end ? 0 : 1;
  }

  // Called once the walk has its name, while the previous stack is still the last one.
  template <typename SomeWalk>
  void note_walk(const SomeWalk& /*walk*/) {}

  // The stack pointer after the return address of a remembered frame whose cfa_slot isn't 0.
  template <UnwoundCpu Cpu>
  [[nodiscard]] uint64_t sp_of(uint32_t index) const {
    if constexpr (Parts::kKeepsStackPointer) {
      return remembered_[index].sp;
    } else {
      return moved<Cpu>(words_[index].slot, -Cpu::kReturnAddressWords);
    }
  }

  // Whether the stack pointer of these facts is known, and is another.
  static constexpr bool has_other_sp(const FrameFacts& facts, uint64_t sp) {
    if constexpr (Parts::kKeepsStackPointer) return facts.sp != sp;
    return false;
  }
  // By the stack pointer after the return: where the return address lies, or would lie if the call had left it on the stack.
  template <typename Cpu>
  static constexpr uint64_t base_of(const Fresh& fresh) {
    if constexpr (Parts::kKeepsStackPointer) return moved<Cpu>(fresh.sp, Cpu::kReturnSlotWords);
    return fresh.word.slot;
  }

  Word* words_ = nullptr;
  Remembered* remembered_ = nullptr;
  Fresh* fresh_ = nullptr;
  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
  // Minimum number of outermost frames left when a stack meets the last one: nonzero where frames further out aren't
  // remembered.
  uint32_t floor_ = 0;
  wire::StackEnd end_ = wire::StackEnd::kComplete;  // of the last stack, where a depth was requested

  // Whether name_with_fresh() may be called for a stack of so many frames.
  template <typename Tables>
  [[nodiscard]] bool can_name(const Tables& tables, uint32_t frames) const {
    return frames <= (tables.depth_limit().is_asked ? capacity_ : max_frames(tables));
  }
  // The name of the stack that `fresh_count` fresh frames make on the outermost `kept` frames of the last stack. Those of a
  // requested depth may also use the list of fresh frames behind these.
  template <typename Tables>
  Name name_with_fresh(Tables& tables, uint32_t kept, uint32_t fresh_count) {
    if (!has_outer_name(tables, kept, fresh_count)) [[unlikely]]
      return name_by_codes(tables, kept, fresh_count);
    return tables.add_all(kept > 0 ? remembered_[kept - 1].name : tables.root(end_), fresh_, fresh_count);
  }

  // A frame on a remembered one, where stacks are deeper than requested and frames have no names: what stands in for its name.
  static Name identify(Name /*outer*/, Code /*code*/) { return Name{}; }
  static bool is_name(Name name) { return name != Name{}; }

 private:
  friend Self;
  LastStack() = default;

  static constexpr size_t kEach = sizeof(Word) + sizeof(Remembered) + sizeof(Fresh);

  Self& self() { return static_cast<Self&>(*this); }

  template <typename Tables, typename Cpu>
  void begin_walk(Tables& tables, Walk<Cpu>& walk) {
    restart_candidates(walk);
    set_room(tables, walk);
  }
  template <typename Cpu>
  void restart_candidates(Walk<Cpu>& walk) const {
    walk.candidates = walk.unverified = walk.kept != 0 ? walk.kept : count_;
  }

  template <typename Tables>
  [[nodiscard]] uint32_t max_frames(const Tables& tables) const {
    return floor_ == 0 ? tables.depth_limit().frames : kMaxOfDeeper;
  }

  // The walk visits one frame more than may be kept, to learn that there are more.
  template <typename Tables>
  [[nodiscard]] uint32_t max_walked(const Tables& tables) const {
    const DepthLimit limit = tables.depth_limit();
    return limit.frames + (limit.is_asked && limit.frames > 1 ? spare_frames(limit.frames) : 1);
  }
  template <typename Tables, typename Cpu>
  void set_room(Tables& tables, Walk<Cpu>& walk) const {
    const uint32_t wanted = max_walked(tables);
    walk.fresh_room = capacity_ < wanted ? capacity_ : wanted;
  }
  template <typename Tables, typename Cpu>
  [[gnu::noinline]] bool make_room(Tables& tables, Walk<Cpu>& walk) {
    if (walk.fresh_count >= max_walked(tables) || !reserve(walk.fresh_count + 1)) return false;
    set_room(tables, walk);
    return true;
  }

  template <typename Cpu>
  void add_fresh(Walk<Cpu>& walk, Code code) {
    const Frame& frame = walk.at.frame;
    Fresh& fresh = fresh_[walk.fresh_count++];
    fresh.word = {frame.slot, frame.key};
    keep_facts(fresh, frame);
    fresh.code = code;
    fresh.origin = walk.at.origin;
  }
  static void keep_facts(FrameFacts& facts, const Frame& frame) {
    if constexpr (Parts::kKeepsStackPointer) facts.sp = frame.sp;
    facts.fp = frame.fp;
    facts.fp_slot = frame.fp_slot;
    facts.cfa_slot = frame.cfa_slot;
  }

  // Whether the walk's frame is one of the last stack's and everything further out is unchanged.
  template <typename Memory, typename Tables, typename Cpu>
  [[gnu::always_inline]] bool meets_last(Memory& memory, Tables& tables, Walk<Cpu>& walk) {
    const Frame& frame = walk.at.frame;
    while (walk.candidates > 0 && words_[walk.candidates - 1].slot < frame.slot) --walk.candidates;
    if (walk.candidates <= floor_ || walk.candidates > walk.unverified) return false;
    const uint32_t index = walk.candidates - 1;
    if (words_[index].slot != frame.slot || words_[index].key != frame.key) return false;
    const Remembered& last = remembered_[index];
    if (has_other_sp(last, frame.sp)) return false;
    if ((last.origin & kFramePointerMatters) != 0 && (last.fp != frame.fp || last.fp_slot != frame.fp_slot)) {
      return false;
    }
    const uint32_t unchanged = self().first_unchanged(memory, tables, walk, index);
    if (unchanged == 0) return true;
    walk.unverified = unchanged;  // the frames from there inwards are the same, but not their callers
    return false;
  }

  template <typename Memory, typename Tables>
  bool is_unchanged(Memory& memory, Tables& tables, uint32_t index) {
    const Word& word = words_[index];
    uint64_t key = 0;
    if (!memory.load(word.slot, key) || (key & tables.cpu().address_mask()) != word.key) return false;
    const Remembered& frame = remembered_[index];
    if ((frame.origin & kByFramePointer) == 0) return true;
    if (frame.cfa_slot != 0 && !still_holds(memory, frame.cfa_slot, sp_of<typename Tables::Cpu>(index))) return false;
    const Remembered& inner = remembered_[index + 1];
    return inner.fp_slot == 0 || still_holds(memory, inner.fp_slot, inner.fp);
  }
  template <typename Memory>
  static bool still_holds(Memory& memory, uint64_t at, uint64_t value) {
    uint64_t now = 0;
    return memory.load(at, now) && now == value;
  }

  // Moves the walk to the next frame outwards. False: there is none; walk.at.end gives the reason.
  template <typename Memory, typename Tables, typename Cpu, typename Rule>
  [[gnu::always_inline]] bool advance(Memory& memory, Tables& tables, Walk<Cpu>& walk, const Rule& rule) {
    const Row row = rule.row();
    if (row.kind() == RowKind::kStackOffset) [[likely]]
      return step_by_row(tables.cpu(), row, memory, walk.at);
    switch (row.kind()) {
      case RowKind::kFrameOffset:
      case RowKind::kFrameIndirect:
        return step_by_row(tables.cpu(), row, memory, walk.at);
      case RowKind::kStackLeaf:
      case RowKind::kFrameLeaf:
      case RowKind::kStackRecord:
      case RowKind::kFrameRecord:
      case RowKind::kStackReturn:
      case RowKind::kStackPair:
      case RowKind::kFramePair:
        if constexpr (kHasLinkRegister<Cpu>) return step_by_row(tables.cpu(), row, memory, walk.at);
        break;
      case RowKind::kSignal:
        return cross_signal(memory, tables, walk, rule);
      case RowKind::kEnd:
        walk.proof = EndProof::kFrames;
        walk.at.end = wire::StackEnd::kComplete;
        return false;
      case RowKind::kNoTable:
        return follow_frame_pointer(memory, tables, walk);
      default:
        break;
    }
    walk.proof = EndProof::kFrames;
    walk.at.end = wire::StackEnd::kUnsupportedRule;
    return false;
  }

  template <typename Memory, typename Tables, typename Cpu>
  [[gnu::noinline]] bool follow_frame_pointer(Memory& memory, Tables& tables, Walk<Cpu>& walk) {
    const auto is_code = [&tables](uint64_t address) { return tables.is_code(address); };
    if (may_follow_frame_pointer<Cpu>(walk.at.frame))
      return step_by_frame_pointer(tables.cpu(), memory, is_code, walk.at);
    walk.proof = Cpu::kHasFrameRecords ? EndProof::kFramePointer : EndProof::kFrames;
    walk.at.end = wire::StackEnd::kNoUnwindTable;
    if (!tables.chains_stacks(instruction_of(walk.at.frame.key))) return false;
    if (walk.at.frame.fp == 0) {  // Go's mark for the first frame
      walk.at.end = wire::StackEnd::kComplete;
      return false;
    }
    return change_stack(memory, tables, walk, is_code);
  }

  // Follows the frame pointer to a frame on another stack: C code called by Go runs on the thread's stack, and the
  // caller's frames are on the goroutine's.
  template <typename Memory, typename Tables, typename Cpu, typename IsCode>
  bool change_stack(Memory& memory, Tables& tables, Walk<Cpu>& walk, const IsCode& is_code) {
    constexpr uint32_t kMaxChanges = 16;  // changes back and forth; ensures that the walk ends
    if (++walk.stack_changes > kMaxChanges) return false;
    walk.proof = EndProof::kNone;
    walk.is_on_two_stacks = true;
    walk.candidates = walk.unverified = 0;
    const uint64_t record = moved<Cpu>(walk.at.frame.fp, Cpu::kFrameRecordWords);
    memory.enter_interrupted(record, 0);
    return step_to_frame_record(tables.cpu(), memory, is_code, walk.at);
  }

  template <typename Memory, typename Tables, typename Cpu, typename Rule>
  [[gnu::noinline]] bool cross_signal(Memory& memory, Tables& tables, Walk<Cpu>& walk, const Rule& rule) {
    if (!step_over_signal(tables.cpu(), tables.signal_of(rule), memory, walk.at)) return false;
    walk.is_on_two_stacks = true;
    restart_candidates(walk);
    memory.enter_interrupted(walk.at.frame.sp, Cpu::kRedZoneBytes);
    return true;
  }

  // The walk met the last stack at `index`: that frame may have been found by another rule this time.
  template <typename Cpu>
  void rejoin(const Walk<Cpu>& walk, uint32_t index) {
    Remembered& met = remembered_[index];
    keep_facts(met, walk.at.frame);
    met.set_origin((met.origin & kFramePointerMatters) | walk.at.origin, fp_user_at(index, walk.at.origin));
  }

  // Keeps the last stack's `kept` outermost frames, adds the fresh ones, and returns the name of the whole.
  template <typename Tables, typename Cpu>
  Name finish(Tables& tables, Walk<Cpu>& walk, uint32_t kept) {
    walk.met = kept;
    const uint32_t frames = kept + walk.fresh_count;
    if (tables.depth_limit().is_asked) [[unlikely]]
      return finish_asked(tables, walk, kept);
    if (kept == 0) floor_ = 0;
    if (walk.at.end == wire::StackEnd::kDepthLimit || frames > max_frames(tables)) [[unlikely]]
      return finish_cut(tables, walk, kept);
    if (frames > capacity_ && !reserve(frames)) [[unlikely]]
      return finish_limited(tables, walk, kept);
    const Name parent = kept > 0 ? remembered_[kept - 1].name : tables.root(walk.at.end);
    const Name name = tables.add_all(parent, fresh_, walk.fresh_count);
    self().note_walk(walk);
    count_ = kept;
    for (uint32_t i = walk.fresh_count; i > 0; --i) remember(fresh_[i - 1], walk.proof);
    // Frames on two stacks aren't in the order of their slots. Where a walk ended because of memory other than the
    // frames', no comparison would prove that it ends there again.
    if (walk.is_on_two_stacks || (kept == 0 && walk.proof == EndProof::kNone)) [[unlikely]]
      count_ = 0;
    return name;
  }

  [[nodiscard]] uint32_t fp_user_at(uint32_t index, uint32_t origin) const {
    if ((origin & kByFramePointer) != 0) return index + 1;
    return index > 0 ? remembered_[index - 1].fp_user : 0;
  }

  void remember(const Fresh& fresh, EndProof proof) {
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
    static_cast<FrameFacts&>(last) = static_cast<const FrameFacts&>(fresh);
    last.code = fresh.code;
    last.set_origin(origin, fp_user_at(count_, origin));
    ++count_;
  }

  // Deeper than is cheap: keeps only the innermost frames, remembered as a stack of their own.
  template <typename Tables, typename Cpu>
  [[gnu::noinline]] Name finish_cut(Tables& tables, Walk<Cpu>& walk, uint32_t kept) {
    const uint32_t fresh_used = walk.fresh_count < kCutTo ? walk.fresh_count : kCutTo;
    const uint32_t kept_used = kept < kCutTo - fresh_used ? kept : kCutTo - fresh_used;
    walk.proof = EndProof::kFrames;
    keep_inner(kept - kept_used, kept_used);
    Name outer = tables.root(wire::StackEnd::kDepthLimit);
    for (uint32_t i = 0; i < kept_used; ++i) remembered_[i].name = outer = tables.add(outer, remembered_[i].code);
    const Name name = tables.add_all(outer, fresh_, fresh_used);
    self().note_walk(walk);
    count_ = kept_used;
    for (uint32_t i = fresh_used; i > 0; --i) remember(fresh_[i - 1], walk.proof);
    floor_ = kMinOfDeeper;
    if (walk.is_on_two_stacks) [[unlikely]]
      count_ = 0;
    return name;
  }

  // Forgets the `dropped` outermost frames, and moves the `left` ones after them up. During this nothing is remembered, since a
  // signal handler may abandon it in the middle.
  void keep_inner(uint32_t dropped, uint32_t left) {
    count_ = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < left; ++i) {
      Remembered& frame = remembered_[i];
      words_[i] = words_[i + dropped];
      frame = remembered_[i + dropped];
      frame.set_fp_user(frame.fp_user > dropped ? frame.fp_user - dropped : 0);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
  }

  // Names as many frames as were asked for, and remembers some more.
  template <typename Tables, typename Cpu>
  [[gnu::noinline, gnu::cold]] Name finish_asked(Tables& tables, Walk<Cpu>& walk, uint32_t kept) {
    const uint32_t asked = tables.depth_limit().frames;
    const uint32_t frames = kept + walk.fresh_count;
    if (asked == 1 || (frames > capacity_ && !reserve(frames))) return finish_limited(tables, walk, kept);
    if (kept == 0) {
      end_ = walk.at.end;
      floor_ = end_ == wire::StackEnd::kDepthLimit ? asked - 1 : 0;
      if (floor_ > 0) walk.proof = EndProof::kFrames;
    }
    const bool has_names = has_outer_name(tables, kept, walk.fresh_count);
    const Name name = name_with_fresh(tables, kept, walk.fresh_count);
    self().note_walk(walk);
    keep_spare(asked, kept, walk.fresh_count);
    Name outer = count_ > 0 ? remembered_[count_ - 1].name : tables.root(end_);
    for (uint32_t i = walk.fresh_count; i > 0; --i) {
      Fresh& fresh = fresh_[i - 1];
      if (!has_names) fresh.name = outer = self().identify(outer, fresh.code);
      remember(fresh, walk.proof);
    }
    if (walk.is_on_two_stacks || (kept == 0 && walk.proof == EndProof::kNone)) [[unlikely]]
      count_ = 0;
    return name;
  }

  // Whether the stack that fresh frames make on the outermost `kept` ones is the one that these make, with more frames on top.
  template <typename Tables>
  [[nodiscard]] bool has_outer_name(const Tables& tables, uint32_t kept, uint32_t fresh_count) {
    const DepthLimit limit = tables.depth_limit();
    if (!limit.is_asked) [[likely]]
      return true;
    return kept + fresh_count <= limit.frames && (kept == 0 || self().is_name(remembered_[kept - 1].name));
  }

  // Of the last stack's `kept` outermost frames, under `fresh_count` others, forgets those that are too far out.
  void keep_spare(uint32_t asked, uint32_t kept, uint32_t fresh_count) {
    const uint32_t frames = kept + fresh_count;
    if (frames <= asked + 2 * spare_frames(asked)) {
      count_ = kept;
      return;
    }
    const uint32_t wanted = asked + spare_frames(asked);
    const uint32_t kept_used = fresh_count < wanted ? wanted - fresh_count : 0;
    const uint32_t left = kept_used < kept ? kept_used : kept;
    keep_inner(kept - left, left);
    count_ = left;
    end_ = wire::StackEnd::kDepthLimit;
    floor_ = asked - 1;
  }

  // name_with_fresh() by all its frames, at most as many as were asked for: the codes of the kept ones are put behind the fresh ones.
  template <typename Tables>
  [[gnu::noinline]] Name name_by_codes(Tables& tables, uint32_t kept, uint32_t fresh_count) {
    const uint32_t asked = tables.depth_limit().frames;
    const uint32_t frames = kept + fresh_count;
    const uint32_t named = frames < asked ? frames : asked;
    for (uint32_t i = fresh_count; i < named; ++i) fresh_[i].code = remembered_[frames - 1 - i].code;
    return tables.add_all(tables.root(frames > asked ? wire::StackEnd::kDepthLimit : end_), fresh_, named);
  }

  // No memory, or only one frame: keeps only the innermost frames, and remembers no more than it did.
  template <typename Tables, typename Cpu>
  [[gnu::noinline]] Name finish_limited(Tables& tables, const Walk<Cpu>& walk, uint32_t kept) {
    const uint32_t limit = tables.depth_limit().is_asked ? tables.depth_limit().frames : kCutTo;
    const uint32_t fresh_used = walk.fresh_count < limit ? walk.fresh_count : limit;
    const uint32_t kept_used = kept < limit - fresh_used ? kept : limit - fresh_used;
    const bool is_all = walk.fresh_count == fresh_used && kept == kept_used && floor_ == 0;
    Name name = tables.root(is_all && kept == 0 ? walk.at.end : wire::StackEnd::kDepthLimit);
    for (uint32_t i = kept - kept_used; i < kept; ++i) name = tables.add(name, remembered_[i].code);
    for (uint32_t i = fresh_used; i > 0; --i) name = tables.add(name, fresh_[i - 1].code);
    // A stack within the limit can be remembered; here only the untouched part of it.
    count_ = walk.is_on_two_stacks ? 0 : kept;
    return name;
  }

  // Reserves room for that many frames in all three lists. False: over the limit, or no memory.
  [[gnu::noinline]] bool reserve(uint32_t frames) {
    if (frames > kMaxFrames) return false;
    uint32_t capacity = capacity_ * 4;
    if (capacity_ < kUsualFrames) capacity = frames <= kFewFrames ? kFewFrames : kUsualFrames;
    while (capacity < frames) capacity *= 2;
    if (capacity > kMaxFrames) capacity = kMaxFrames;
    auto* words = static_cast<Word*>(Parts::Lists::take(capacity, capacity * kEach));
    if (words == nullptr) return false;
    auto* remembered = reinterpret_cast<Remembered*>(words + capacity);
    auto* fresh = reinterpret_cast<Fresh*>(remembered + capacity);
    if (capacity_ > 0) {
      __builtin_memcpy(words, words_, count_ * sizeof(Word));
      __builtin_memcpy(remembered, remembered_, count_ * sizeof(Remembered));
      __builtin_memcpy(fresh, fresh_, capacity_ * sizeof(Fresh));
    }
    // In an order that leaves a usable state if a signal handler abandons this in the middle.
    Word* const old = words_;
    words_ = words;
    remembered_ = remembered;
    fresh_ = fresh;
    const uint32_t old_capacity = capacity_;
    capacity_ = capacity;
    if (old_capacity > 0) Parts::Lists::give_back(old, old_capacity, old_capacity * kEach);
    return true;
  }
};

}  // namespace heaptap::unwind
