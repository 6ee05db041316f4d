// The ledger's rules once more, slow and plain: the property test compares the Ledger with this.
#pragma once
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "common/model/event.h"
#include "common/model/tables.h"

namespace heaptap::test {

struct ReferenceTally {
  uint64_t allocations = 0;
  uint64_t releases = 0;
  uint64_t allocated_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t temporary = 0;
  uint64_t mismatched = 0;
  uint64_t lifetime_ns = 0;
  std::set<uint32_t> threads;
};

class ReferenceLedger {
 public:
  struct Block {
    uint32_t site;
    uint64_t size_bytes;
    uint64_t time;
  };

  // `events` are in order, each with its time; what was undone is taken out first, since it never happened.
  struct Timed {
    model::Event event;
    uint64_t time;
  };

  void replay(std::vector<Timed> events, const model::Tables& tables) {
    for (const Timed& timed : without_undone(std::move(events), tables)) {
      apply(timed.event, timed.time, tables);
    }
  }

  std::map<uint32_t, ReferenceTally> tallies;
  std::map<uint64_t, Block> blocks;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> sizes;  // allocations, live
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;
  uint64_t peak_blocks = 0;
  uint64_t temporary = 0;
  uint64_t mismatched = 0;
  uint64_t unknown = 0;

 private:
  static std::vector<Timed> without_undone(std::vector<Timed> events, const model::Tables& tables) {
    std::map<uint32_t, size_t> last;  // by thread
    std::set<size_t> gone;
    for (size_t index = 0; index < events.size(); ++index) {
      const model::Event& event = events[index].event;
      if (tables.sites[event.site].kind == model::EventKind::kUndo) {
        gone.insert(index);
        gone.insert(last[event.thread]);
      }
      last[event.thread] = index;
    }
    std::vector<Timed> kept;
    for (size_t index = 0; index < events.size(); ++index) {
      if (!gone.contains(index)) kept.push_back(events[index]);
    }
    return kept;
  }

  void apply(const model::Event& event, uint64_t time, const model::Tables& tables) {
    const model::Site& site = tables.sites[event.site];
    if (site.kind == model::EventKind::kAllocate) {
      blocks[++number_] = {event.site, event.size_or_block, time};
      last_block_[event.thread] = number_;
      ReferenceTally& tally = tallies[event.site];
      ++tally.allocations;
      tally.allocated_bytes += event.size_or_block;
      tally.live_bytes += event.size_or_block;
      tally.threads.insert(event.thread);
      ++sizes[event.size_or_block].first;
      ++sizes[event.size_or_block].second;
      live_bytes += event.size_or_block;
      peak_blocks = std::max<uint64_t>(peak_blocks, blocks.size());
      if (live_bytes > peak_bytes) {
        peak_bytes = live_bytes;
        for (auto& [id, each] : tallies) each.peak_bytes = each.live_bytes;
      }
    } else if (event.size_or_block == model::kUnknownBlock) {
      ++unknown;
    } else {
      release(event, time, tables);
    }
  }

  void release(const model::Event& event, uint64_t time, const model::Tables& tables) {
    const Block block = blocks.at(event.size_or_block);
    blocks.erase(event.size_or_block);
    ReferenceTally& tally = tallies[block.site];
    ++tally.releases;
    tally.live_bytes -= block.size_bytes;
    tally.lifetime_ns += time - block.time;
    live_bytes -= block.size_bytes;
    --sizes[block.size_bytes].second;
    if (last_block_[event.thread] == event.size_or_block) {
      ++tally.temporary;
      ++temporary;
    }
    const auto family = [&](uint32_t id) { return wire::facts_of(tables.sites[id].function).family; };
    if (!wire::match(family(event.site), family(block.site))) {
      ++tally.mismatched;
      ++mismatched;
    }
  }

  uint64_t number_ = 0;
  std::map<uint32_t, uint64_t> last_block_;
};

}  // namespace heaptap::test
