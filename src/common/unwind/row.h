// Unwind row: the rule that leads from a frame to its caller's. Freestanding, the same for every CPU.
#pragma once
#include <stdint.h>

namespace heaptap::unwind {

// SP, FP: the stack and frame pointer while the row's function runs; CFA: the caller's SP after the return. Saved
// registers lie at a distance from the CFA unless noted otherwise.
enum class RowKind : uint8_t {
  kUnknown = 0,    // not determined yet
  kStackOffset,    // CFA = SP + cfa
  kFrameOffset,    // CFA = FP + cfa
  kFrameIndirect,  // CFA = *(FP + cfa); the caller's FP is at *(FP + fp)  (realigned stacks)
  kSignal,         // a signal trampoline: the interrupted registers are at SP
  kEnd,            // the thread's first frame
  kNoTable,        // this code has no CFI
  kUnsupported,    // CFI that rows can't represent
  // On CPUs with a link register only:
  kStackLeaf,    // CFA = SP + cfa; the return address is still in the link register
  kFrameLeaf,    // CFA = FP + cfa; the same
  kStackRecord,  // CFA = SP + cfa; return address at SP + ra, the caller's FP at SP + fp  (far below the CFA)
  kFrameRecord,  // CFA = FP + cfa; return address at FP + ra, the caller's FP at FP + fp
  kStackReturn,  // CFA = SP + cfa; return address at SP + ra, the caller's FP unchanged
  kStackPair,    // CFA = SP + cfa; the caller's FP at CFA + fp, the return address behind it  (variadic functions)
  kFramePair,    // CFA = FP + cfa; the same
  // One code is free.
};

// Row in one word: keeps tables small, and takes one load. All distances are signed and in words of the CPU.
//
//    63                       19 18            9 8        4 3      0
//   ┌───────────────────────────┬───────────────┬──────────┬────────┐
//   │ cfa (45)                  │ fp (10)       │ ra (5)   │ kind(4)│
//   └───────────────────────────┴───────────────┴──────────┴────────┘
//
// cfa  location of the CFA
// fp   location of the caller's frame pointer; 0: unchanged, except for kFrameIndirect and the records, which always save it
// ra   location of the return address
//
// The cfa is at the top, so that a row with a small one can be shifted up to make room below (agent/core/rule_table.h).
// A row doesn't record signed return addresses: the walk clears all bits outside of UnwoundCpu::address_mask(), which a
// plain address doesn't have.
class Row {
 public:
  static constexpr unsigned kKindBits = 4;
  static constexpr unsigned kRaBits = 5;
  static constexpr unsigned kFpBits = 10;
  static constexpr unsigned kCfaShift = kKindBits + kRaBits + kFpBits;

  constexpr Row() = default;
  constexpr explicit Row(RowKind kind) : word_(static_cast<uint8_t>(kind)) {}
  // The distances must fit.
  constexpr Row(RowKind kind, int64_t ra_words, int64_t fp_words, int64_t cfa_words)
      : word_(static_cast<uint64_t>(cfa_words) << kCfaShift |
              (static_cast<uint64_t>(fp_words) & ((1u << kFpBits) - 1)) << (kKindBits + kRaBits) |
              (static_cast<uint64_t>(ra_words) & ((1u << kRaBits) - 1)) << kKindBits | static_cast<uint8_t>(kind)) {}

  static constexpr bool fits(int64_t ra_words, int64_t fp_words) {
    return fits_in(ra_words, kRaBits) && fits_in(fp_words, kFpBits);
  }
  static constexpr bool fits_in(int64_t value, unsigned bits) {
    return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
  }

  [[nodiscard]] constexpr RowKind kind() const { return static_cast<RowKind>(word_ & ((1u << kKindBits) - 1)); }
  [[nodiscard]] constexpr int64_t cfa_words() const { return static_cast<int64_t>(word_) >> kCfaShift; }
  [[nodiscard]] constexpr int64_t fp_words() const { return signed_at(kKindBits + kRaBits, kFpBits); }
  [[nodiscard]] constexpr int64_t ra_words() const { return signed_at(kKindBits, kRaBits); }

  [[nodiscard]] constexpr uint64_t word() const { return word_; }
  static constexpr Row of_word(uint64_t word) {
    Row row;
    row.word_ = word;
    return row;
  }

  friend bool operator==(const Row&, const Row&) = default;

 private:
  [[nodiscard]] constexpr int64_t signed_at(unsigned shift, unsigned bits) const {
    return static_cast<int64_t>(word_ << (64 - shift - bits)) >> (64 - bits);
  }

  uint64_t word_ = 0;
};
static_assert(sizeof(Row) == 8);

}  // namespace heaptap::unwind
