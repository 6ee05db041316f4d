// Buffer of possible pointers, to be resolved later. 8 bytes each: the value in the upper 48 bits, below it the
// distance from the last word, in units of 4 bytes. A value of 0 marks that the next entry is a whole position (or the
// origin of the following words), or that the next word has another form. Private to scan/.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace heaptap::scan {

enum class WordForm : uint8_t {
  kAddress,
  kTagged,    // the value is the word with its tag bits cleared
  kRelative,  // the value is the sum of the word and the address of its block
};

struct Candidate {
  uint64_t value;
  uint64_t position;  // address of the word
  uint32_t origin;    // as passed to begin()
  WordForm form = WordForm::kAddress;
};

class CandidateLog {
 public:
  // Words added from now on have this origin.
  void begin(uint32_t origin) {
    put(kOrigin);
    put(origin);
  }

  // `value` is below 2^48 and not 0; positions are multiples of kPositionBytes. Most compact for ascending positions.
  void add(uint64_t value, uint64_t position, WordForm form = WordForm::kAddress) {
    if (form != WordForm::kAddress) put(form == WordForm::kTagged ? kTagged : kRelative);
    const uint64_t distance = (position - last_position_) / kPositionBytes;
    last_position_ = position;
    if (distance >= kMaxDistance) [[unlikely]] {
      put(kPosition);
      put(position);
      put(value << kDistanceBits);
    } else {
      put(value << kDistanceBits | distance);
    }
  }

  [[nodiscard]] static bool can_hold(uint64_t value, uint64_t position) {
    return value != 0 && value >> (64 - kDistanceBits) == 0 && position % kPositionBytes == 0;
  }

  [[nodiscard]] size_t bytes() const { return chunks_.size() * kChunkEntries * sizeof(uint64_t); }

  // Upper bound of the number of added words.
  [[nodiscard]] size_t max_candidates() const { return chunks_.size() * kChunkEntries; }

  // Calls take(candidate) for each, in order, frees memory on the way, and is empty then.
  template <typename Take>
  void drain(Take take) {
    for (size_t i = 0; i < chunks_.size(); ++i) {
      const size_t end = i + 1 == chunks_.size() ? used_ : kChunkEntries;
      for (size_t entry = 0; entry < end; ++entry) decode(chunks_[i][entry], take);
      chunks_[i].reset();
    }
    chunks_.clear();
    used_ = kChunkEntries;
  }

 private:
  static constexpr size_t kChunkEntries = size_t{1} << 17;
  static constexpr uint64_t kPositionBytes = 4;  // the shortest word
  static constexpr unsigned kDistanceBits = 16;
  static constexpr uint64_t kMaxDistance = 1u << kDistanceBits;
  static constexpr uint64_t kPosition = 1;
  static constexpr uint64_t kOrigin = 2;
  static constexpr uint64_t kTagged = 3;
  static constexpr uint64_t kRelative = 4;

  void put(uint64_t entry) {
    if (used_ == kChunkEntries) {
      chunks_.push_back(std::make_unique_for_overwrite<uint64_t[]>(kChunkEntries));
      used_ = 0;
    }
    chunks_.back()[used_++] = entry;
  }

  template <typename Take>
  void decode(uint64_t entry, Take& take) {
    if (pending_ != 0) {
      (pending_ == kPosition ? read_.position : origin_entry_) = entry;
      read_.origin = static_cast<uint32_t>(origin_entry_);
      pending_ = 0;
    } else if (entry == kTagged || entry == kRelative) {
      read_.form = entry == kTagged ? WordForm::kTagged : WordForm::kRelative;
    } else if (entry >> kDistanceBits == 0) {
      pending_ = entry;
    } else {
      read_.value = entry >> kDistanceBits;
      read_.position += (entry & (kMaxDistance - 1)) * kPositionBytes;
      take(static_cast<const Candidate&>(read_));
      read_.form = WordForm::kAddress;
    }
  }

  std::vector<std::unique_ptr<uint64_t[]>> chunks_;
  size_t used_ = kChunkEntries;  // of the last chunk
  uint64_t last_position_ = 0;
  Candidate read_{};  // the last one that was decoded
  uint64_t origin_entry_ = 0;
  uint64_t pending_ = 0;
};

}  // namespace heaptap::scan
