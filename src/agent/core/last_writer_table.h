// Which stream recorded an event last at a place of memory: what lets a thread that isn't alone use a reading of the clock
// for several events. As long as no other stream had an event there since that reading, the order of the stream's own records
// says all about their order.
//
// It is exact because of the order of three things (docs/decisions/0003): a stream that isn't the owner makes itself the
// owner, then reads the clock, and any stream looks whether it is the owner when its event's time is settled. So an event's
// time is before the moment of that look, which is before the next owner took the place, which is before its reading.
#pragma once
#include <stdint.h>

#include <atomic>

#include "agent/core/kernel.h"

namespace heaptap::agent {

class LastWriterTable {
 public:
  using Owner = uint8_t;
  static constexpr Owner kNobody = 0;  // nor any of the streams for which there is no number

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
  // Seen by all threads before whatever follows.
  void take(uint64_t address, Owner owner) {
    Place* places = places_.load(std::memory_order_acquire);
    if (places != nobody_) places[index(address)].exchange(owner, std::memory_order_seq_cst);
  }

  // Where blocks go from thread to thread so often that owners cost more than they save: from now on all places are nobody's.
  // Who gets a block from a thread that knows it knows it, too.
  // (Written once: all threads look here at each event.)
  void give_up() {
    if (are_worthwhile()) places_.store(nobody_, std::memory_order_release);
  }
  [[nodiscard]] bool are_worthwhile() const { return places_.load(std::memory_order_relaxed) != nobody_; }

 private:
  using Place = std::atomic<Owner>;
  static constexpr uint32_t kPlaces = 1u << 18;
  static constexpr uint32_t kBytesOfPlace = 32;
  static constexpr uint32_t kArenaShift = 26;  // so large, and so aligned, are glibc's arenas

  static uint32_t index(uint64_t address) {
    return static_cast<uint32_t>(address / kBytesOfPlace + (address >> kArenaShift) * 0x9e37u) & (kPlaces - 1);
  }

  std::atomic<Place*> places_{nullptr};
  Place* nobody_ = nullptr;  // places that are never written to
};

}  // namespace heaptap::agent
