// Cache of late functions: which function each loaded object is bound to for a name, by the page of the caller, and by the
// object. Lock-free reads and writes from any thread, also in forked children, where a writing thread may no longer exist.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/code_extent.h"
#include "common/wire/atomic_64.h"

namespace heaptap::agent {

struct LateFunction {
  void* function;
  bool standard;        // the C++ library's own, as are all listed functions that it calls
  bool is_late = true;  // no object defined it when the program was started: it depends on the caller
};

struct LateAnswer {
  LateFunction function;
  CodeExtent object;  // that contains the caller; no bytes: unknown
};

// A value with its key, in two words that two threads may write at once: halves of two values don't match. The value is spread over all bits
// first: values and keys are alike in form, so a plain XOR of two values may be that of two keys.
constexpr uint64_t key_with_value(uint64_t key, uint64_t value) { return key ^ value * 0x9e3779b97f4a7c15u; }

// `kFunctions`: number of functions, numbered from 0.
template <uint32_t kFunctions>
class LateTable {
 public:
  // The result of search(), or the cached one of this `generation`, which is incremented when objects are unloaded.
  template <typename Search>
  LateFunction find(uint32_t function, uintptr_t caller, uint64_t generation, const Search& search) {
    PageEntry& page = pages_[index_of(function, caller)];
    const uint64_t key = key_of(function, caller, generation);
    const uint64_t value = page.value.load(std::memory_order_relaxed);
    const bool is_known = page.mixed.load(std::memory_order_relaxed) == key_with_value(key, value);
    if (is_known && value >> kGenerationShift == (generation >> kKeyGenerationBits & 0xffff)) [[likely]]
      return function_of(value);
    return find_by_object(function, caller, generation, page, key, search);
  }

  // Adds the binding of an object before it asks.
  void learn(uint32_t function, uint64_t generation, const LateAnswer& answer) {
    const uint64_t value = value_of(answer.function);
    if (value == kUnknown || answer.object.bytes == 0) return;
    if (known_to_object(function, answer.object.start, generation) != kUnknown) return;
    remember(function, answer.object, generation, value);
  }

 private:
  static_assert(kFunctions <= 64);
  static constexpr uint32_t kPages = 1u << 13;
  static constexpr uint32_t kObjects = 1024;
  static constexpr uint32_t kPageShift = 12;
  static constexpr uint32_t kAddressBits = 47;
  // A key is [page 35 | function 6 | generation 23], a value [generation's next 16 | standard | function 47].
  static constexpr uint32_t kKeyGenerationBits = 23;
  static constexpr uint32_t kGenerationShift = 48;
  static constexpr uint64_t kStandard = uint64_t{1} << kAddressBits;
  static constexpr uint64_t kUnknown = ~uint64_t{0};

  struct PageEntry {
    wire::Atomic64 mixed;  // key_with_value()
    wire::Atomic64 value;
  };
  // Sequence-locked against the writer: `generation` is 0 during a write, else one more than the table's.
  struct Object {
    wire::Atomic64 generation;
    std::atomic<uintptr_t> start;
    std::atomic<uintptr_t> bytes;
    wire::Atomic64 functions[kFunctions];
  };

  static uint32_t index_of(uint32_t function, uintptr_t caller) {
    const uint64_t hash = ((caller >> kPageShift) << 6 | function) * 0x9e3779b97f4a7c15;
    return static_cast<uint32_t>(hash >> 51) & (kPages - 1);
  }
  static uint64_t key_of(uint32_t function, uintptr_t caller, uint64_t generation) {
    const uint64_t low = generation & ((uint64_t{1} << kKeyGenerationBits) - 1);
    return (uint64_t{caller} >> kPageShift << 6 | function) << kKeyGenerationBits | low;
  }
  // kUnknown: the value doesn't fit.
  static uint64_t value_of(const LateFunction& function) {
    const uint64_t address = reinterpret_cast<uintptr_t>(function.function);
    return address >> kAddressBits != 0 ? kUnknown : address | (function.standard ? kStandard : 0);
  }
  static LateFunction function_of(uint64_t value) {
    return {reinterpret_cast<void*>(value & (kStandard - 1)), (value & kStandard) != 0};
  }

  template <typename Search>
  __attribute__((noinline)) LateFunction find_by_object(uint32_t function, uintptr_t caller, uint64_t generation,
                                                        PageEntry& page, uint64_t key, const Search& search) {
    uint64_t value = known_to_object(function, caller, generation);
    if (value == kUnknown) {
      const LateAnswer answer = search();
      value = value_of(answer.function);
      if (value == kUnknown || uint64_t{caller} >> kAddressBits != 0) return answer.function;
      if (answer.object.bytes != 0) remember(function, answer.object, generation, value);
    }
    const uint64_t whole = value | (generation >> kKeyGenerationBits & 0xffff) << kGenerationShift;
    page.value.store(whole, std::memory_order_relaxed);
    page.mixed.store(key_with_value(key, whole), std::memory_order_relaxed);
    return function_of(value);
  }

  [[nodiscard]] uint64_t known_to_object(uint32_t function, uintptr_t caller, uint64_t generation) const {
    const uint32_t count = count_.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; ++i) {
      const Object& object = objects_[i];
      if (object.generation.load(std::memory_order_acquire) != generation + 1) continue;
      // These pair with the releases in begin_object(): what is of a later generation shows in the last look.
      const CodeExtent extent{object.start.load(std::memory_order_acquire),
                              object.bytes.load(std::memory_order_acquire)};
      const uint64_t value = object.functions[function].load(std::memory_order_acquire);
      if (object.generation.load(std::memory_order_relaxed) == generation + 1 && extent.holds(caller)) return value;
    }
    return kUnknown;
  }

  // One writer at a time; what another thread can't write then is found by its page, or searched again.
  void remember(uint32_t function, const CodeExtent& extent, uint64_t generation, uint64_t value) {
    if (writing_.exchange(1, std::memory_order_acquire) != 0) return;
    if (Object* object = object_for(extent, generation)) {
      object->functions[function].store(value, std::memory_order_release);
    }
    writing_.store(0, std::memory_order_release);
  }

  // Null: there is no room, or other threads know of a later generation. An object's generations only grow: otherwise one that a reader has
  // begun to look at could come back with another content.
  Object* object_for(const CodeExtent& extent, uint64_t generation) {
    if (generation < generation_) return nullptr;
    uint32_t count = count_.load(std::memory_order_relaxed);
    if (generation_ != generation) {
      generation_ = generation;
      count = 0;
      count_.store(0, std::memory_order_relaxed);
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (objects_[i].start.load(std::memory_order_relaxed) == extent.start) return &objects_[i];
    }
    if (count == kObjects) return nullptr;
    begin_object(objects_[count], extent, generation);
    count_.store(count + 1, std::memory_order_release);
    return &objects_[count];
  }

  static void begin_object(Object& object, const CodeExtent& extent, uint64_t generation) {
    object.generation.store(0, std::memory_order_relaxed);
    object.start.store(extent.start, std::memory_order_release);
    object.bytes.store(extent.bytes, std::memory_order_release);
    for (wire::Atomic64& function : object.functions) function.store(kUnknown, std::memory_order_release);
    object.generation.store(generation + 1, std::memory_order_release);
  }

  PageEntry pages_[kPages]{};
  Object objects_[kObjects]{};
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> writing_{0};
  uint64_t generation_ = 0;  // of the objects; used by the writer
};

}  // namespace heaptap::agent
