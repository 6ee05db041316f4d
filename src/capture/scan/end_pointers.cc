#include "capture/scan/end_pointers.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "common/base/pages.h"

namespace heaptap::scan {
namespace {

using wire::PointerKind;

// A block that fills its pages to their end, as one mapped for itself: behind it is other memory of the program, whose start
// pointers lead to.
bool fills_pages(const model::ScannedBlock& block) {
  constexpr uint64_t kMaxHeadBytes = 64;  // of an allocator, before the block
  const uint64_t page_bytes = base::page_bytes();
  return block.address % page_bytes <= kMaxHeadBytes && (block.address + block.size_bytes) % page_bytes == 0;
}

// Whether an allocator leaves nothing between blocks: then an end may be the start of a block that was released.
bool has_touching_blocks(const model::HeapScan& scan) {
  const auto touch = [](const model::ScannedBlock& block, const model::ScannedBlock& next) {
    return block.size_bytes != 0 && block.address + block.size_bytes == next.address && !fills_pages(block);
  };
  return std::ranges::adjacent_find(scan.blocks, touch) != scan.blocks.end();
}

// Where a bump allocator places a block behind another one: aligned for any type, or for the block's own bytes if they are fewer.
uint64_t next_place(uint64_t end, uint64_t size_bytes) {
  constexpr uint64_t kOfAnyType = 16;
  const uint64_t alignment = std::bit_ceil(std::clamp<uint64_t>(size_bytes, 1, kOfAnyType));
  return (end + alignment - 1) & ~(alignment - 1);
}

// By block, 1: it is one of those that begin at a page's start and leave nothing between them but alignment.
std::vector<uint8_t> packed_blocks(const model::HeapScan& scan) {
  std::vector<uint8_t> packed(scan.blocks.size(), 0);
  uint64_t end = 0;  // of the packed block before this one; 0: there is none
  for (size_t i = 0; i < packed.size(); ++i) {
    const model::ScannedBlock& block = scan.blocks[i];
    const bool goes_on = end != 0 && block.address == next_place(end, block.size_bytes);
    packed[i] = goes_on || base::is_page_aligned(block.address) ? 1 : 0;
    end = packed[i] != 0 ? block.address + block.size_bytes : 0;
  }
  return packed;
}

// Leaves out the word of a bump allocator's data that says where the next block begins: the end of the last of its packed blocks. It
// has one; a second one is the program's.
void leave_out_allocators(std::vector<EndPointers::Root>& roots, const model::HeapScan& scan) {
  if (roots.empty()) return;
  const auto is_global = [](const EndPointers::Root& end) { return end.root.root == wire::RootKind::kGlobal; };
  std::vector<uint32_t> words(scan.blocks.size(), 0);
  for (const EndPointers::Root& end : roots) words[end.root.to] += is_global(end) ? 1 : 0;
  const std::vector<uint8_t> packed = packed_blocks(scan);
  std::erase_if(roots, [&](const EndPointers::Root& end) {
    return is_global(end) && words[end.root.to] == 1 && packed[end.root.to] != 0;
  });
}

// By block, 1: something points to it.
std::vector<uint8_t> pointed_blocks(const model::HeapScan& scan) {
  std::vector<uint8_t> pointed(scan.blocks.size(), 0);
  for (const model::BlockPointer& pointer : scan.pointers) pointed[pointer.to] = 1;
  for (const model::RootPointer& root : scan.roots) pointed[root.to] = 1;
  return pointed;
}

// One block's words to another once, the first.
void drop_repeated(std::vector<BlockWord>& words) {
  std::ranges::sort(words, {}, [](const BlockWord& word) { return std::tuple(word.from, word.to, word.offset); });
  const auto again =
      std::ranges::unique(words, {}, [](const BlockWord& word) { return std::tuple(word.from, word.to); });
  words.erase(again.begin(), again.end());
  std::ranges::sort(words, {}, [](const BlockWord& word) { return std::tuple(word.from, word.offset); });
}

void drop_repeated(std::vector<EndPointers::Root>& roots) {
  const auto key = [](const EndPointers::Root& end) { return std::tuple(end.root.to, end.root.root); };
  std::ranges::stable_sort(roots, {}, key);
  const auto again = std::ranges::unique(roots, {}, key);
  roots.erase(again.begin(), again.end());
}

}  // namespace

void add_end_pointers(model::HeapScan& scan, EndPointers ends, const Headers& headers, const RootNames& names) {
  if (ends.words.empty() && ends.roots.empty()) return;
  const std::vector<uint8_t> pointed = pointed_blocks(scan);
  const bool touching = has_touching_blocks(scan);
  const auto is_header = [&](uint32_t block) { return headers.end_at(block, scan.blocks[block].size_bytes); };
  const auto says_nothing = [&](uint32_t block) {
    return pointed[block] != 0 || fills_pages(scan.blocks[block]) || (touching && !is_header(block));
  };
  const auto kind_of = [&](uint32_t block) { return is_header(block) ? PointerKind::kHeader : PointerKind::kInterior; };

  std::erase_if(ends.words, [&](const BlockWord& word) { return says_nothing(word.to); });
  std::erase_if(ends.roots, [&](const EndPointers::Root& end) { return says_nothing(end.root.to); });
  leave_out_allocators(ends.roots, scan);
  drop_repeated(ends.words);
  drop_repeated(ends.roots);
  add_pointers(scan, ends.words, [&](const BlockWord& word) { return kind_of(word.to); });
  for (EndPointers::Root& end : ends.roots) {
    end.root.kind = kind_of(end.root.to);
    names.complete(end.thread_id, end.root);
    scan.roots.push_back(end.root);
  }
}

}  // namespace heaptap::scan
