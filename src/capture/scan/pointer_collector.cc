#include "capture/scan/pointer_collector.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "capture/scan/memory_plan.h"
#include "capture/scan/relative_pointers.h"
#include "common/base/pages.h"
#include "common/base/sizes.h"

namespace heaptap::scan {
namespace {

// Possible targets of pointers to blocks, including the address after an empty array's cookie.
base::AddressRange span_of(std::span<const model::ScannedBlock> blocks) {
  if (blocks.empty()) return {1, 1};
  uint64_t end = 0;
  for (const model::ScannedBlock& block : blocks) end = std::max(end, block.address + block.size_bytes);
  return {blocks.front().address, end + BlockHeads::kMaxCookieBytes + 1};
}

base::AddressRange joined(base::AddressRange a, base::AddressRange b) {
  if (b.begin == b.end) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// x86-64 gives programs 47 bits, others may give 48.
uint64_t address_mask_of(base::AddressRange blocks) {
  constexpr unsigned kUsual = 47;
  const unsigned bits = blocks.end >> kUsual == 0 ? kUsual : kUsual + 1;
  return (uint64_t{1} << bits) - 1;
}

bool begins_before(const model::ScannedBlock& block, uint64_t address) { return block.address < address; }

}  // namespace

template <typename Word>
PointerCollector<Word>::PointerCollector(const PointerCollectorParts& parts, CountedMemory& memory)
    : parts_(parts),
      memory_(memory),
      filter_(best_word_filter<Word>()),
      block_span_(span_of(parts.scan.blocks)),
      address_mask_(address_mask_of(block_span_)),
      whole_span_(joined(block_span_, parts.vtables.span())),
      vtables_beside_(parts.vtables.span_beside(parts.index)),
      buffer_(kBufferWords),
      found_(kBufferWords) {}

template <typename Word>
void PointerCollector<Word>::collect_blocks() {
  const MemoryPlan plan = plan_blocks(parts_.scan.blocks, sizeof(Word), memory_);
  const std::span pieces(plan);
  for (size_t i = 0; i < pieces.size(); ++i) {
    parts_.log.begin(PointerResolver::kInBlocks);
    read(pieces[i], [&](uint64_t base, std::span<const Word> words) {
      if (!heads_complete_) note_heads(base, words);
      select_in_blocks(base, words, true);
      select_relative(base, words);
      if (parts_.log.bytes() > parts_.max_log_bytes) make_room(base + words.size_bytes(), pieces.subspan(i));
    });
  }
  heads_complete_ = true;
}

template <typename Word>
void PointerCollector<Word>::collect_roots(std::span<const wire::RootRange> ranges) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    const wire::RootKind kind = ranges[i].kind;
    const bool shared = kind == wire::RootKind::kGlobal || kind == wire::RootKind::kMapping;
    const MemoryPlan plan =
        plan_range({ranges[i].begin, ranges[i].end}, shared, parts_.scan.blocks, sizeof(Word), memory_);
    for (const base::AddressRange& piece : plan) {
      parts_.log.begin(origin_ = static_cast<uint32_t>(i));
      read(piece, [&](uint64_t base, std::span<const Word> words) {
        select_in_range(base, words, kind);
        if (ranges[i].has_code) select_in_code(base, words);
        if (parts_.log.bytes() > parts_.max_log_bytes) make_room(0, {});
      });
    }
  }
}

// Calls use(address, words) for the readable parts of the range.
template <typename Word>
template <typename Use>
void PointerCollector<Word>::read(base::AddressRange range, Use use) {
  for (uint64_t at = range.begin; at < range.end;) {
    const size_t wanted = base::at_most(buffer_.size() * sizeof(Word), range.end - at);
    const size_t got = memory_.read(at, {reinterpret_cast<uint8_t*>(buffer_.data()), wanted});
    if (got >= sizeof(Word)) use(at, std::span<const Word>(buffer_).first(got / sizeof(Word)));
    at += wanted;
    if (got >= wanted) continue;
    const uint64_t failed = at - wanted + got;
    at = std::min(range.end, (failed / base::page_bytes() + 1) * base::page_bytes());
    unread_bytes_ += at - failed;
  }
}

template <typename Word>
void PointerCollector<Word>::note_heads(uint64_t base, std::span<const Word> words) {
  const auto& blocks = parts_.scan.blocks;
  const uint64_t end = base + words.size_bytes();
  auto block = std::lower_bound(blocks.begin(), blocks.end(), base, begins_before);
  for (; block != blocks.end() && block->address < end; ++block) {
    note_head(static_cast<uint32_t>(block - blocks.begin()), base, words);
  }
}

