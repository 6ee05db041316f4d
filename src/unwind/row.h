// A row of unwind rules: how to get from a frame to its caller's. Freestanding, the same for every CPU.
#pragma once
#include <stdint.h>

namespace heaptap::unwind {

// SP, FP: the stack and frame pointer while the row's function runs; CFA: the caller's SP once it has returned. What was
// saved lies at a distance from the CFA, but where it says otherwise.
enum class RowKind : uint8_t {
  kUnknown = 0,    // not looked up yet
  kStackOffset,    // CFA = SP + cfa
  kFrameOffset,    // CFA = FP + cfa
  kFrameIndirect,  // CFA = *(FP + cfa); the caller's FP is at *(FP + fp)  (realigned stacks)
  kSignal,         // a signal's trampoline: the interrupted registers are at SP
  kEnd,            // the thread's first frame
  kNoTable,        // this code has no CFI
  kUnsupported,    // CFI of another shape
  // On CPUs with a link register only:
  kStackLeaf,    // CFA = SP + cfa; the return address is in the link register still
  kFrameLeaf,    // CFA = FP + cfa; the same
  kStackRecord,  // CFA = SP + cfa; return address at SP + ra, the caller's FP at SP + fp  (far below the CFA)
  kFrameRecord,  // CFA = FP + cfa; return address at FP + ra, the caller's FP at FP + fp
  // Four codes are free.
};

// One word, so that a table of them is small and one is read in one go. All distances are signed and in words of the CPU.
//
//    63                       19 18            9 8        4 3      0
//   ┌───────────────────────────┬───────────────┬──────────┬────────┐
//   │ cfa (45)                  │ fp (10)       │ ra (5)   │ kind(4)│
//   └───────────────────────────┴───────────────┴──────────┴────────┘
//
// cfa  where the CFA is
// fp   where the caller's frame pointer is; 0: it is unchanged, but for kFrameIndirect and the records, which always save it
// ra   where the return address is
//
// The cfa is at the top, so that who has few words in it can shift the row up and keep something below (agent/core/rule_table.h).
// That a return address is signed isn't in a row: the walk clears the bits that are no address's (UnwoundCpu::address_mask()),
// and a plain address has none of them.
class Row {
 public:
  static constexpr unsigned kKindBits = 4;
  static constexpr unsigned kRaBits = 5;
  static constexpr unsigned kFpBits = 10;
  static constexpr unsigned kCfaShift = kKindBits + kRaBits + kFpBits;

  constexpr Row() = default;
  constexpr explicit Row(RowKind kind) : word_(static_cast<uint8_t>(kind)) {}
  // The distances have to fit.
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
