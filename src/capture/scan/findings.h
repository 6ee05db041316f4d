// Result of a scan's collecting half, which runs beside the stopped target, for its resolving half.
#pragma once
#include <cstdint>
#include <vector>

#include "capture/scan/candidate_log.h"

namespace heaptap::scan {

struct Findings {
  // By block, in address order, without those that a scan leaves out.
  std::vector<uint8_t> patterns;        // of its first words, see BlockHeads
  std::vector<uint64_t> types;          // ScannedBlock::type
  std::vector<uint64_t> inner_vtables;  // BlockHeads::note_inner_vtable(), ascending
  CandidateLog candidates;  // origins: PointerResolver::kInBlocks, or an index into the ranges of roots in order
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;
  uint64_t unread_bytes = 0;  // that should have been read
};

}  // namespace heaptap::scan
