// The last stack of one thread of a traced process.
#pragma once
#include <cstdint>
#include <cstdlib>

#include "common/unwind/last_stack.h"

namespace heaptap::tracer {

struct HeapLists {
  static void* take(uint32_t /*frames*/, size_t bytes) { return std::malloc(bytes); }
  static void give_back(void* lists, uint32_t /*frames*/, size_t /*bytes*/) { std::free(lists); }
};

// Shared by all CPUs.
struct LastStackParts {
  using Name = uint32_t;  // the stack's number
  using Code = uint64_t;  // wire::CodeEntry
  using Lists = HeapLists;
  static constexpr bool kKeepsStackPointer = true;
};

class LastStack final : unwind::LastStack<LastStack, LastStackParts> {
 public:
  LastStack() = default;
  ~LastStack() { std::free(words_); }
  LastStack(const LastStack&) = delete;
  LastStack& operator=(const LastStack&) = delete;

  // Place of the outermost frame's return address; 0: nothing remembered.
  [[nodiscard]] uint64_t outermost_slot() const { return count_ > 0 ? words_[0].slot : 0; }

  // `changes`: incremented when remembered data becomes invalid.
  void note_changes(uint64_t changes) {
    if (changes_ != changes) count_ = 0;
    changes_ = changes;
  }

  // The number of the stack whose innermost frame is `start`.
  template <typename Memory, typename Code>
  uint32_t walk(Memory& memory, Code& code, const unwind::Frame& start) {
    unwind::Walk<typename Code::Cpu> walk{.at = {.frame = {start}}};
    return BaseStack::walk(memory, code, walk);
  }

 private:
  using BaseStack = unwind::LastStack<LastStack, LastStackParts>;
  friend BaseStack;

  uint64_t changes_ = 0;
};

}  // namespace heaptap::tracer
