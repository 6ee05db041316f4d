// Bytes that claim to be what a scan found on another machine: they are refused, or a scan comes of them that holds together.
#include <cstdint>
#include <utility>

#include "capture/scan/heap_scanner.h"
#include "capture/stream/scan_bytes.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

// Blocks side by side, and some apart.
std::vector<model::ScannedBlock> made_up_blocks() {
  std::vector<model::ScannedBlock> blocks;
  for (uint64_t i = 0; i < 12; ++i) {
    const uint64_t gap = i / 4 * 0x300000;
    blocks.push_back(
        {.address = 0x10000 + gap + i * 32, .size_bytes = i % 4 * 16, .number = i + 1, .site = 0, .type = 0});
  }
  return blocks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  (void)stream::read_scanned_blocks({bytes, size_bytes});
  auto answer = stream::read_scan_answer({bytes, size_bytes});
  if (!answer) return 0;
  scan::HeapScanner scanner({.word_bytes = answer->word_bytes,
                             .blocks = made_up_blocks(),
                             .lives = std::move(answer->lives),
                             .root_ranges = std::move(answer->roots.ranges),
                             .root_words = std::move(answer->roots.words),
                             .frames = std::move(answer->roots.frames),
                             .thread_local_segments = {},
                             .read_only_data = {},
                             .threads = {},
                             .calls = {}});
  if (!scanner.take(std::move(answer->findings))) return 0;
  const model::HeapScan scan = scanner.resolve();
  FUZZ_EXPECT(scan.pointers_begin.size() == scan.blocks.size() + 1);
  FUZZ_EXPECT(scan.pointers_begin.back() == scan.pointers.size());
  for (size_t i = 0; i < scan.blocks.size(); ++i) {
    for (uint32_t at = scan.pointers_begin[i]; at < scan.pointers_begin[i + 1]; ++at) {
      FUZZ_EXPECT(scan.pointers[at].to < scan.blocks.size());
      FUZZ_EXPECT(uint64_t{scan.pointers[at].offset} * answer->word_bytes < scan.blocks[i].size_bytes);
    }
  }
  for (const model::RootPointer& root : scan.roots) FUZZ_EXPECT(root.to < scan.blocks.size());
  return 0;
}
