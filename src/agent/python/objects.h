// CPython's objects as the agent reads them: frames, code, texts. The calling thread holds the interpreter's lock, so that its frames and
// what they refer to stay; what only a name needs is read once its type and its pages were checked.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/kernel.h"
#include "agent/core/string.h"
#include "agent/python/layout.h"

namespace heaptap::agent::python {

template <typename T>
T load(uintptr_t address) {
  T value;
  copy_bytes(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

constexpr bool may_be_object(uintptr_t address) {
  constexpr uintptr_t kLowest = 65536;
  constexpr uintptr_t kHighest = uintptr_t{1} << 47;
  return address >= kLowest && address < kHighest && address % sizeof(uintptr_t) == 0;
}

// Fields of each object: a count of references, the type, and for those of variable size a length.
inline constexpr uintptr_t kType = 8;
inline constexpr uintptr_t kLength = 16;
inline constexpr uintptr_t kBytesData = 32;  // of a bytes object
inline constexpr uintptr_t kTypeName = 24;   // of a type object

inline bool may_read(uintptr_t address) { return !may_call() || kernel::is_readable(address & ~uintptr_t{7}); }

// A built-in type, known by its name: the symbol of a type may lead to a copy of it (R_X86_64_COPY).
class BuiltinType {
 public:
  // Whether that object is there and of this type.
  bool has(uintptr_t object, const char* name) {
    if (!may_be_object(object) || !may_read(object + kType)) return false;
    const auto type = load<uintptr_t>(object + kType);
    if (type == known_.load(std::memory_order_relaxed)) return true;
    if (!may_be_object(type) || !may_read(type + kTypeName)) return false;
    const auto* const own_name = reinterpret_cast<const char*>(load<uintptr_t>(type + kTypeName));
    if (own_name == nullptr || !may_read(reinterpret_cast<uintptr_t>(own_name)) || !equal(own_name, name)) return false;
    known_.store(type, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<uintptr_t> known_{0};
};

// A step of the calling thread's stack, from its innermost frame outwards.
struct Step {
  enum class Kind : uint8_t { kFrame, kEntry, kEnd };
  Kind kind;           // kEntry: the frames so far were run by one call of the evaluation function
  uintptr_t code;      // of a frame
  uintptr_t position;  // as it is in the frame
};

// Of deeper chains, which would cost each allocation as much, no frames are recorded.
inline constexpr uint32_t kMaxChain = 4096;

class Frames {
 public:
  Frames(const Layout& layout, uintptr_t thread_state) : layout_(layout) {
    const auto held = load<uintptr_t>(thread_state + layout.state_frame);
    frame_ = layout.has_holder && may_be_object(held) ? load<uintptr_t>(held + layout.holder_frame) : held;
  }

  // Whether the chain was left before its end.
  [[nodiscard]] bool is_cut() const { return count_ > kMaxChain; }

  Step next() {
    if (owes_entry_) {
      owes_entry_ = false;
      return {Step::Kind::kEntry, 0, 0};
    }
    if (!may_be_object(frame_) || ++count_ > kMaxChain) return {Step::Kind::kEnd, 0, 0};
    const uintptr_t frame = frame_;
    frame_ = load<uintptr_t>(frame + layout_.frame_previous);
    const uint8_t mark = layout_.frame_mark != 0 ? load<uint8_t>(frame + layout_.frame_mark) : 0;
    if (layout_.entry_mark == EntryMark::kShim && mark == kOwnedByEvaluation) return {Step::Kind::kEntry, 0, 0};
    owes_entry_ = layout_.entry_mark == EntryMark::kEachFrame || (layout_.entry_mark == EntryMark::kFlag && mark != 0);
    const uintptr_t position = layout_.bytes_per_index != 0
                                   ? static_cast<uintptr_t>(intptr_t{load<int32_t>(frame + layout_.frame_position)})
                                   : load<uintptr_t>(frame + layout_.frame_position);
    return {Step::Kind::kFrame, load<uintptr_t>(frame + layout_.frame_code), position};
  }

 private:
  const Layout& layout_;
  uintptr_t frame_;
  uint32_t count_ = 0;
  bool owes_entry_ = false;
};

// Characters of a text, as UTF-8.
class Text {
 public:
  static bool is_ascii(uintptr_t object) { return (load<uint32_t>(object + kState) >> 6 & 1u) != 0; }

  // Not readable: empty.
  Text(const Layout& layout, uintptr_t object, BuiltinType& type) {
    if (!type.has(object, "str")) return;
    const auto state = load<uint32_t>(object + kState);
    const bool is_compact = (state >> 5 & 1u) != 0;
    width_ = state >> 2 & 7u;
    const auto length = load<uintptr_t>(object + kLength);
    constexpr uintptr_t kMaxLength = 32768;
    if (!is_compact || (width_ != 1 && width_ != 2 && width_ != 4) || length > kMaxLength) return;
    data_ = object + (is_ascii(object) ? layout.text_ascii : layout.text_other);
    if (!may_read(data_ + length * width_)) return;
    length_ = length;
    is_there_ = true;
  }

  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] bool is_empty() const { return at_ == length_; }

  // The next characters, as many as fit, and a zero byte. Zero bytes and half surrogates are shown as question marks.
  void copy_next(char* to, size_t room) {
    constexpr size_t kMaxCharacterBytes = 4;
    char* const end = to + room - 1;
    for (; at_ < length_ && static_cast<size_t>(end - to) >= kMaxCharacterBytes; ++at_) {
      to = append_character(to, character(at_));
    }
    *to = '\0';
  }

 private:
  static constexpr uintptr_t kState = 32;

  [[nodiscard]] uint32_t character(uintptr_t index) const {
    if (width_ == 1) return load<uint8_t>(data_ + index);
    if (width_ == 2) return load<uint16_t>(data_ + 2 * index);
    return load<uint32_t>(data_ + 4 * index);
  }

  static char* append_character(char* to, uint32_t value) {
    if (value == 0 || (value >= 0xd800 && value < 0xe000) || value > 0x10ffff) value = '?';
    const auto byte = [&to](uint32_t bits) { *to++ = static_cast<char>(bits); };
    const auto rest = [&](unsigned shift) { byte(0x80u | (value >> shift & 0x3fu)); };
    if (value < 0x80) {
      byte(value);
    } else if (value < 0x800) {
      byte(0xc0u | value >> 6);
      rest(0);
    } else if (value < 0x10000) {
      byte(0xe0u | value >> 12);
      rest(6);
      rest(0);
    } else {
      byte(0xf0u | value >> 18);
      rest(12);
      rest(6);
      rest(0);
    }
    return to;
  }

  uintptr_t data_ = 0;
  uintptr_t length_ = 0;
  uintptr_t at_ = 0;
  uint32_t width_ = 1;
  bool is_there_ = false;
};

}  // namespace heaptap::agent::python
