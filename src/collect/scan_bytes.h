// A leak scan's seam as bytes, for a collector that is not on the target's machine. The live blocks go there; what the half
// of the scan beside the stopped target found in its memory comes back, and is resolved here. Writer and reader; byte by
// byte in docs/wire.md.
//
//   blocks    count │ addresses │ sizes
//   unsettled count │ address, until when its release is owed │ count │ thread, address, size of what it released last
//   findings  word bytes │ counts of bytes │ patterns │ types │ inner vtables │ lives │ root ranges │ root words │ frames │
//             thread-local segments │ words that may be pointers
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "collect/live_heap.h"
#include "model/heap_scan.h"
#include "scan/findings.h"
#include "scan/root_finder.h"

namespace heaptap::collect {

// Addresses and sizes alone, in any order.
std::vector<uint8_t> write_scanned_blocks(std::span<const model::ScannedBlock> blocks);
// Nothing: the bytes are damaged.
std::optional<std::vector<model::ScannedBlock>> read_scanned_blocks(std::span<const uint8_t> bytes);

std::vector<uint8_t> write_unsettled(const Unsettled& unsettled);
std::optional<Unsettled> read_unsettled(std::span<const uint8_t> bytes);

// What comes back. Its roots are without their notes and the modules' read-only data.
struct ScanAnswer {
  unsigned word_bytes = 8;  // of the target
  scan::Roots roots;
  std::vector<model::BlockLife> lives;  // of the blocks, in the order in which they were sent; empty: all are alive
  scan::Findings findings;
};
// Empties the findings. In pieces of at least so many bytes, but the last one, which may be empty: the words of a large heap are many
// times what there is memory for on a small machine, and are given back as they are written.
inline constexpr size_t kAnswerPieceBytes = size_t{120} << 10;
using PutPiece = std::function<void(std::span<const uint8_t> piece, bool is_last)>;
void write_scan_answer(ScanAnswer& answer, const PutPiece& put);
// In one.
std::vector<uint8_t> write_scan_answer(ScanAnswer& answer);
// Nothing: the bytes are damaged. Whether they fit the blocks is for HeapScanner::take() to find out.
std::optional<ScanAnswer> read_scan_answer(std::span<const uint8_t> bytes);

}  // namespace heaptap::collect
