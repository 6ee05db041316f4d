// Serialization of a leak scan between the target's machine and the collector's. The live blocks are sent to the
// target; the findings of the collecting half there come back and are resolved here. Writer and reader; byte by byte in
// docs/wire.md.
//
//   blocks    count │ addresses │ sizes
//   unsettled count │ address, until when its release is owed │ count │ thread, address, size of its last release
//   findings  word bytes │ counts of bytes │ patterns │ types │ inner vtables │ lives │ root ranges │ root words │ frames │
//             thread-local segments │ possible pointers
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "capture/scan/findings.h"
#include "capture/scan/root_finder.h"
#include "capture/stream/live_heap.h"
#include "common/model/heap_scan.h"

namespace heaptap::stream {

// Only addresses and sizes, in any order.
std::vector<uint8_t> write_scanned_blocks(std::span<const model::ScannedBlock> blocks);
// None: damaged.
std::optional<std::vector<model::ScannedBlock>> read_scanned_blocks(std::span<const uint8_t> bytes);

std::vector<uint8_t> write_unsettled(const Unsettled& unsettled);
std::optional<Unsettled> read_unsettled(std::span<const uint8_t> bytes);

// Answer from the target's side. Its roots lack notes, a crash and the modules' read-only data.
struct ScanAnswer {
  unsigned word_bytes = 8;  // of the target
  scan::Roots roots;
  std::vector<model::BlockLife> lives;  // of the blocks, in the order sent; empty: all are alive
  scan::Findings findings;
};
// Empties the findings. In pieces of at least this size, except the last, which may be empty: the words of a large heap
// exceed a small machine's memory many times over, and are freed as they are written.
inline constexpr size_t kAnswerPieceBytes = size_t{120} << 10;
using PutPiece = std::function<void(std::span<const uint8_t> piece, bool is_last)>;
void write_scan_answer(ScanAnswer& answer, const PutPiece& put);
// In one piece.
std::vector<uint8_t> write_scan_answer(ScanAnswer& answer);
// None: damaged. Doesn't check whether it fits the blocks: HeapScanner::take() does.
std::optional<ScanAnswer> read_scan_answer(std::span<const uint8_t> bytes);

}  // namespace heaptap::stream