template <typename Word>
void PointerCollector<Word>::note_head(uint32_t block, uint64_t base, std::span<const Word> words) {
  model::ScannedBlock& noted = parts_.scan.blocks[block];
  Word head[BlockHeads::kHeadWords] = {};
  const size_t bytes = base::at_most(sizeof head, noted.size_bytes);
  const uint64_t offset = noted.address - base;
  if (offset + bytes <= words.size_bytes()) {
    std::memcpy(head, reinterpret_cast<const uint8_t*>(words.data()) + offset, bytes);
  } else {
    memory_.read(noted.address, {reinterpret_cast<uint8_t*>(head), bytes});
  }
  parts_.heads.note(block, noted.size_bytes, head);
  const bool in_span = head[0] >= whole_span_.begin && head[0] < whole_span_.end;
  if (in_span && noted.size_bytes >= sizeof(Word) && parts_.vtables.is_vtable(head[0], memory_)) noted.type = head[0];
}

template <typename Word>
std::span<const uint32_t> PointerCollector<Word>::select(std::span<const Word> words, base::AddressRange range) {
  if constexpr (sizeof(Word) < sizeof(uint64_t)) range.end = std::min(range.end, uint64_t{1} << 8 * sizeof(Word));
  if (range.begin >= range.end) return {};
  const size_t count =
      filter_(words.data(), static_cast<uint32_t>(words.size()), range.begin, range.end, found_.data());
  return std::span<const uint32_t>(found_).first(count);
}

// Into tagged_: words with bits set above those of an address, which without these and the lowest three bits point to
// the start of a block.
template <typename Word>
void PointerCollector<Word>::select_tagged(uint64_t base, std::span<const Word> words) {
  tagged_.clear();
  if constexpr (sizeof(Word) == sizeof(uint64_t)) {
    const uint64_t mask = address_mask_ & ~uint64_t{7};
    const uint64_t begin = block_span_.begin;
    const uint64_t bytes = block_span_.end - begin;
    for (size_t i = 0; i < words.size(); ++i) {
      const uint64_t value = words[i] & mask;
      if (value - begin >= bytes || words[i] <= address_mask_) [[likely]]
        continue;
      if (!parts_.index.may_hold(value) || !parts_.index.last_before(value).is_start) continue;
      tagged_.push_back({.value = value, .position = base + i * sizeof(Word), .origin = 0, .form = WordForm::kTagged});
    }
  }
}

// Possible pointers, if wanted, and vtables inside objects, if unknown so far.
template <typename Word>
void PointerCollector<Word>::select_in_blocks(uint64_t base, std::span<const Word> words, bool pointers) {
  const auto& blocks = parts_.scan.blocks;
  auto next = std::lower_bound(blocks.begin(), blocks.end(), base, begins_before);
  const base::AddressRange range = heads_complete_ ? block_span_ : pointers ? whole_span_ : parts_.vtables.span();
  size_t tagged = 0;
  // Those before a position, so that all are in order.
  const auto add_tagged = [&](uint64_t before) {
    for (; tagged < tagged_.size() && tagged_[tagged].position < before; ++tagged) {
      const Candidate& candidate = tagged_[tagged];
      const auto behind = std::lower_bound(blocks.begin(), blocks.end(), candidate.position + 1, begins_before);
      if (behind == blocks.begin()) continue;
      const model::ScannedBlock& block = *std::prev(behind);
      if (candidate.position + sizeof(Word) > block.address + block.size_bytes) continue;
      parts_.log.add(candidate.value, candidate.position, candidate.form);
    }
  };
  if (pointers)
    select_tagged(base, words);
  else
    tagged_.clear();
  for (const uint32_t found : select(words, range)) {
    const uint64_t position = base + found * sizeof(Word);
    add_tagged(position);
    while (next != blocks.end() && next->address <= position) ++next;
    if (next == blocks.begin()) continue;
    const auto block = next - 1;
    if (position + sizeof(Word) > block->address + block->size_bytes) continue;
    const uint64_t value = words[found];
    if (parts_.index.may_hold(value)) {
      if (pointers) parts_.log.add(value, position);
      if (value < vtables_beside_.begin || value >= vtables_beside_.end) continue;
    }
    if (heads_complete_ || block->type == 0 || position == block->address) continue;
    if (parts_.vtables.is_vtable(value, memory_)) parts_.heads.note_inner_vtable(position);
  }
  add_tagged(base + words.size_bytes());
}

