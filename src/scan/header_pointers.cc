#include "scan/header_pointers.h"

#include <algorithm>
#include <array>
#include <vector>

namespace heaptap::scan {
namespace {

using wire::PointerKind;

constexpr uint32_t kMaxHeaderBytes = 4096;
constexpr uint32_t kFewestBlocks = 4;
constexpr uint32_t kAgreeingForOneOther = 16;
constexpr uint32_t kNone = 0xffffffff;

// Blocks that belong together and that something points to, by where one of these pointers leads to.
struct Votes {
  uint32_t offset = 0;  // that most of them agree in, if most do
  uint32_t lead = 0;    // of this offset over all others, while it is being found
  uint32_t agreeing = 0;
  uint32_t others = 0;

  // Boyer and Moore's way to find which one may have the majority.
  void propose(uint32_t other) {
    if (lead == 0) offset = other;
    if (offset == other) {
      ++lead;
    } else {
      --lead;
    }
  }
  void count(uint32_t other) { ++(offset == other ? agreeing : others); }

  [[nodiscard]] bool is_header(uint32_t asked) const {
    return asked == offset && offset != 0 && offset <= kMaxHeaderBytes && agreeing >= kFewestBlocks &&
           others <= agreeing / kAgreeingForOneOther;
  }
};

// Where the pointers to a block lead to, as offsets from its start.
struct Entrances {
  uint32_t first = kNone;  // 0 where a pointer is as good as one to the start; kNone: nothing points to it
  uint32_t last = 0;
  bool is_held = false;  // by a variable that points to the start, or by a block that points to both
};

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
    return from_start.is_header(offset) || (offset <= kMaxHeaderBytes && from_end.is_header(distance(block, offset)));
  }

 private:
  static uint32_t distance(const model::ScannedBlock& block, uint32_t offset) {
    const uint64_t rest = block.size_bytes > offset ? block.size_bytes - offset : 0;
    return static_cast<uint32_t>(std::min<uint64_t>(rest, kNone));
  }
};

class HeaderFinder {
 public:
  HeaderFinder(const model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
               const CallLevels& calls)
      : scan_(scan), calls_(calls), entrances_(scan.blocks.size()) {
    for (const auto& entry : pointers.entries()) note(scan.pointers[entry.pointer].to, entry.offset);
    for (const auto& entry : roots.entries()) note(scan.roots[entry.pointer].to, entry.offset);
    // Pointers of all other kinds are as good as those to the start.
    note_certain_of_blocks();
    for (const model::RootPointer& root : scan.roots) {
      if (is_certain(root.kind)) note_certain(root.to, true);
    }
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
  void note(uint32_t block, uint32_t offset) {
    Entrances& known = entrances_[block];
    known.first = std::min(known.first, offset);
    known.last = std::max(known.last, offset);
  }
  static bool is_certain(PointerKind kind) { return kind != PointerKind::kInterior && kind != PointerKind::kTagged; }
  void note_certain(uint32_t block, bool is_held) {
    entrances_[block].first = 0;
    entrances_[block].is_held |= is_held;
  }
  void note_certain_of_blocks() {
    std::vector<uint32_t> pointed_into_by(scan_.blocks.size(), model::kNoBlock);  // the last block that does
    for (uint32_t from = 0; from < scan_.blocks.size(); ++from) {
      const uint32_t begin = scan_.pointers_begin[from];
      const auto own = std::span(scan_.pointers).subspan(begin, scan_.pointers_begin[from + 1] - begin);
      for (const model::BlockPointer& pointer : own) {
        if (!is_certain(pointer.kind)) pointed_into_by[pointer.to] = from;
      }
      for (const model::BlockPointer& pointer : own) {
        if (is_certain(pointer.kind)) note_certain(pointer.to, pointed_into_by[pointer.to] == from);
      }
    }
  }

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
  std::vector<Entrances> entrances_;  // by block
  std::vector<Header> of_sites_;
  std::array<std::vector<Header>, kCallLevels> of_calls_;
};

}  // namespace

void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const CallLevels& calls) {
  if (pointers.entries().empty() && roots.entries().empty()) return;
  const HeaderFinder headers(scan, pointers, roots, calls);
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
