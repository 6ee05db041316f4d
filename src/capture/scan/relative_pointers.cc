#include "capture/scan/relative_pointers.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <span>
#include <tuple>

namespace heaptap::scan {
namespace {

constexpr size_t kFewestWords = 4;

class RelativeFinder {
 public:
  RelativeFinder(const model::HeapScan& scan, std::vector<BlockWord> words, const SiteCalls& calls, unsigned word_bytes)
      : scan_(scan), words_(std::move(words)), calls_(calls), word_bytes_(word_bytes) {}

  std::vector<BlockWord> find() {
    sort_by([](const BlockWord& word) { return std::tuple(word.from, word.offset); });
    for_each_group([](const BlockWord& word) { return word.from; },
                   [this](std::span<const BlockWord> words) { judge_table(words); });
    sort_by([this](const BlockWord& word) { return std::tuple(call_of_block(word.from), word.offset, word.from); });
    for_each_group([this](const BlockWord& word) { return std::tuple(call_of_block(word.from), word.offset); },
                   [this](std::span<const BlockWord> words) { judge_field(words); });
    std::ranges::sort(believed_, {}, [](const BlockWord& word) { return std::tuple(word.from, word.offset); });
    const auto again = std::ranges::unique(
        believed_, [](const BlockWord& a, const BlockWord& b) { return a.from == b.from && a.offset == b.offset; });
    believed_.erase(again.begin(), again.end());
    return std::move(believed_);
  }

 private:
  template <typename Key>
  void sort_by(Key key) {
    std::ranges::sort(words_, {}, key);
  }
  template <typename Key, typename Use>
  void for_each_group(Key key, Use use) {
    for (size_t begin = 0, end = 0; begin < words_.size(); begin = end) {
      while (end < words_.size() && key(words_[end]) == key(words_[begin])) ++end;
      if (end - begin >= kFewestWords) use(std::span<const BlockWord>(words_).subspan(begin, end - begin));
    }
  }

  [[nodiscard]] uint32_t call_of_block(uint32_t block) const { return call_of(calls_, scan_.blocks[block].site); }
  [[nodiscard]] int64_t distance(const BlockWord& word) const {
    return static_cast<int64_t>(scan_.blocks[word.to].address - scan_.blocks[word.from].address);
  }
  void believe(std::span<const BlockWord> words) { believed_.insert(believed_.end(), words.begin(), words.end()); }

  // A block that begins with distances, of blocks that one call allocated, each of another one.
  void judge_table(std::span<const BlockWord> words) {
    const uint32_t call = call_of_block(words[0].to);
    size_t count = 0;
    while (count < words.size() && words[count].offset == count && call_of_block(words[count].to) == call) ++count;
    if (call == kNoCall || count < kFewestWords) return;
    const std::span<const BlockWord> table = words.first(count);
    std::vector<uint32_t> held;
    for (const BlockWord& word : table) held.push_back(word.to);
    std::ranges::sort(held);
    if (std::ranges::adjacent_find(held) == held.end()) believe(table);
  }

  // One place in blocks that one call allocated: of four of these three have a distance there, and half of what is held so is
  // one call's. A size or a count may be the distance to a neighbour in each block: it is positive, and the same in many.
  void judge_field(std::span<const BlockWord> words) {
    const uint32_t call = call_of_block(words[0].from);
    if (call == kNoCall || 4 * words.size() < 3 * blocks_with(call, words[0].offset)) return;
    if (2 * max_of_one_call(words) < words.size()) return;
    const size_t telling = count_telling(words);
    if (telling >= kFewestWords && 2 * telling >= words.size()) believe(words);
  }

  // Negative distances, and positive ones that no other word has.
  [[nodiscard]] size_t count_telling(std::span<const BlockWord> words) const {
    std::vector<int64_t> distances;
    for (const BlockWord& word : words) distances.push_back(distance(word));
    std::ranges::sort(distances);
    size_t telling = 0;
    for (size_t i = 0; i < distances.size(); ++i) {
      const bool is_first = i == 0 || distances[i - 1] != distances[i];
      const bool is_last = i + 1 == distances.size() || distances[i + 1] != distances[i];
      telling += distances[i] < 0 || (is_first && is_last) ? 1 : 0;
    }
    return telling;
  }

  [[nodiscard]] size_t max_of_one_call(std::span<const BlockWord> words) const {
    boost::unordered_flat_map<uint32_t, size_t> counts;
    size_t most = 0;
    for (const BlockWord& word : words) {
      const uint32_t call = call_of_block(word.to);
      if (call != kNoCall) most = std::max(most, ++counts[call]);
    }
    return most;
  }

  // Number of the call's blocks with a word at that offset.
  size_t blocks_with(uint32_t call, uint32_t offset) {
    if (sizes_of_calls_.empty()) {
      for (const model::ScannedBlock& block : scan_.blocks) {
        const uint32_t of = call_of(calls_, block.site);
        if (of != kNoCall) sizes_of_calls_[of].push_back(block.size_bytes);
      }
      for (auto& [of, sizes] : sizes_of_calls_) std::ranges::sort(sizes);
    }
    const std::vector<uint64_t>& sizes = sizes_of_calls_[call];
    const uint64_t least = (uint64_t{offset} + 1) * word_bytes_;
    return static_cast<size_t>(sizes.end() - std::ranges::lower_bound(sizes, least));
  }

  const model::HeapScan& scan_;
  std::vector<BlockWord> words_;
  const SiteCalls& calls_;
  unsigned word_bytes_;
  boost::unordered_flat_map<uint32_t, std::vector<uint64_t>> sizes_of_calls_;
  std::vector<BlockWord> believed_;
};

}  // namespace

std::vector<BlockWord> find_relative_pointers(const model::HeapScan& scan, std::vector<BlockWord> words,
                                              const SiteCalls& calls, unsigned word_bytes) {
  if (words.size() < kFewestWords) return {};
  return RelativeFinder(scan, std::move(words), calls, word_bytes).find();
}

}  // namespace heaptap::scan
