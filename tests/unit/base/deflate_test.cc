// Deflate of pieces that stand alone.
#include "common/base/deflate.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "child_process.h"

namespace heaptap::base {
namespace {

std::vector<uint8_t> words(size_t bytes, unsigned different) {
  std::mt19937 random(1);
  std::vector<uint8_t> piece(bytes);
  for (uint8_t& byte : piece) byte = static_cast<uint8_t>(random() % different);
  return piece;
}

TEST(Deflate, GivesBackWhatItTook) {
  Deflater deflater;
  Inflater inflater;
  for (const size_t bytes : {size_t{100}, size_t{70'000}, size_t{3} << 20}) {
    const std::vector<uint8_t> piece = words(bytes, 4);
    const std::span<const uint8_t> compressed = deflater.compress(piece);
    ASSERT_FALSE(compressed.empty());
    EXPECT_LE(compressed.size(), bytes / 2);
    std::vector<uint8_t> back(bytes);
    ASSERT_TRUE(inflater.decompress(compressed, back));
    EXPECT_EQ(back, piece);
  }
}

TEST(Deflate, SaysWhereItIsNoGain) {
  Deflater deflater;
  EXPECT_TRUE(deflater.compress(words(10'000, 256)).empty());
  EXPECT_TRUE(deflater.compress(words(1, 1)).empty());
  EXPECT_TRUE(deflater.compress({}).empty());
}

TEST(Deflate, TakesNoPieceOfAnotherSize) {
  Deflater deflater;
  Inflater inflater;
  const std::vector<uint8_t> piece = words(1000, 2);
  const std::span<const uint8_t> compressed = deflater.compress(piece);
  for (const size_t bytes : {size_t{0}, size_t{999}, size_t{1001}}) {
    std::vector<uint8_t> back(bytes);
    EXPECT_FALSE(inflater.decompress(compressed, back)) << bytes;
  }
}

TEST(Deflate, NeitherTakesMoreNorLessThanWasCompressed) {
  Deflater deflater;
  Inflater inflater;
  const std::vector<uint8_t> piece = words(1000, 2);
  const std::span<const uint8_t> made = deflater.compress(piece);
  std::vector<uint8_t> compressed(made.begin(), made.end());
  std::vector<uint8_t> back(piece.size());
  compressed.push_back(0);
  EXPECT_FALSE(inflater.decompress(compressed, back));
  compressed.resize(made.size() - 1);
  EXPECT_FALSE(inflater.decompress(compressed, back));
  EXPECT_FALSE(inflater.decompress({}, back));
  EXPECT_TRUE(inflater.decompress(made, back));  // nothing of that stays
}

// In a process that gets no more memory, and one that gets some again.
bool works_without_memory() {
  const std::vector<uint8_t> piece = words(20'000, 4);
  std::vector<uint8_t> back(piece.size());
  Deflater deflater;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlimit nothing{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_AS, &nothing);
  constexpr size_t kLeftBytes = 4096;
  while (void* const taken = std::malloc(kLeftBytes)) *static_cast<volatile char*>(taken) = 1;
  const bool isnt_compressed = deflater.compress(piece).empty();
  const bool is_refused = !Inflater().decompress(piece, back);
  setrlimit(RLIMIT_AS, &limit);
  Inflater inflater;
  return isnt_compressed && is_refused && inflater.decompress(deflater.compress(piece), back) && back == piece;
}

TEST(Deflate, DoesWithoutWhereThereIsNoMemory) {
  if (test::kChildIsSanitized) GTEST_SKIP() << "a sanitizer ends a program that gets no memory";
  test::ChildProcess child([](int) { _exit(works_without_memory() ? 0 : 1); });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Deflate, DoesNotBelieveBytes) {
  Inflater inflater;
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> bytes(random() % 200);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    std::vector<uint8_t> back(5000);
    inflater.decompress(bytes, back);  // whatever comes: within `back`
  }
}

}  // namespace
}  // namespace heaptap::base
