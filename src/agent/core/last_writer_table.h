// Last stream that recorded an event at each place of memory: with it a thread of a multi-threaded process can reuse a
// clock reading for several events. While no other stream had an event at that place since the reading, the order of
// the stream's own records determines their order.
//
// Why it is exact (docs/decisions/0003): a stream that isn't the owner first makes itself the owner, then reads the
// clock; each stream checks that it is the owner when it settles its event's time. So an event's time precedes that
// check, which precedes the next owner's taking of the place, which precedes that owner's reading.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/core/kernel.h"

namespace heaptap::agent {

class LastWriterTable {
 public:
  using Owner = uint8_t;
  static constexpr Owner kNobody = 0;  // nor one of the streams without a number

  // False: there is no memory for it.
  bool start() {
    if (nobody_ != nullptr) return true;
    auto* places = static_cast<Place*>(kernel::map_memory(2 * size_t{kPlaces}));
    if (places == nullptr) return false;
    nobody_ = places + kPlaces;
    places_.store(places, std::memory_order_release);
    return true;
  }
  static constexpr Owner owner_of(uint32_t slot) { return slot < UINT8_MAX ? static_cast<Owner>(slot + 1) : kNobody; }

  [[nodiscard]] __attribute__((always_inline)) bool is(uint64_t address, Owner owner) const {
    return places_.load(std::memory_order_acquire)[index(address)].load(std::memory_order_relaxed) == owner;
  }
  // Visible to all threads before whatever follows.
  void take(uint64_t address, Owner owner) {
    Place* places = places_.load(std::memory_order_acquire);
    if (places != nobody_) places[index(address)].exchange(owner, std::memory_order_seq_cst);
  }

  // For programs whose blocks move between threads so often that owners cost more than they save: from now on no place
  // has an owner. A thread that receives a block from a thread that knows this knows it too. (Written once: all threads
  // read this at each event.)
  void give_up() {
    if (are_worthwhile()) places_.store(nobody_, std::memory_order_release);
  }
  [[nodiscard]] bool are_worthwhile() const { return places_.load(std::memory_order_relaxed) != nobody_; }

 private:
  using Place = std::atomic<Owner>;
  static constexpr uint32_t kPlaces = 1u << 18;
  static constexpr uint32_t kBytesOfPlace = 32;
  static constexpr uint32_t kArenaShift = 26;  // size and alignment of glibc's arenas

  static uint32_t index(uint64_t address) {
    return static_cast<uint32_t>(address / kBytesOfPlace + (address >> kArenaShift) * 0x9e37u) & (kPlaces - 1);
  }

  std::atomic<Place*> places_{nullptr};
  Place* nobody_ = nullptr;  // places that are never written
};

}  // namespace heaptap::agent
