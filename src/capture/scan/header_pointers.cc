#include "capture/scan/header_pointers.h"

#include <algorithm>
#include <array>
#include <vector>

#include "capture/scan/votes.h"

namespace heaptap::scan {
namespace {

using wire::PointerKind;

constexpr uint32_t kMaxHeaderBytes = 4096;
constexpr uint32_t kNone = Entrances::kNone;

// Whether the blocks that something points to agree in this offset. Votes are where one of these pointers leads to.
bool is_header(const Votes& votes, uint32_t offset) {
  return offset == votes.value && offset != 0 && offset <= kMaxHeaderBytes && votes.agree();
}

// A header has one length, and the first pointer leads behind it. Or what is behind the header has one length: operands in front
// of an object, as many as each has. Then the last pointers agree in how far from the end they lead to. Blocks whose start something
// else points to have no say in that: it is an operand, in a list of those with one value. Not so where one holder has both, which
// is a buffer and a place in it.
struct Header {
  Votes from_start;
  Votes from_end;

  template <typename Take>
  void vote(const model::ScannedBlock& block, const Entrances& entrances, Take take) {
    take(from_start, entrances.first);
    if (entrances.first != 0 || entrances.is_held) {
      take(from_end, entrances.is_held ? kNone : distance(block, entrances.last));
    }
  }
  [[nodiscard]] bool ends_at(const model::ScannedBlock& block, uint32_t offset) const {
    return is_header(from_start, offset) || (offset <= kMaxHeaderBytes && is_header(from_end, distance(block, offset)));
  }

 private:
  static uint32_t distance(const model::ScannedBlock& block, uint32_t offset) {
    const uint64_t rest = block.size_bytes > offset ? block.size_bytes - offset : 0;
    return static_cast<uint32_t>(std::min<uint64_t>(rest, kNone));
  }
};

class HeaderFinder {
 public:
  HeaderFinder(const model::HeapScan& scan, const std::vector<Entrances>& entrances, const CallLevels& calls)
      : scan_(scan), calls_(calls), entrances_(entrances) {
    count();
  }

  // By the blocks of its stack, or else by all that the same calls allocated.
  [[nodiscard]] bool is_behind_header(uint32_t block, uint32_t offset) const {
    const model::ScannedBlock& held = scan_.blocks[block];
    if (of_sites_[held.site].ends_at(held, offset)) return true;
    for (size_t level = 0; level < kCallLevels; ++level) {
      const uint32_t call = call_of(calls_[level], held.site);
      if (call != kNoCall && of_calls_[level][call].ends_at(held, offset)) return true;
    }
    return false;
  }

 private:
  template <typename Take>
  void vote(Take take) {
    for (size_t i = 0; i < scan_.blocks.size(); ++i) {
      const Entrances& entrances = entrances_[i];
      if (entrances.first == kNone) continue;
      const model::ScannedBlock& block = scan_.blocks[i];
      of_sites_[block.site].vote(block, entrances, take);
      for (size_t level = 0; level < kCallLevels; ++level) {
        const uint32_t call = call_of(calls_[level], block.site);
        if (call != kNoCall) of_calls_[level][call].vote(block, entrances, take);
      }
    }
  }

  void count() {
    size_t sites = 0;
    for (const model::ScannedBlock& block : scan_.blocks) sites = std::max(sites, size_t{block.site} + 1);
    of_sites_.resize(sites);
    for (size_t level = 0; level < kCallLevels; ++level) {
      size_t calls = 0;
      for (const uint32_t call : calls_[level]) calls = std::max(calls, call == kNoCall ? 0 : size_t{call} + 1);
      of_calls_[level].resize(calls);
    }
    vote([](Votes& votes, uint32_t offset) { votes.propose(offset); });
    vote([](Votes& votes, uint32_t offset) { votes.count(offset); });
  }

  const model::HeapScan& scan_;
  const CallLevels& calls_;
  const std::vector<Entrances>& entrances_;  // by block
  std::vector<Header> of_sites_;
  std::array<std::vector<Header>, kCallLevels> of_calls_;
};

}  // namespace

void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls) {
  const HeaderFinder headers(scan, entrances, calls);
  const auto mark = [&](auto& list, const InteriorPointers& interior) {
    for (const auto& entry : interior.entries()) {
      auto& pointer = list[entry.pointer];
      if (headers.is_behind_header(pointer.to, entry.offset)) pointer.kind = PointerKind::kHeader;
    }
  };
  mark(scan.pointers, pointers);
  mark(scan.roots, roots);
}

}  // namespace heaptap::scan
