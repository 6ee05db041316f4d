// What is alive, by events as they come out of a log: for the half of a leak scan beside the program, where no trace is made. Begins
// with what the other machine knows, and comes to the same blocks as the trace's maker does (EventCoder) with far less memory.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "collect/mapped_ranges.h"
#include "collect/pool_blocks.h"
#include "log/log_reader.h"
#include "model/heap_scan.h"

namespace heaptap::collect {

// What is known of events that came, and of what they mean together with others that are yet to come. Rare, and little.
struct Unsettled {
  // Until then (ticks) a release at this address is that of an earlier block than what is alive there.
  struct Owed {
    uint64_t address;
    uint64_t until;
  };
  // The block that a thread released last, which is alive again if that is undone.
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
  // Of a pool that the program told of; its size as wire::make_pooled_size.
  void add_pooled(uint64_t address, uint64_t pooled_size) { pooled_.add(address, pooled_size, 0); }
  void add_unsettled(const Unsettled& unsettled);
  [[nodiscard]] Unsettled unsettled() const;
  void apply(std::span<const wire::RawEvent> events) {
    for (const wire::RawEvent& event : events) apply(event);
  }
  void apply(const wire::RawEvent& event);

  // Ascending.
  [[nodiscard]] std::vector<model::ScannedBlock> alive() const;
  // Blocks of pools, as a scan has them.
  [[nodiscard]] std::vector<model::ScannedBlock> pooled() const;
  // The same with sizes as wire::make_pooled_size, as they are told to the other machine.
  [[nodiscard]] std::vector<model::ScannedBlock> pooled_to_tell() const;

 private:
  struct Block {
    uint64_t size_bytes = 0;
    bool is_alive = false;
  };
  bool was_owed(const wire::RawEvent& release);

  boost::unordered_flat_map<uint64_t, Block> blocks_;
  PoolBlocks pooled_;
  // By address: until when (ticks) a release is that of a block that was there before. Rare.
  boost::unordered_flat_map<uint64_t, std::vector<uint64_t>> owed_;
  boost::unordered_flat_map<uint32_t, uint64_t> last_released_;  // by thread
};

// Of addresses and sizes in order: what both machines must have the same of.
uint32_t fingerprint(std::span<const model::ScannedBlock> blocks, std::span<const model::ScannedBlock> pooled);

}  // namespace heaptap::collect
