// Walks the stacks of a process that stands still, from outside, as src/agent/core/call_stack.h does it from inside: towards the
// thread's first frame, until the rest is proven to be what it was at the thread's last stack. `Cpu` is an arch's
// TracedUnwinding.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "tracer/frame_rules.h"
#include "tracer/last_stack.h"
#include "tracer/log_writer.h"
#include "tracer/stack_copy.h"

namespace heaptap::tracer {

template <typename Cpu>
class StackWalker {
 public:
  static constexpr uint32_t kMaxFrames = 131072;
  static constexpr uint32_t kFramesOfDeeper = 1024;  // what is kept of a stack that is deeper than even that
  // A frame pointer in code without CFI that points further away isn't followed: it is a fiber's, from where its context was made.
  static constexpr uint64_t kLargestFrame = 8u << 20;

  StackWalker(const arch::Cpu& cpu, process::TracedMemory& memory, const LoadedObjects& objects, LogWriter& log,
              uint32_t depth)
      : objects_(objects),
        log_(log),
        depth_limit_(depth > 0 && depth < kMaxFrames ? depth : kMaxFrames),
        is_swapped_(cpu.is_big_endian() != (std::endian::native == std::endian::big)),
        rules_(cpu, memory, objects),
        stack_(memory) {}

  void object_came(uint32_t index, uint32_t generation) {
    rules_.object_came(index, generation);
    ++changes_;
  }
  void object_went(uint32_t index) {
    rules_.object_went(index);
    ++changes_;
  }

  // The number of the stack of `thread` whose innermost frame is `start`.
  uint32_t walk(pid_t thread, const unwind::WalkFrame& start, LastStack& last) {
    if (last.changes != changes_) last.frames.clear();
    last.changes = changes_;
    last_ = &last;
    frame_ = start;
    frame_.key &= wire::kCodeAddressMask;
    origin_ = 0;
    fresh_.clear();
    candidates_ = unverified_ = count();
    crossed_signal_ = false;
    is_proven_ = false;
    end_ = wire::StackEnd::kComplete;
    lowest_ = frame_.slot != 0 ? frame_.slot : frame_.sp;
    const uint64_t outermost = last.frames.empty() ? 0 : last.frames.front().frame.slot + kWord;
    stack_.begin(thread, lowest_, outermost);
    while (!meets_last()) {
      if (fresh_.size() > depth_limit_) [[unlikely]] {
        end_ = wire::StackEnd::kDepthLimit;
        return finish(0);
      }
      const FrameRule& rule = rules_.find(frame_.key);
      fresh_.push_back({frame_, origin_, 0, rule.code});
      if (!advance(rule)) return finish(0);
    }
    rejoin(candidates_ - 1);
    return finish(candidates_);
  }

 private:
  using Word = typename Cpu::Word;
  static constexpr uint64_t kWord = sizeof(Word);
  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(last_->frames.size()); }

  // Walks go upwards: what is below the first frame is refused.
  bool load(uint64_t address, uint64_t& value) {
    if (address < lowest_ || address % kWord != 0) return false;
    const uint8_t* bytes = stack_.at(address, kWord);
    if (bytes == nullptr) return false;
    Word word;
    __builtin_memcpy(&word, bytes, sizeof(word));
    if (is_swapped_)
      word = kWord == 8 ? static_cast<Word>(__builtin_bswap64(word)) : __builtin_bswap32(static_cast<uint32_t>(word));
    value = word;
    return true;
  }
  auto loader() {
    return [this](uint64_t address, uint64_t& value) { return load(address, value); };
  }
  bool still_holds(uint64_t address, uint64_t value) {
    uint64_t now;
    return load(address, now) && now == value;
  }

