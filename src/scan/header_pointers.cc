#include "scan/header_pointers.h"

#include "scan/scan_input.h"

namespace heaptap::scan {
namespace {

using wire::PointerKind;

constexpr uint32_t kMaxHeaderBytes = 4096;
constexpr uint32_t kFewestBlocks = 4;
constexpr uint32_t kAgreeingForOneOther = 16;
constexpr uint32_t kNone = 0xffffffff;

// Blocks that belong together and that something points to, by where the first of these pointers leads to.
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

class HeaderFinder {
 public:
  HeaderFinder(const model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
               std::span<const uint32_t> calls)
      : scan_(scan), calls_(calls), first_offsets_(scan.blocks.size(), kNone) {
    for (const auto& entry : pointers.entries()) note(scan.pointers[entry.pointer].to, entry.offset);
    for (const auto& entry : roots.entries()) note(scan.roots[entry.pointer].to, entry.offset);
    // Pointers of all other kinds are as good as those to the start.
    for (const model::BlockPointer& pointer : scan.pointers) note_certain(pointer.to, pointer.kind);
    for (const model::RootPointer& root : scan.roots) note_certain(root.to, root.kind);
    count();
  }

  // By the blocks of its stack, or else by all that the same call allocated.
  [[nodiscard]] bool is_behind_header(uint32_t block, uint32_t offset) const {
    const model::SiteId site = scan_.blocks[block].site;
    if (of_sites_[site].is_header(offset)) return true;
    const uint32_t call = call_of(site);
    return call != ScanInput::kNoCall && of_calls_[call].is_header(offset);
  }

 private:
  void note(uint32_t block, uint32_t offset) { first_offsets_[block] = std::min(first_offsets_[block], offset); }
  void note_certain(uint32_t block, PointerKind kind) {
    if (kind != PointerKind::kInterior && kind != PointerKind::kTagged) note(block, 0);
  }
  [[nodiscard]] uint32_t call_of(model::SiteId site) const {
    return site < calls_.size() ? calls_[site] : ScanInput::kNoCall;
  }

  template <typename Take>
  void each_votes(Take take) {
    for (size_t i = 0; i < scan_.blocks.size(); ++i) {
      if (first_offsets_[i] == kNone) continue;
      const model::SiteId site = scan_.blocks[i].site;
      take(of_sites_[site], first_offsets_[i]);
      if (const uint32_t call = call_of(site); call != ScanInput::kNoCall) take(of_calls_[call], first_offsets_[i]);
    }
  }

  void count() {
    size_t sites = 0;
    for (const model::ScannedBlock& block : scan_.blocks) sites = std::max(sites, size_t{block.site} + 1);
    size_t calls = 0;
    for (const uint32_t call : calls_) calls = std::max(calls, call == ScanInput::kNoCall ? 0 : size_t{call} + 1);
    of_sites_.resize(sites);
    of_calls_.resize(calls);
    each_votes([](Votes& votes, uint32_t offset) { votes.propose(offset); });
    each_votes([](Votes& votes, uint32_t offset) { votes.count(offset); });
  }

  const model::HeapScan& scan_;
  std::span<const uint32_t> calls_;
  std::vector<uint32_t> first_offsets_;  // by block; kNone: nothing points to it
  std::vector<Votes> of_sites_;
  std::vector<Votes> of_calls_;
};

}  // namespace

void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          std::span<const uint32_t> calls) {
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
