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
// Class records are known by who makes them: the function that allocates, and its caller, as the one may be a wrapper.
constexpr size_t kMakerLevel = 1;
static_assert(kCallFrames[kMakerLevel] == 2);

class ObjectFinder {
 public:
  ObjectFinder(const model::HeapScan& scan, const std::vector<Entrances>& entrances, const CallLevels& calls,
               unsigned word_bytes)
      : scan_(scan), calls_(calls), word_bytes_(word_bytes) {
    for (size_t level = 0; level < kCallLevels; ++level) {
      size_t count = 0;
      for (const uint32_t call : calls[level]) count = std::max(count, call == kNoCall ? 0 : size_t{call} + 1);
      votes_[level].resize(count);
    }
    vote(entrances, [](Votes& votes, uint32_t maker) { votes.propose(maker); });
    vote(entrances, [](Votes& votes, uint32_t maker) { votes.count(maker); });
  }

  // Whether the block has an object so far behind its start.
  [[nodiscard]] bool is_object(uint32_t block, uint32_t offset) const {
    const auto is_agreed = [&](uint32_t maker) {
      for (size_t level = 0; level < kCallLevels; ++level) {
        const uint32_t call = call_of(calls_[level], scan_.blocks[block].site);
        if (call != kNoCall && votes_[level][call].value == maker && votes_[level][call].agree()) return true;
      }
      return false;
    };
    const uint32_t maker = maker_at(block, offset);
    return maker != kNoCall && is_agreed(maker);
  }

 private:
  [[nodiscard]] std::span<const model::BlockPointer> pointers_of(uint32_t block) const {
    const uint32_t begin = scan_.pointers_begin[block];
    return std::span(scan_.pointers).subspan(begin, scan_.pointers_begin[block + 1] - begin);
  }
  [[nodiscard]] uint32_t maker_of(uint32_t block) const {
    return call_of(calls_[kMakerLevel], scan_.blocks[block].site);
  }

  // Who made the block whose start the word there points to, if that is the only block of this maker that the words of this block
  // point to: of a list or an array of pointers each word would do.
  [[nodiscard]] uint32_t maker_at(uint32_t block, uint32_t offset) const {
    const std::span<const model::BlockPointer> own = pointers_of(block);
    if (offset % word_bytes_ != 0 || offset > kMaxPrivateBytes || own.size() > kMaxPointers) return kNoCall;
    const auto at = std::ranges::lower_bound(own, offset / word_bytes_, {}, &model::BlockPointer::offset);
    if (at == own.end() || at->offset != offset / word_bytes_ || at->kind != PointerKind::kStart) return kNoCall;
    const uint32_t maker = maker_of(at->to);
    if (maker == maker_of(block)) return kNoCall;
    const auto is_of_maker = [&](const model::BlockPointer& pointer) { return maker_of(pointer.to) == maker; };
    return std::ranges::count_if(own, is_of_maker) == 1 ? maker : kNoCall;
  }

  template <typename Take>
  void vote(const std::vector<Entrances>& entrances, Take take) {
    for (uint32_t i = 0; i < scan_.blocks.size(); ++i) {
      const uint32_t offset = entrances[i].first;
      if (offset == Entrances::kNone) continue;
      const uint32_t maker = maker_at(i, offset);
      for (size_t level = 0; level < kCallLevels; ++level) {
        const uint32_t call = call_of(calls_[level], scan_.blocks[i].site);
        if (call != kNoCall) take(votes_[level][call], maker);
      }
    }
  }

  const model::HeapScan& scan_;
  const CallLevels& calls_;
  unsigned word_bytes_;
  std::array<std::vector<Votes>, kCallLevels> votes_;
};

}  // namespace

void mark_object_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const std::vector<Entrances>& entrances, const CallLevels& calls, unsigned word_bytes) {
  const ObjectFinder objects(scan, entrances, calls, word_bytes);
  const auto mark = [&](auto& list, const InteriorPointers& interior) {
    for (const auto& entry : interior.entries()) {
      auto& pointer = list[entry.pointer];
      if (pointer.kind == PointerKind::kInterior && objects.is_object(pointer.to, entry.offset)) {
        pointer.kind = PointerKind::kHeader;
      }
    }
  };
  mark(scan.pointers, pointers);
  mark(scan.roots, roots);
}

}  // namespace heaptap::scan