  // Whether the walk's frame is one of the last stack's and everything further out is as it was.
  bool meets_last() {
    const std::vector<KnownFrame>& frames = last_->frames;
    while (candidates_ > 0 && frames[candidates_ - 1].frame.slot < frame_.slot) --candidates_;
    if (candidates_ == 0 || candidates_ > unverified_) return false;
    const uint32_t index = candidates_ - 1;
    const KnownFrame& known = frames[index];
    if (known.frame.slot != frame_.slot || known.frame.key != frame_.key || known.frame.sp != frame_.sp) return false;
    if ((known.origin & kFramePointerMatters) != 0 &&
        (known.frame.fp != frame_.fp || known.frame.fp_slot != frame_.fp_slot)) {
      return false;
    }
    const uint32_t unchanged = first_unchanged(index);
    if (unchanged == 0) return true;
    unverified_ = unchanged;  // the frames from there inwards are the same, but not what called them
    return false;
  }

  // The outermost frame from which inwards, up to `index`, the stack's memory is as it was. 0: all of it.
  uint32_t first_unchanged(uint32_t index) {
    uint32_t at = index;
    while (at > 0 && is_unchanged(at - 1)) --at;
    return at;
  }

  bool is_unchanged(uint32_t index) {
    const KnownFrame& known = last_->frames[index];
    uint64_t key = 0;
    if (!load(known.frame.slot, key) || (key & wire::kCodeAddressMask) != known.frame.key) return false;
    if ((known.origin & unwind::kByFramePointer) == 0) return true;
    if (known.frame.cfa_slot != 0 && !still_holds(known.frame.cfa_slot, known.frame.sp)) return false;
    const unwind::WalkFrame& inner = last_->frames[index + 1].frame;
    return inner.fp_slot == 0 || still_holds(inner.fp_slot, inner.fp);
  }

  bool stop(wire::StackEnd end) {
    end_ = end;
    return false;
  }

  // Moves the walk to the next frame outwards. False: there is none; end_ says why.
  bool advance(const FrameRule& rule) {
    switch (rule.row.kind) {
      case unwind::RowKind::kStackOffset:
      case unwind::RowKind::kFrameOffset:
      case unwind::RowKind::kFrameIndirect:
        return step(rule.row);
      case unwind::RowKind::kSignal:
        return step_over_signal(*rule.signal);
      case unwind::RowKind::kEnd:
        is_proven_ = true;
        return stop(wire::StackEnd::kComplete);
      case unwind::RowKind::kNoTable:
        return step_by_frame_pointer();
      default:
        is_proven_ = true;
        return stop(wire::StackEnd::kUnsupportedRule);
    }
  }

  bool step(const unwind::Row& row) {
    if (!unwind::step_by_row(row, kWord, loader(), frame_, origin_)) return stop(wire::StackEnd::kUnreadable);
    // Zero is the ABI's mark for the first frame of code without CFI for it.
    if (frame_.key == 0) return stop(wire::StackEnd::kComplete);
    frame_.key &= wire::kCodeAddressMask;
    return true;
  }

  // Code without CFI: its frame pointer may lead on, if what it leads to is a return address into known code.
  bool step_by_frame_pointer() {
    const uint64_t at = frame_.fp;
    uint64_t fp = 0;
    uint64_t key = 0;
    if (at < frame_.sp || at - frame_.sp > kLargestFrame || !load(at, fp) || !load(at + kWord, key))
      return stop(wire::StackEnd::kNoUnwindTable);
    key &= wire::kCodeAddressMask;
    if (objects_.find(key) < 0) return stop(wire::StackEnd::kNoUnwindTable);
    frame_ = {.slot = at + kWord, .key = key, .sp = at + 2 * kWord, .fp = fp, .fp_slot = at, .cfa_slot = 0};
    origin_ = unwind::kByFramePointer | unwind::kLoadsFramePointer;
    return true;
  }

