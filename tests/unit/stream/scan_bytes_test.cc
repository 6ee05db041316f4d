// A leak scan whose two halves are on two machines: what lies between them goes through bytes, and the same scan comes out.
#include "capture/stream/scan_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

#include "capture/scan/heap_scanner.h"
#include "fake_memory.h"

namespace heaptap::stream {
namespace {

using scan::HeapScanner;
using scan::ScanInput;

constexpr uint64_t kHeap = 0x5555'0000'0000;
constexpr uint64_t kShortHeap = 0x0900'0000;
constexpr uint64_t kGlobalsBehind = 0x100'0000;  // the heap
constexpr uint64_t kStackBehind = 0x200'0000;
constexpr uint64_t kReadOnlyBehind = 0x300'0000;
constexpr uint32_t kThread = 4711;

// A heap at random, with pointers of all kinds in it and around it.
class MadeHeap {
 public:
  MadeHeap(uint32_t seed, unsigned word_bytes)
      : random_(seed), heap_(word_bytes == 8 ? kHeap : kShortHeap), word_bytes_(word_bytes) {
    memory_.add(heap_, 40'000);
    memory_.add(heap_ + kGlobalsBehind, 512);
    memory_.add(heap_ + kStackBehind, 512);
    memory_.add(heap_ + kReadOnlyBehind, 512);
    input_.word_bytes = word_bytes;
    make_vtables();
    make_blocks();
    fill_blocks();
    make_roots();
  }

  test::FakeMemory& memory() { return memory_; }
  [[nodiscard]] const ScanInput& input() const { return input_; }

 private:
  uint64_t pick(uint64_t below) { return random_() % below; }

  void put(uint64_t address, uint64_t value) {
    if (word_bytes_ == 8) return memory_.put(address, value);
    memory_.put_short(address, static_cast<uint32_t>(value));
  }

  void make_vtables() {
    const uint64_t begin = heap_ + kReadOnlyBehind;
    input_.read_only_data = {{begin, begin + 4096}};
    for (uint64_t i = 1; i < 5; ++i) {
      vtables_.push_back(begin + i * 0x100);
      put(vtables_.back() - word_bytes_, begin + 0x800);
      put(vtables_.back(), 0x401000);
    }
  }

  void make_blocks() {
    for (uint64_t at = heap_ + 64; at < heap_ + 300'000; at += 16 + pick(20) * 16) {
      const uint64_t size = pick(30) == 0 ? 0 : 1 + pick(16 + pick(200));
      const uint64_t number = input_.blocks.size() + 1;
      input_.blocks.push_back(
          {.address = at, .size_bytes = size, .number = number, .site = static_cast<uint32_t>(pick(9)), .type = 0});
      input_.lives.push_back(static_cast<model::BlockLife>(pick(model::kBlockLifeCount)));
      at += (size + 15) / 16 * 16;
    }
    // Some of them can't be, and one is there twice.
    input_.blocks.push_back({.address = uint64_t{1} << 60, .size_bytes = 8, .number = 90'001, .site = 0, .type = 0});
    input_.lives.push_back(model::BlockLife::kAlive);
    input_.blocks.push_back(input_.blocks[7]);
    input_.lives.push_back(model::BlockLife::kFree);
    for (uint32_t site = 0; site < 9; ++site) input_.calls[0].push_back(site % 3);
  }

  uint64_t word() {
    const model::ScannedBlock& to = input_.blocks[pick(input_.blocks.size() - 2)];
    switch (pick(8)) {
      case 0:
        return vtables_[pick(vtables_.size())];
      case 1:
        return pick(1000);
      case 2:
        return to.address + pick(to.size_bytes + 9);
      case 3:
        return to.address + 16;
      default:
        return to.address;
    }
  }

  void fill_blocks() {
    for (size_t i = 0; i + 2 < input_.blocks.size(); ++i) {
      const model::ScannedBlock& block = input_.blocks[i];
      for (uint64_t offset = 0; offset + word_bytes_ <= block.size_bytes; offset += word_bytes_) {
        if (pick(2) == 0) put(block.address + offset, offset == 0 && pick(3) == 0 ? vtables_[0] : word());
      }
    }
  }

  void make_roots() {
    const uint64_t globals = heap_ + kGlobalsBehind;
    const uint64_t stack = heap_ + kStackBehind;
    for (uint64_t offset = 0; offset < 4096; offset += word_bytes_) {
      if (pick(4) == 0) put(globals + offset, word());
      if (pick(4) == 0) put(stack + offset, word());
    }
    input_.root_ranges = {{stack + 1024, stack + 4096, wire::RootKind::kStack, kThread},
                          {globals, globals + 2048, wire::RootKind::kGlobal, 0},
                          {globals + 2048, globals + 4096, wire::RootKind::kThreadLocal, kThread},
                          {globals + 9000, globals + 8000, wire::RootKind::kGlobal, 0},
                          {globals + 0x10000, globals + 0x14000, wire::RootKind::kMapping, 0}};
    for (uint16_t number = 0; number < 16; ++number) input_.root_words.push_back({word(), kThread, number});
    input_.frames = {{stack + 2048, 0x401234, kThread}, {stack + 4096, 0x405678, kThread}};
    input_.thread_local_segments = {{{globals + 2048, globals + 3072}, 2}};
    input_.threads = {{kThread, 3}};
  }

  std::mt19937_64 random_;
  uint64_t heap_;
  unsigned word_bytes_;
  test::FakeMemory memory_;
  ScanInput input_;
  std::vector<uint64_t> vtables_;
};

auto facts(const model::ScannedBlock& block) {
  return std::tuple(block.address, block.size_bytes, block.number, block.site, block.type);
}
auto facts(const model::BlockPointer& pointer) { return std::tuple(pointer.to, pointer.offset, pointer.kind); }
auto facts(const model::RootPointer& root) {
  return std::tuple(root.to, root.kind, root.root, root.thread, root.address, root.frame_code, root.module,
                    root.module_offset);
}

template <typename Entry>
void expect_same(const std::vector<Entry>& here, const std::vector<Entry>& there) {
  EXPECT_TRUE(std::ranges::equal(here, there, [](const Entry& a, const Entry& b) { return facts(a) == facts(b); }));
}

void expect_same(const model::HeapScan& here, const model::HeapScan& there) {
  expect_same(here.blocks, there.blocks);
  expect_same(here.pointers, there.pointers);
  expect_same(here.roots, there.roots);
  EXPECT_EQ(here.lives, there.lives);
  EXPECT_EQ(here.pointers_begin, there.pointers_begin);
  EXPECT_EQ(here.read_bytes, there.read_bytes);
  EXPECT_EQ(here.skipped_bytes, there.skipped_bytes);
  EXPECT_EQ(here.notes, there.notes);
}

// What the target's machine answers: it knows addresses and sizes alone, and what it finds itself.
std::vector<uint8_t> answer_of(MadeHeap& heap, std::span<const uint8_t> sent_blocks) {
  ScanInput input;
  input.word_bytes = heap.input().word_bytes;
  input.blocks = *read_scanned_blocks(sent_blocks);
  input.root_ranges = heap.input().root_ranges;
  input.read_only_data = heap.input().read_only_data;
  HeapScanner scanner(std::move(input), {.candidate_bytes = SIZE_MAX});
  scanner.collect(heap.memory());
  ScanAnswer answer{.word_bytes = heap.input().word_bytes, .roots = {}, .lives = heap.input().lives, .findings = {}};
  answer.findings = scanner.hand_over();
  answer.roots.ranges = heap.input().root_ranges;
  answer.roots.words = heap.input().root_words;
  answer.roots.frames = heap.input().frames;
  return write_scan_answer(answer);
}

// The host's scanner, which knows all else.
HeapScanner host_scanner(const MadeHeap& heap, const ScanAnswer& answer) {
  ScanInput input = heap.input();
  input.word_bytes = answer.word_bytes;
  input.lives = answer.lives;
  input.root_ranges = answer.roots.ranges;
  input.root_words = answer.roots.words;
  input.frames = answer.roots.frames;
  input.read_only_data.clear();
  return HeapScanner(std::move(input));
}

TEST(ScanAnswer, ComesInPiecesOfBoundedSize) {
  constexpr uint64_t kWords = 1'000'000;
  const auto make = [] {
    ScanAnswer answer;
    answer.findings.candidates.begin(1);
    for (uint64_t i = 1; i <= kWords; ++i) answer.findings.candidates.add(i << 20, 16 * i);
    return answer;
  };
  ScanAnswer answer = make();
  const std::vector<uint8_t> whole = write_scan_answer(answer);
  answer = make();
  std::vector<uint8_t> joined;
  size_t last_pieces = 0;
  write_scan_answer(answer, [&](std::span<const uint8_t> piece, bool is_last) {
    EXPECT_LE(piece.size(), kAnswerPieceBytes + 64);
    EXPECT_EQ(last_pieces, 0u);
    last_pieces += is_last ? 1 : 0;
    joined.insert(joined.end(), piece.begin(), piece.end());
  });
  EXPECT_EQ(last_pieces, 1u);
  EXPECT_GT(joined.size(), 10 * kAnswerPieceBytes);
  EXPECT_EQ(joined, whole);
  EXPECT_EQ(answer.findings.candidates.bytes(), 0u);
}

class ScanBytes : public testing::TestWithParam<unsigned> {};

TEST_P(ScanBytes, TheSameScanComesOfBothForms) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    MadeHeap heap(seed, GetParam());
    HeapScanner whole(heap.input());
    whole.collect(heap.memory());
    const model::HeapScan here = whole.resolve();
    ASSERT_GT(here.pointers.size(), 1000u);
    ASSERT_GT(here.roots.size(), 100u);
    ASSERT_TRUE(std::ranges::any_of(here.blocks, [](const auto& block) { return block.type != 0; }));

    const std::vector<uint8_t> bytes = answer_of(heap, write_scanned_blocks(heap.input().blocks));
    auto answer = read_scan_answer(bytes);
    ASSERT_TRUE(answer.has_value());
    HeapScanner host = host_scanner(heap, *answer);
    ASSERT_TRUE(host.take(std::move(answer->findings)));
    expect_same(here, host.resolve());
  }
}

INSTANTIATE_TEST_SUITE_P(Words, ScanBytes, testing::Values(4u, 8u),
                         [](const auto& word_bytes) { return std::to_string(word_bytes.param * 8) + "Bits"; });

TEST(ScanAnswer, FindingsOfOtherBlocksAreRefused) {
  MadeHeap heap(1, 8);
  const std::vector<uint8_t> bytes =
      answer_of(heap, write_scanned_blocks(std::span(heap.input().blocks).first(heap.input().blocks.size() / 2)));
  auto answer = read_scan_answer(bytes);
  ASSERT_TRUE(answer.has_value());
  HeapScanner host = host_scanner(heap, *answer);
  EXPECT_FALSE(host.take(std::move(answer->findings)));
}

TEST(ScanAnswer, WhereItIsCutOffItIsRefused) {
  MadeHeap heap(2, 8);
  std::vector<uint8_t> bytes = answer_of(heap, write_scanned_blocks(heap.input().blocks));
  const size_t candidates = 1000;  // bytes at the end that words are in, of which fewer may be sound
  for (size_t left = 0; left + candidates < bytes.size() / 8; left += 7) {
    EXPECT_FALSE(read_scan_answer(std::span(bytes).first(left)).has_value()) << left;
  }
}

TEST(ScanAnswer, WhatIsOverwrittenDoesNoHarm) {
  MadeHeap heap(3, 8);
  const std::vector<uint8_t> bytes = answer_of(heap, write_scanned_blocks(heap.input().blocks));
  std::mt19937_64 random(5);
  unsigned resolved = 0;
  for (unsigned round = 0; round < 150; ++round) {
    std::vector<uint8_t> damaged = bytes;
    for (unsigned i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
    auto answer = read_scan_answer(damaged);
    if (!answer) continue;
    HeapScanner host = host_scanner(heap, *answer);
    if (!host.take(std::move(answer->findings))) continue;
    const model::HeapScan scan = host.resolve();
    for (const model::BlockPointer& pointer : scan.pointers) ASSERT_LT(pointer.to, scan.blocks.size());
    ++resolved;
  }
  EXPECT_GT(resolved, 0u);
}

}  // namespace
}  // namespace heaptap::stream
