#include "capture/scan/class_records.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "capture/scan/votes.h"

namespace heaptap::scan {
namespace {

using wire::PointerKind;

constexpr uint32_t kMaxPrivateBytes = 4096;
constexpr size_t kMaxPointers = 1024;  // of an object to others: what has more is a table
// A maker is the function that allocates, and its caller, as the one may be a wrapper.
constexpr size_t kMakerLevel = 1;
static_assert(kCallFrames[kMakerLevel] == 2);

std::span<const model::BlockPointer> pointers_of(const model::HeapScan& scan, uint32_t block) {
  const uint32_t begin = scan.pointers_begin[block];
  return std::span(scan.pointers).subspan(begin, scan.pointers_begin[block + 1] - begin);
}

// Who made each block.
std::vector<uint32_t> makers_of_blocks(const model::HeapScan& scan, const CallLevels& calls) {
  std::vector<uint32_t> makers;
  makers.reserve(scan.blocks.size());
  for (const model::ScannedBlock& block : scan.blocks) makers.push_back(call_of(calls[kMakerLevel], block.site));
  return makers;
}

// Who made the block whose start each block's first word points to: of class records the description of their type.
std::vector<uint32_t> makers_of_descriptions(const model::HeapScan& scan, const std::vector<uint32_t>& makers) {
  std::vector<uint32_t> of_descriptions(scan.blocks.size(), kNoCall);
  for (uint32_t i = 0; i < scan.blocks.size(); ++i) {
    const std::span<const model::BlockPointer> own = pointers_of(scan, i);
    if (own.empty() || own[0].offset != 0 || own[0].kind != PointerKind::kStart) continue;
    const uint32_t maker = makers[own[0].to];
    if (maker != makers[i]) of_descriptions[i] = maker;
  }
  return of_descriptions;
}

// `kinds`: of each block as a class record; kNoCall: it is none.
class ObjectFinder {
 public:
  ObjectFinder(const model::HeapScan& scan, const std::vector<Entrances>& entrances, const CallLevels& calls,
               const std::vector<uint32_t>& makers, const std::vector<uint32_t>& kinds, unsigned word_bytes)
      : scan_(scan), calls_(calls), makers_(makers), kinds_(kinds), word_bytes_(word_bytes) {
    for (size_t level = 0; level < kCallLevels; ++level) votes_[level].resize(call_count(calls[level]));
    vote(entrances, [](Votes& votes, uint32_t kind) { votes.propose(kind); });
    vote(entrances, [](Votes& votes, uint32_t kind) { votes.count(kind); });
  }

  // Whether the block has an object at this offset.
  [[nodiscard]] bool is_object(uint32_t block, uint32_t offset) const {
    const auto is_agreed = [&](uint32_t kind) {
      for (size_t level = 0; level < kCallLevels; ++level) {
        const uint32_t call = call_of(calls_[level], scan_.blocks[block].site);
        if (call != kNoCall && votes_[level][call].value == kind && votes_[level][call].agree()) return true;
      }
      return false;
    };
    const uint32_t kind = record_kind_at(block, offset);
    return kind != kNoCall && is_agreed(kind);
  }

 private:
  // Kind of the record whose start the word there points to, if that is the only block of this kind that the words of this block
  // point to: of a list or an array of pointers each word would do.
  [[nodiscard]] uint32_t record_kind_at(uint32_t block, uint32_t offset) const {
    const std::span<const model::BlockPointer> own = pointers_of(scan_, block);
    if (offset % word_bytes_ != 0 || offset > kMaxPrivateBytes || own.size() > kMaxPointers) return kNoCall;
    const auto at = std::ranges::lower_bound(own, offset / word_bytes_, {}, &model::BlockPointer::offset);
    if (at == own.end() || at->offset != offset / word_bytes_ || at->kind != PointerKind::kStart) return kNoCall;
    const uint32_t kind = kinds_[at->to];
    if (kind == makers_[block] || makers_[at->to] == makers_[block]) return kNoCall;
    const auto is_of_kind = [&](const model::BlockPointer& pointer) { return kinds_[pointer.to] == kind; };
    return std::ranges::count_if(own, is_of_kind) == 1 ? kind : kNoCall;
  }

  template <typename Take>
  void vote(const std::vector<Entrances>& entrances, Take take) {
    for (uint32_t i = 0; i < scan_.blocks.size(); ++i) {
      const uint32_t offset = entrances[i].first;
      if (offset == Entrances::kNone) continue;
      const uint32_t kind = record_kind_at(i, offset);
      for (size_t level = 0; level < kCallLevels; ++level) {
        const uint32_t call = call_of(calls_[level], scan_.blocks[i].site);
        if (call != kNoCall) take(votes_[level][call], kind);
      }
    }
  }

  const model::HeapScan& scan_;
  const CallLevels& calls_;
  const std::vector<uint32_t>& makers_;
  const std::vector<uint32_t>& kinds_;
  unsigned word_bytes_;
  std::array<std::vector<Votes>, kCallLevels> votes_;
};

}  // namespace

void mark_object_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls, unsigned word_bytes) {
  const std::vector<uint32_t> makers = makers_of_blocks(scan, calls);
  const auto mark = [](auto& list, const InteriorPointers& interior, const ObjectFinder& objects) {
    for (const auto& entry : interior.entries()) {
      auto& pointer = list[entry.pointer];
      if (pointer.kind == PointerKind::kInterior && objects.is_object(pointer.to, entry.offset)) {
        pointer.kind = PointerKind::kHeader;
      }
    }
  };
  const auto mark_by = [&](const std::vector<uint32_t>& kinds) {
    const ObjectFinder objects(scan, entrances, calls, makers, kinds, word_bytes);
    mark(scan.pointers, pointers, objects);
    mark(scan.roots, roots, objects);
  };
  mark_by(makers);
  mark_by(makers_of_descriptions(scan, makers));
}

}  // namespace heaptap::scan
