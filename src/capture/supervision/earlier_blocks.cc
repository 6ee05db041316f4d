#include "capture/supervision/earlier_blocks.h"

#include <algorithm>

#include "capture/elf/module_image.h"
#include "capture/scan/chunk_lives.h"

namespace heaptap::supervision {
namespace {

constexpr uint64_t kChunkHeadBytes = 16;
constexpr uint64_t kTopOfStackBytes = 1024;

// Words with which a thread that is inside of the allocator may name a chunk that it is about to hand out, or has just taken
// back: such a chunk is no block yet, or no more.
std::vector<uint64_t> words_at_hand(const process::StoppedProcess& stopped, const process::ProcessMemory& memory) {
  std::vector<uint64_t> words;
  for (const process::StoppedThread& thread : stopped.threads()) {
    for (const wire::RootWord& word : thread.registers) words.push_back(word.value);
    const std::vector<uint64_t> top = memory.words({thread.stack_pointer, thread.stack_pointer + kTopOfStackBytes});
    words.insert(words.end(), top.begin(), top.end());
  }
  std::ranges::sort(words);
  return words;
}

// Whether a range of these, which ascend, has a byte in common with `range`.
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
                                 process::ProcessMemory& memory,
                                 const std::function<model::SiteId(uint64_t)>& site_of) {
  scan::ChunksInUse chunks = scan::find_chunks_in_use(memory, elf::find_modules(memory));
  if (chunks.heaps.empty()) return {};
  const std::vector<uint64_t> at_hand = words_at_hand(stopped, memory);
  Overlaps overlaps_recorded;
  Overlaps overlaps_released;
  std::vector<model::ScannedBlock> earlier;
  uint64_t bytes = 0;
  for (const base::AddressRange& chunk : chunks.blocks) {
    if (overlaps_recorded(chunk, recorded.blocks, range_of_block)) continue;
    // Its release was seen, and no allocation since: the call is under way.
    if (overlaps_released(chunk, recorded.released, range_itself)) continue;
    if (std::ranges::binary_search(at_hand, chunk.begin - kChunkHeadBytes)) continue;
    const model::BlockNumber number = model::kFirstEarlierNumber + earlier.size();
    earlier.push_back({chunk.begin, chunk.size(), number, site_of(chunk.size()), 0});
    bytes += chunk.size();
  }
  const size_t count = earlier.size();
  const auto middle = recorded.blocks.insert(recorded.blocks.end(), earlier.begin(), earlier.end());
  std::ranges::inplace_merge(recorded.blocks, middle, {}, &model::ScannedBlock::address);
  return {.heaps = std::move(chunks.heaps),
          .note = model::Note{.kind = model::NoteKind::kEarlierBlocks, .numbers = {count, bytes}}};
}

}  // namespace heaptap::supervision
