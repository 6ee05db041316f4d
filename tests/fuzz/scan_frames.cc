// The frames of a leak scan: whatever they hold, a scan that is taken refers only to what is there, and comes out the same
// when it is written and read again. The input is payloads, each behind its length in two bytes.
#include "record/trace/scan_frames.h"

#include <algorithm>
#include <cstdint>

#include "common/frames/table_frames.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"

using namespace heaptap;

namespace {

model::Tables made_up_tables() {
  model::Tables tables = frames::empty_tables();
  tables.codes.push_back({0x400000, 0, false});
  tables.stacks.push_back({0, 0});
  for (int i = 0; i < 50; ++i) tables.sites.push_back({model::EventKind::kAllocate, wire::Function::kMalloc, 8});
  tables.modules.resize(3);
  return tables;
}

void check(const model::HeapScan& scan, const model::Tables& tables) {
  const size_t block_count = scan.blocks.size();
  FUZZ_EXPECT(scan.pointers_begin.size() == block_count + 1 && scan.pointers_begin[0] == 0);
  FUZZ_EXPECT(std::ranges::is_sorted(scan.pointers_begin) && scan.pointers_begin.back() == scan.pointers.size());
  for (size_t i = 0; i < block_count; ++i) {
    const model::ScannedBlock& block = scan.blocks[i];
    FUZZ_EXPECT(block.site < tables.sites.size() && block.address + block.size_bytes >= block.address);
    FUZZ_EXPECT(i == 0 || block.address >= scan.blocks[i - 1].address);
    for (uint32_t p = scan.pointers_begin[i]; p < scan.pointers_begin[i + 1]; ++p) {
      FUZZ_EXPECT(scan.pointers[p].to < block_count && scan.pointers[p].offset < block.size_bytes);
      FUZZ_EXPECT(p == scan.pointers_begin[i] || scan.pointers[p].offset >= scan.pointers[p - 1].offset);
      FUZZ_EXPECT(static_cast<unsigned>(scan.pointers[p].kind) < wire::kPointerKindCount);
    }
  }
  for (const model::RootPointer& root : scan.roots) {
    FUZZ_EXPECT(root.to < block_count && static_cast<unsigned>(root.root) < wire::kRootKindCount);
    FUZZ_EXPECT(root.module == wire::kNoModule || root.module < tables.modules.size());
  }
}

bool equal(const model::HeapScan& a, const model::HeapScan& b) {
  const auto same_block = [](const model::ScannedBlock& x, const model::ScannedBlock& y) {
    return x.address == y.address && x.size_bytes == y.size_bytes && x.number == y.number && x.site == y.site &&
           x.type == y.type;
  };
  const auto same_pointer = [](const model::BlockPointer& x, const model::BlockPointer& y) {
    return x.to == y.to && x.offset == y.offset && x.kind == y.kind;
  };
  const auto same_root = [](const model::RootPointer& x, const model::RootPointer& y) {
    return x.to == y.to && x.kind == y.kind && x.root == y.root && x.thread == y.thread && x.address == y.address &&
           x.frame_code == y.frame_code && x.module == y.module && x.module_offset == y.module_offset;
  };
  return a.number == b.number && a.reason == b.reason && a.events_before == b.events_before && a.notes == b.notes &&
         a.pointers_begin == b.pointers_begin && std::ranges::equal(a.blocks, b.blocks, same_block) &&
         std::ranges::equal(a.pointers, b.pointers, same_pointer) && std::ranges::equal(a.roots, b.roots, same_root);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  static const model::Tables tables = made_up_tables();
  fuzz::ByteSource source(bytes, size_bytes);
  trace::ScanFrameReader reader;
  while (!source.empty() && !reader.whole()) {
    const auto payload = source.bytes(source.take<uint16_t>());
    wire::VarintReader in(payload.data(), payload.size());
    if (!reader.add(in, tables)) return 0;
  }
  if (!reader.whole()) return 0;
  const model::HeapScan scan = reader.take();
  check(scan, tables);
  trace::ScanFrameReader again;
  trace::ScanFrameWriter writer(scan, scan.events_before);
  while (const frames::ByteBuffer* payload = writer.next()) {
    wire::VarintReader in(payload->data(), payload->size());
    FUZZ_EXPECT(again.add(in, tables));
  }
  FUZZ_EXPECT(again.whole() && equal(scan, again.take()));
  return 0;
}
