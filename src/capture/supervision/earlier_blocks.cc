#include "capture/supervision/earlier_blocks.h"

#include <unistd.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <span>

#include "capture/elf/module_image.h"
#include "capture/process/memory_room.h"
#include "capture/scan/chunk_lives.h"
#include "common/base/address_ranges.h"

namespace heaptap::supervision {
namespace {

constexpr uint64_t kChunkHeadBytes = 16;
constexpr uint64_t kTopOfStackBytes = 1024;

// As many as a scan has memory for: an entry here, in the scan, in its index and in what it finds.
size_t max_blocks() {
  constexpr uint64_t kBytesEach = 200;
  constexpr uint64_t kMaxBlocks = 20'000'000;  // while the process is stopped
  return static_cast<size_t>(std::min(process::free_memory_for(getpid()).free_bytes / kBytesEach, kMaxBlocks));
}

// Words with which a thread that is inside of the allocator may name a chunk that it is about to hand out, or has just taken
// back: such a chunk is perhaps no block yet, or no more.
std::vector<uint64_t> words_at_hand(const process::StoppedProcess& stopped, const process::ProgramMemory& memory,
                                    std::span<const base::AddressRange> heaps) {
  std::vector<uint64_t> words;
  for (const process::StoppedThread& thread : stopped.threads()) {
    for (const wire::RootWord& word : thread.registers) words.push_back(word.value);
    const std::vector<uint64_t> top = memory.words({thread.stack_pointer, thread.stack_pointer + kTopOfStackBytes});
    words.insert(words.end(), top.begin(), top.end());
  }
  std::erase_if(words, [heaps](uint64_t word) { return !base::lies_in(word, heaps); });
  std::ranges::sort(words);
  return words;
}

// Search for a range of these, which ascend, that has a byte in common with `range`.
class Overlaps {
 public:
  bool operator()(const base::AddressRange& range, const auto& ranges, const auto& range_of) {
    while (next_ < ranges.size() && range_of(ranges[next_]).end <= range.begin) ++next_;
    return next_ < ranges.size() && range_of(ranges[next_]).begin < range.end;
  }

 private:
  size_t next_ = 0;
};

base::AddressRange range_of_block(const model::ScannedBlock& block) {
  return {block.address, block.address + std::max<uint64_t>(block.size_bytes, 1)};
}

base::AddressRange range_itself(const base::AddressRange& range) { return range; }

}  // namespace

EarlierBlocks add_earlier_blocks(Recorded& recorded, const process::StoppedProcess& stopped,
                                 process::ProgramMemory& memory,
                                 const std::function<model::SiteId(uint64_t)>& site_of) {
  scan::ChunksInUse chunks = scan::find_chunks_in_use(memory, elf::find_modules(memory), max_blocks());
  if (chunks.heaps.empty()) return {};
  const std::vector<uint64_t> at_hand = words_at_hand(stopped, memory, chunks.heaps);
  Overlaps overlaps_recorded;
  Overlaps overlaps_released;
  boost::unordered_flat_map<uint64_t, model::SiteId> sites;  // by size
  std::vector<base::AddressRange> doubtful;
  const size_t count_before = recorded.blocks.size();
  uint64_t bytes = 0;
  recorded.blocks.reserve(count_before + chunks.blocks.size());
  const auto is_recorded = [&](const base::AddressRange& chunk) {
    return overlaps_recorded(chunk, std::span(recorded.blocks).first(count_before), range_of_block);
  };
  for (const base::AddressRange& chunk : chunks.blocks) {
    if (is_recorded(chunk)) continue;
    // Its release was seen, and no allocation since: the call is under way. Or a thread works with it, or with its neighbour.
    if (overlaps_released(chunk, recorded.released, range_itself) ||
        std::ranges::binary_search(at_hand, chunk.begin - kChunkHeadBytes)) {
      doubtful.push_back(chunk);
      continue;
    }
    const auto [site, is_new] = sites.try_emplace(chunk.size());
    if (is_new) site->second = site_of(chunk.size());
    const model::BlockNumber number = model::kFirstEarlierNumber + (recorded.blocks.size() - count_before);
    recorded.blocks.push_back({chunk.begin, chunk.size(), number, site->second, 0});
    bytes += chunk.size();
  }
  const size_t count = recorded.blocks.size() - count_before;
  const auto middle = recorded.blocks.begin() + static_cast<ptrdiff_t>(count_before);
  std::inplace_merge(
      recorded.blocks.begin(), middle, recorded.blocks.end(),
      [](const model::ScannedBlock& one, const model::ScannedBlock& other) { return one.address < other.address; });
  return {.heaps = std::move(chunks.heaps),
          .doubtful = std::move(doubtful),
          .note = model::Note{.kind = model::NoteKind::kEarlierBlocks, .numbers = {count, bytes}}};
}

}  // namespace heaptap::supervision
