#include "record/ingest/block_map.h"

#include <algorithm>
#include <utility>

namespace heaptap::ingest {
namespace {

constexpr uint64_t address_in(uint64_t address) { return address & ((uint64_t{1} << 48) - 1); }

// First hash of the segment behind that one; 0: there is none.
constexpr uint64_t next_segment(uint64_t hash, unsigned depth) {
  if (depth == 0) return 0;
  const uint64_t width = uint64_t{1} << (64 - depth);
  return (hash & ~(width - 1)) + width;
}

constexpr size_t kBytesInTree = 80;  // a node, by malloc

}  // namespace

// Blocks of a segment, or of two, while it is built anew.
struct BlockMap::Contents {
  std::array<PackedBlock, kMaxPages * kPlacesInPage> blocks;  // not initialized: on the stack
  size_t count = 0;

  // (A constructor keeps `blocks` from being cleared.)
  Contents() {}  // NOLINT(modernize-use-equals-default)
  void take(const Segment& segment) {
    for_each_in(segment, [this](const PackedBlock& block) { blocks[count++] = block; });
  }
  [[nodiscard]] std::span<PackedBlock> all() { return std::span(blocks).first(count); }
  // Pages for them and, before it is full, a fifth more.
  [[nodiscard]] static size_t pages_for(size_t count) {
    return std::max<size_t>(1, (count * 3 / 2 + kPlacesInPage - 1) / kPlacesInPage);
  }
};

BlockMap::BlockMap(size_t least_remembered)
    : directory_(2), least_remembered_(least_remembered), released_limit_(least_remembered) {
  Segment segment = make_segment(0);
  rebuild(segment, 1, {});
  set_segment(0, segment);
}

BlockMap::Segment BlockMap::make_segment(unsigned depth) {
  const Segment segment{.lines = static_cast<Line*>(memory_.take()), .depth = static_cast<uint16_t>(depth)};
  ++segment_count_;
  ++at_depth_[depth];
  return segment;
}

// New places for these blocks alone.
void BlockMap::rebuild(Segment& segment, size_t pages, std::span<const PackedBlock> blocks) {
  const size_t before = segment.line_count / kLinesInPage;
  pages_ += pages - before;
  segment.line_count = static_cast<uint16_t>(pages * kLinesInPage);
  segment.used = 0;
  SegmentMemory::give_back_pages(segment.lines, pages * SegmentMemory::kPageBytes, before * SegmentMemory::kPageBytes);
  std::fill_n(segment.lines, segment.line_count, Line{});
  for (const PackedBlock& block : blocks) {
    const uint64_t key = PackedBlock::without_site(block.key);
    uint64_t* const place = free_place(segment, hash_of(key));
    if (place == nullptr) {  // hashes that hardly differ
      beside_[PackedBlock::address_of(key)] = {.block = block.unpacked(), .is_none = false};
      continue;
    }
    ++segment.used;
    *place = block.key;
    facts_of(place) = block.facts;
  }
}

void BlockMap::set_segment(uint64_t hash, const Segment& segment) {
  const size_t count = size_t{1} << (depth_ - segment.depth);
  std::fill_n(directory_.begin() + static_cast<ptrdiff_t>(index_of(hash) / count * count), count, segment);
}

uint64_t* BlockMap::free_place(const Segment& segment, uint64_t hash) {
  size_t at = segment.home_of(hash);
  for (unsigned left = kWindow; left > 0; --left) {
    Line& line = segment.lines[at];
    for (size_t i = 0; i < Line::kPlaces; ++i) {
      if (line.words[Line::kPlaces + i] == 0) return &line.words[i];
    }
    at = at + 1 == segment.line_count ? 0 : at + 1;
  }
  return nullptr;
}

BlockMap::Place BlockMap::find_in_tree(uint64_t address) const {
  const auto beside = beside_.find(address_in(address));
  return beside == beside_.end() ? Place() : Place(beside->second);
}

// Of an address that has no packed block, but may have a place.
BlockMap::Place BlockMap::add(uint64_t address) {
  if (const Place place = find_beside(address)) return place;
  ++known_;
  ++released_;
  const uint64_t key = PackedBlock::key_of(address);
  if (!PackedBlock::fits(key)) return Place(beside_[address_in(address)]);
  const uint64_t hash = hash_of(key);
  uint64_t* place = probe(segment_of(hash), hash, key);
  if (place == nowhere.words.data()) place = make_place(hash);
  if (place == nullptr) return Place(beside_[address_in(address)]);
  *place = key;
  facts_of(place) = 0;
  return Place(place);
}

// Null: too many hashes are like this one.
uint64_t* BlockMap::make_place(uint64_t hash) {
  for (;;) {
    Segment& segment = first_entry_of(hash);
    uint64_t* const place = free_place(segment, hash);
    if (place != nullptr && *place != 0) return place;
    if (place != nullptr && !segment.is_full()) {
      ++segment.used;
      return place;
    }
    if (make_room(hash)) continue;
    if (place != nullptr) ++segment.used;
    return place;
  }
}

void BlockMap::fill_beside(Place place, const Block& block) {
  released_ -= place.alive() ? 0 : 1;
  live_bytes_ += block.size_bytes;
  if (place.is_beside()) {
    place.beside() = {.block = block, .is_none = false};
    return;
  }
  place.facts() = 0;  // it doesn't fit
  beside_[PackedBlock::address_of(place.key())] = {.block = block, .is_none = false};
}

void BlockMap::revive(Place place, model::BlockNumber number) {
  Block block = place.block();
  block.number = number;
  block.released_at = kAlive;
  fill(place, block);
}

size_t BlockMap::bytes() const {
  return pages_ * SegmentMemory::kPageBytes + directory_.capacity() * sizeof(Segment) + beside_.size() * kBytesInTree;
}

std::optional<BlockMap::Block> BlockMap::find_around(uint64_t address) const {
  std::optional<Block> found;
  uint64_t last = 0;
  for_each_live([&](uint64_t start, const Block& block) {
    if (address <= start || address - start >= block.size_bytes || start < last) return;
    found = block;
    last = start;
  });
  return found;
}

// Where the segment is full, or the hash's window. False: that changes nothing.
bool BlockMap::make_room(uint64_t hash) {
  Segment segment = first_entry_of(hash);
  Contents contents;
  contents.take(segment);
  const size_t pages = segment.line_count / kLinesInPage;
  size_t needed = pages;
  if (segment.used - contents.count < segment.places() / 8) {                       // few places are without a block
    if (!segment.is_full() && contents.count < segment.places() / 2) return false;  // only some lines are full
    if (pages == kMaxPages) {
      if (!may_split(segment)) return false;
      split(hash, segment, contents);
      return true;
    }
    needed = std::min(kMaxPages, pages + (pages + 3) / 4);
  }
  rebuild(segment, needed, contents.all());
  set_segment(hash, segment);
  return true;
}

// Not if the directory became large because of a few segments.
bool BlockMap::may_split(const Segment& segment) const {
  constexpr size_t kEntriesForEach = 64;
  return segment.depth < kMaxDepth &&
         (segment.depth < depth_ || directory_.size() * 2 <= kEntriesForEach * (segment_count_ + 1));
}

void BlockMap::split(uint64_t hash, const Segment& segment, Contents& contents) {
  if (segment.depth == depth_) {
    std::vector<Segment> doubled(directory_.size() * 2);
    for (size_t i = 0; i < doubled.size(); ++i) doubled[i] = directory_[i / 2];
    directory_ = std::move(doubled);
    ++depth_;
  }
  const uint64_t bit = uint64_t{1} << (63 - segment.depth);
  const auto second = std::ranges::partition(contents.all(), [bit](const PackedBlock& block) {
    return (hash_of(PackedBlock::without_site(block.key)) & bit) == 0;
  });
  const std::span<PackedBlock> first = contents.all().first(contents.count - second.size());

  Segment low = segment;
  Segment high = make_segment(low.depth + 1);  // may throw: nothing has changed yet
  --at_depth_[low.depth];
  ++at_depth_[++low.depth];
  rebuild(low, std::min(kMaxPages, Contents::pages_for(first.size())), first);
  rebuild(high, std::min(kMaxPages, Contents::pages_for(second.size())), second);
  set_segment(hash & ~bit, low);
  set_segment(hash | bit, high);
}

// With each release while too many released blocks are remembered.
void BlockMap::tend() {
  released_limit_ = std::max(least_remembered_, live_count() / 4);
  if (released_ <= released_limit_) return;
  if (is_hand_beside_) return sweep_beside();
  credit_ += kSweptAtOnce;
  const Segment& segment = segment_of(hand_);
  if (credit_ < segment.places()) return;
  credit_ = 0;
  sweep_segment(hand_);
  // (The segment may be another one now, and begin earlier.)
  hand_ = next_segment(hand_, segment_of(hand_).depth);
  is_hand_beside_ = hand_ == 0;
}

void BlockMap::sweep_segment(uint64_t hash) {
  Segment segment = segment_of(hash);
  size_t before = 0;
  size_t after = 0;
  for (Line& line : std::span(segment.lines, segment.line_count)) {
    for (uint64_t& facts : line.facts()) {
      before += facts != 0 ? 1 : 0;
      facts = PackedBlock::after_round(facts);
      after += facts != 0 ? 1 : 0;
    }
  }
  released_ -= before - after;
  known_ -= before - after;
  const size_t pages = segment.line_count / kLinesInPage;
  const size_t needed = Contents::pages_for(after);
  if (needed * 16 > pages * 9) return;  // growing again soon would cost more
  Contents contents;
  contents.take(segment);
  rebuild(segment, needed, contents.all());
  set_segment(hash, segment);
  while (merge(hash, contents)) {
  }
}

// With its neighbour, if both are small.
bool BlockMap::merge(uint64_t hash, Contents& contents) {
  constexpr size_t kMaxPagesMerged = kMaxPages * 3 / 4;
  const Segment segment = segment_of(hash);
  if (segment.depth == 0) return false;
  const uint64_t bit = uint64_t{1} << (64 - segment.depth);
  const Segment other = segment_of(hash ^ bit);
  if (other.depth != segment.depth || (segment.line_count + other.line_count) / kLinesInPage > kMaxPagesMerged) {
    return false;
  }
  contents.count = 0;
  contents.take(segment);
  contents.take(other);
  memory_.give_back(other.lines);
  pages_ -= other.line_count / kLinesInPage;
  --segment_count_;
  at_depth_[segment.depth] -= 2;
  Segment merged = segment;
  ++at_depth_[--merged.depth];
  rebuild(merged, std::min(kMaxPagesMerged, Contents::pages_for(contents.count)), contents.all());
  set_segment(hash, merged);
  halve_directory();
  return true;
}

void BlockMap::halve_directory() {
  if (depth_ == 1 || at_depth_[depth_] != 0) return;
  std::vector<Segment> halved(directory_.size() / 2);
  for (size_t i = 0; i < halved.size(); ++i) halved[i] = directory_[i * 2];
  directory_ = std::move(halved);
  --depth_;
}

void BlockMap::sweep_beside() {
  auto at = beside_.lower_bound(beside_hand_);
  for (size_t left = kSweptAtOnce; left > 0 && at != beside_.end(); --left) {
    Beside& beside = at->second;
    const bool forgets = beside.is_old && !beside.block.alive();
    beside.is_old = !beside.block.alive();
    released_ -= forgets ? 1 : 0;
    known_ -= forgets ? 1 : 0;
    at = forgets ? beside_.erase(at) : std::next(at);
  }
  is_hand_beside_ = at != beside_.end();
  beside_hand_ = is_hand_beside_ ? at->first : 0;
}

}  // namespace heaptap::ingest
