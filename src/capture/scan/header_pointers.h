// Pointers after a header. A function that allocates for its callers may store a header before the returned memory: a
// size, a reference count, list links. The program then has only pointers into the middle of such blocks, all at one
// offset. For the acceptance rules see docs/decisions/0039-headers-by-agreement.md. Private to scan/.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "capture/scan/entrances.h"
#include "capture/scan/interior_pointers.h"
#include "capture/scan/scan_input.h"
#include "capture/scan/shares.h"
#include "capture/scan/votes.h"
#include "common/model/heap_scan.h"

namespace heaptap::scan {

// Headers of blocks of one stack, or of one call. A header has one length, and the first pointer leads behind it. Or what is behind
// the header has one length: operands in front of an object, as many as each has. Then the last pointers agree in how far from the
// end they lead to. Or the header is one share of blocks of many sizes.
struct HeaderVotes {
  Votes from_start;
  Votes from_end;
  ShareVotes shares;
};

// Headers of blocks, by stack and by call. The scan and the calls must outlive it.
class Headers {
 public:
  Headers() = default;  // none is known
  Headers(const model::HeapScan& scan, const std::vector<Entrances>& entrances, const CallLevels& calls);

  // By the blocks of its stack, or else by all that the same calls allocated.
  [[nodiscard]] bool end_at(uint32_t block, uint64_t offset) const;

 private:
  template <typename Take>
  void vote(const std::vector<Entrances>& entrances, Take take);

  const model::HeapScan* scan_ = nullptr;
  const CallLevels* calls_ = nullptr;
  std::vector<HeaderVotes> of_sites_;
  std::array<std::vector<HeaderVotes>, kCallLevels> of_calls_;
};

// Sets kHeader for accepted pointers.
void mark_header_pointers(model::HeapScan& scan, const InteriorPointers& pointers, const InteriorPointers& roots,
                          const Headers& headers);

}  // namespace heaptap::scan
