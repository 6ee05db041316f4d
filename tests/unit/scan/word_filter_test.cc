// The scan's innermost loop in its forms, the plain one and that of this CPU: both find the same words, which are those that a plain
// comparison finds.
#include "capture/scan/word_filter.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <span>
#include <vector>

#include "common/arch/native.h"

namespace heaptap::scan {
namespace {

// In its own way: no difference, no unsigned trick.
template <typename Word>
std::vector<uint32_t> expected(std::span<const Word> words, uint64_t begin, uint64_t end) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < words.size(); ++i) {
    const uint64_t word = words[i];
    if (!(word < begin) && word < end) found.push_back(i);
  }
  return found;
}

template <typename Word>
std::vector<uint32_t> found_by(WordFilter<Word> filter, std::span<const Word> words, uint64_t begin, uint64_t end) {
  constexpr uint32_t kUntouched = 0xdeadbeef;
  std::vector<uint32_t> found(words.size() + 1, kUntouched);
  const size_t size = filter(words.data(), static_cast<uint32_t>(words.size()), begin, end, found.data());
  EXPECT_LE(size, words.size());
  EXPECT_EQ(found.back(), kUntouched) << "written beyond the room that there is";
  found.resize(size);
  return found;
}

template <typename Word>
class WordFilters : public testing::Test {
 protected:
  static constexpr uint64_t kBeyond =
      sizeof(Word) == 4 ? uint64_t{1} << 32 : uint64_t{1} << 63;  // no `end` is above it

  static void expect_same(std::span<const Word> words, uint64_t begin, uint64_t end) {
    const std::vector<uint32_t> right = expected(words, begin, end);
    ASSERT_EQ(found_by<Word>(select_words_portably<Word>, words, begin, end), right) << "plain";
    ASSERT_EQ(found_by<Word>(best_word_filter<Word>(), words, begin, end), right) << "chosen";
    if (const WordFilter<Word> fast = arch::native::word_filter<Word>(); fast != nullptr) {
      ASSERT_EQ(found_by<Word>(fast, words, begin, end), right) << "this CPU's";
    }
  }

  // Around both ends, and where signed and unsigned differ.
  static Word word_near(uint64_t begin, uint64_t end, std::mt19937_64& random) {
    const uint64_t sign = uint64_t{1} << (8 * sizeof(Word) - 1);
    const uint64_t near[] = {begin,
                             begin - 1,
                             end,
                             end - 1,
                             end + 1,
                             ~uint64_t{0},
                             0,
                             1,
                             sign,
                             sign - 1,
                             random(),
                             random() >> 20,
                             begin + random() % (end - begin + 1)};
    return static_cast<Word>(near[random() % std::size(near)]);
  }
};

using Words = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(WordFilters, Words);

TYPED_TEST(WordFilters, FindTheSameInRandomWords) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 3000; ++round) {
    const uint64_t begin = 1 + random() % (this->kBeyond - 1) / (uint64_t{1} << random() % 31);
    const uint64_t end = begin + 1 + random() % (this->kBeyond - begin) / (uint64_t{1} << random() % 31);
    std::vector<TypeParam> words(random() % 200);
    for (TypeParam& word : words) word = this->word_near(begin, end, random);
    ASSERT_NO_FATAL_FAILURE(this->expect_same(words, begin, end)) << begin << " to " << end;
  }
}

TYPED_TEST(WordFilters, FindTheSameAmongNegativeWords) {
  std::mt19937_64 random(6);
  constexpr auto kEnd = std::numeric_limits<TypeParam>::max();
  for (int round = 0; round < 1000; ++round) {
    const uint64_t begin = kEnd - 1 - random() % (kEnd / 2);
    std::vector<TypeParam> words(random() % 200);
    for (TypeParam& word : words) word = this->word_near(begin, kEnd, random);
    ASSERT_NO_FATAL_FAILURE(this->expect_same(words, begin, kEnd)) << begin;
  }
}

// Every length around the steps of vector instructions, and every place in a line of the cache.
TYPED_TEST(WordFilters, FindTheSameAtEveryLengthAndPlace) {
  constexpr uint64_t kBegin = 1000;
  constexpr uint64_t kEnd = 2000;
  std::vector<TypeParam> words(160);
  for (const TypeParam inside : {TypeParam{kBegin}, TypeParam{kEnd - 1}, TypeParam{kEnd}}) {
    std::fill(words.begin(), words.end(), inside);
    for (size_t from = 0; from < 64 / sizeof(TypeParam); ++from) {
      for (size_t count = 0; count <= 80; ++count) {
        ASSERT_NO_FATAL_FAILURE(this->expect_same(std::span<const TypeParam>(words).subspan(from, count), kBegin, kEnd))
            << count << " words from " << from;
      }
    }
  }
}

// One word alone is inside, at every place.
TYPED_TEST(WordFilters, FindASingleWordAnywhere) {
  for (size_t at = 0; at < 70; ++at) {
    std::vector<TypeParam> words(70, TypeParam{7});
    words[at] = TypeParam{0x1234};
    ASSERT_NO_FATAL_FAILURE(this->expect_same(words, 0x1234, 0x1235)) << at;
  }
}

TYPED_TEST(WordFilters, FindTheSameInTheSmallestAndTheLargestRange) {
  std::mt19937_64 random(6);
  const uint64_t beyond = this->kBeyond;
  const std::pair<uint64_t, uint64_t> ranges[] = {
      {1, 2}, {1, beyond - 1}, {beyond - 2, beyond - 1}, {1, beyond / 2}, {beyond / 2, beyond - 1}};
  for (const auto& [begin, end] : ranges) {
    std::vector<TypeParam> words(150);
    for (TypeParam& word : words) word = this->word_near(begin, end, random);
    ASSERT_NO_FATAL_FAILURE(this->expect_same(words, begin, end)) << begin << " to " << end;
  }
}

}  // namespace
}  // namespace heaptap::scan
