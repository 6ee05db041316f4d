// Live blocks tracked from a log's events, without a trace: for the half of a leak scan beside the program. Starts with
// the other machine's state, and arrives at the same blocks as the trace maker (EventCoder) with far less memory.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/log/log_reader.h"
#include "capture/stream/mapped_ranges.h"
#include "capture/stream/pool_blocks.h"
#include "common/base/address_range.h"
#include "common/model/heap_scan.h"

namespace heaptap::stream {

// Events whose meaning depends on events still to come. Rare and small.
struct Unsettled {
  // Until then (ticks) a release at this address belongs to an earlier block than the live one.
  struct Owed {
    uint64_t address;
    uint64_t until;
  };
  // Last released block of a thread, which is alive again if that release is undone. Of thread 0, which has no events:
  // a block that stays released.
  struct Released {
    uint32_t thread;
    uint64_t address;
    uint64_t size_bytes;
  };
  std::vector<Owed> owed;
  std::vector<Released> released;
};

class LiveBlocks {
 public:
  void add(uint64_t address, uint64_t size_bytes) { blocks_[address] = {.size_bytes = size_bytes, .is_alive = true}; }
  // Block of a pool reported by the program; size as wire::make_pooled_size.
  void add_pooled(uint64_t address, uint64_t pooled_size) { pooled_.add(address, pooled_size, 0); }
  // Released block, for released(); ignored if one at its address is known.
  void add_released(uint64_t address, uint64_t size_bytes) {
    blocks_.try_emplace(address, Block{.size_bytes = size_bytes, .is_alive = false});
  }
  void add_unsettled(const Unsettled& unsettled);
  [[nodiscard]] Unsettled unsettled() const;
  void apply(std::span<const wire::RawEvent> events) {
    for (const wire::RawEvent& event : events) apply(event);
  }
  void apply(const wire::RawEvent& event);

  // Ascending.
  [[nodiscard]] std::vector<model::ScannedBlock> alive() const;
  // Blocks whose release was seen, and whose address wasn't handed out since: ascending.
  [[nodiscard]] std::vector<base::AddressRange> released() const;
  // Blocks of pools, in the form of a scan.
  [[nodiscard]] std::vector<model::ScannedBlock> pooled() const;
  // The same with sizes as wire::make_pooled_size, for the other machine.
  [[nodiscard]] std::vector<model::ScannedBlock> pooled_to_tell() const;

 private:
  struct Block {
    uint64_t size_bytes = 0;
    bool is_alive = false;
  };
  bool was_owed(const wire::RawEvent& release);

  boost::unordered_flat_map<uint64_t, Block> blocks_;
  PoolBlocks pooled_;
  // By address: until when (ticks) a release belongs to an earlier block. Rare.
  boost::unordered_flat_map<uint64_t, std::vector<uint64_t>> owed_;
  boost::unordered_flat_map<uint32_t, uint64_t> last_released_;  // by thread
};

// Checksum of addresses and sizes in order, which must be equal on both machines.
uint32_t fingerprint(std::span<const model::ScannedBlock> blocks, std::span<const model::ScannedBlock> pooled);

}  // namespace heaptap::stream