  bool step_over_signal(const arch::SignalTrampoline& signal) {
    if (!unwind::step_over_signal(signal, loader(), frame_)) return stop(wire::StackEnd::kUnreadable);
    frame_.key = (frame_.key & wire::kCodeAddressMask) | wire::kCodeExact;
    origin_ = unwind::kLoadsFramePointer;
    crossed_signal_ = true;
    candidates_ = unverified_ = count();
    lowest_ = frame_.sp - std::min(Cpu::kRedZoneBytes, frame_.sp);
    return true;
  }

  // The walk met the last stack at `index`: that frame may have been found in another way this time.
  void rejoin(uint32_t index) {
    KnownFrame& met = last_->frames[index];
    met.frame = frame_;
    met.origin = (met.origin & kFramePointerMatters) | origin_;
  }

  // Keeps the last stack's `kept` outermost frames, puts the fresh ones on them, and gives the number of the whole.
  uint32_t finish(uint32_t kept) {
    if (end_ == wire::StackEnd::kDepthLimit || kept + fresh_.size() > depth_limit_) return finish_limited(kept);
    std::vector<KnownFrame>& frames = last_->frames;
    uint32_t number = kept > 0 ? frames[kept - 1].number : LogWriter::root(end_);
    frames.resize(kept);
    for (size_t i = fresh_.size(); i > 0; --i) {
      KnownFrame& fresh = fresh_[i - 1];
      fresh.number = number = log_.intern(number, fresh.code);
      remember(fresh);
    }
    // Frames on two stacks aren't in the order of their slots. Where a walk ended because of other memory than the frames', or
    // of a frame pointer, nothing of what is compared would prove that it ends there again.
    if (crossed_signal_ || (kept == 0 && !is_proven_)) frames.clear();
    return number;
  }

  void remember(KnownFrame fresh) {
    std::vector<KnownFrame>& frames = last_->frames;
    if (!frames.empty()) {
      const uint32_t outer = frames.back().origin;
      const bool matters = (outer & unwind::kByFramePointer) != 0 ||
                           ((outer & unwind::kLoadsFramePointer) == 0 && (outer & kFramePointerMatters) != 0);
      if (matters) fresh.origin |= kFramePointerMatters;
    }
    frames.push_back(fresh);
  }

  // Deeper than asked for: only the innermost frames. What was kept is of whole stacks, so the fresh ones aren't remembered.
  uint32_t finish_limited(uint32_t kept) {
    std::vector<KnownFrame>& frames = last_->frames;
    const uint32_t limit = depth_limit_ < kMaxFrames ? depth_limit_ : kFramesOfDeeper;
    const uint32_t fresh_used = std::min(static_cast<uint32_t>(fresh_.size()), limit);
    const uint32_t kept_used = std::min(kept, limit - fresh_used);
    uint32_t number = LogWriter::root(wire::StackEnd::kDepthLimit);
    for (uint32_t i = kept - kept_used; i < kept; ++i) number = log_.intern(number, frames[i].code);
    for (uint32_t i = fresh_used; i > 0; --i) number = log_.intern(number, fresh_[i - 1].code);
    frames.resize(crossed_signal_ ? 0 : kept);
    return number;
  }

  const LoadedObjects& objects_;
  LogWriter& log_;
  const uint32_t depth_limit_;
  const bool is_swapped_;
  FrameRules<Cpu> rules_;
  StackCopy stack_;
  uint64_t changes_ = 1;  // counted up when objects came or went

  // Of the walk that is being made.
  LastStack* last_ = nullptr;
  unwind::WalkFrame frame_;
  uint32_t origin_ = 0;
  std::vector<KnownFrame> fresh_;  // innermost first
  uint32_t candidates_ = 0;        // remembered frames [0, candidates_) may still be found further out
  uint32_t unverified_ = 0;        // of these, from this index on it is known that something further out changed
  bool crossed_signal_ = false;
  bool is_proven_ = false;  // the frames themselves say that there are no more
  wire::StackEnd end_ = wire::StackEnd::kComplete;
  uint64_t lowest_ = 0;  // nothing below is read
};

}  // namespace heaptap::tracer