// Words that, added to the address of their block, give the start of another one.
template <typename Word>
void PointerCollector<Word>::select_relative(uint64_t base, std::span<const Word> words) {
  const uint64_t span_bytes = block_span_.size();
  if (span_bytes == 0) return;
  add_relative(base, words, select(words, {sizeof(Word), span_bytes}));
  const auto negative = static_cast<Word>(0 - span_bytes);
  if (span_bytes <= std::numeric_limits<Word>::max() / 2)
    add_relative(base, words, select(words, {negative, static_cast<Word>(-1)}));
}

template <typename Word>
void PointerCollector<Word>::add_relative(uint64_t base, std::span<const Word> words, std::span<const uint32_t> found) {
  const auto& blocks = parts_.scan.blocks;
  auto next = std::lower_bound(blocks.begin(), blocks.end(), base, begins_before);
  for (const uint32_t index : found) {
    const Word word = words[index];
    if (word % sizeof(Word) != 0 || parts_.index.may_hold(word)) continue;
    const uint64_t position = base + index * sizeof(Word);
    while (next != blocks.end() && next->address <= position) ++next;
    if (next == blocks.begin()) continue;
    const model::ScannedBlock& block = *std::prev(next);
    if (position + sizeof(Word) > block.address + std::min(block.size_bytes, kMaxRelativeBytes)) continue;
    const auto distance = static_cast<uint64_t>(int64_t{static_cast<std::make_signed_t<Word>>(word)});
    const uint64_t value = block.address + distance;
    const bool leads_out = distance >= block.size_bytes && value >= block_span_.begin && value < block_span_.end;
    if (!leads_out || !parts_.index.may_hold(value) || !parts_.index.last_before(value).is_start) continue;
    parts_.log.add(value, position, WordForm::kRelative);
  }
}

template <typename Word>
void PointerCollector<Word>::select_in_range(uint64_t base, std::span<const Word> words, wire::RootKind kind) {
  const bool shared = kind == wire::RootKind::kGlobal || kind == wire::RootKind::kMapping;
  for (const uint32_t found : select(words, block_span_)) {
    const uint64_t position = base + found * sizeof(Word);
    if (!parts_.index.may_hold(words[found]) || (shared && is_in_block(position))) continue;
    parts_.log.add(words[found], position);
  }
  select_tagged(base, words);
  if (!tagged_.empty()) parts_.log.begin(origin_);
  for (const Candidate& candidate : tagged_) {
    if (!shared || !is_in_block(candidate.position)) {
      parts_.log.add(candidate.value, candidate.position, candidate.form);
    }
  }
}

// The same for unaligned words. Positions start again for each offset.
template <typename Word>
void PointerCollector<Word>::select_in_code(uint64_t base, std::span<const Word> words) {
  if (words.size() < 2) return;
  std::vector<Word> shifted(words.size() - 1);
  for (size_t shift = 1; shift < sizeof(Word); ++shift) {
    std::memcpy(shifted.data(), reinterpret_cast<const uint8_t*>(words.data()) + shift, shifted.size() * sizeof(Word));
    parts_.log.begin(origin_);
    select_in_range(base, shifted, wire::RootKind::kMapping);
  }
  parts_.log.begin(origin_);
}

template <typename Word>
bool PointerCollector<Word>::is_in_block(uint64_t position) const {
  if (!parts_.index.may_hold(position)) return false;
  const uint32_t block = parts_.index.last_before(position).block;
  if (block == model::kNoBlock) return false;
  return position - parts_.scan.blocks[block].address < parts_.scan.blocks[block].size_bytes;
}

template <typename Word>
void PointerCollector<Word>::make_room(uint64_t next, std::span<const base::AddressRange> pieces) {
  if (!heads_complete_) {
    for (const base::AddressRange& piece : pieces) {
      read({std::max(piece.begin, next), piece.end}, [this](uint64_t base, std::span<const Word> words) {
        note_heads(base, words);
        select_in_blocks(base, words, false);
      });
    }
    heads_complete_ = true;
  }
  parts_.resolver.add(parts_.log);
}

template class PointerCollector<uint32_t>;
template class PointerCollector<uint64_t>;

}  // namespace heaptap::scan
