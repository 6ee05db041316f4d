// Payloads of event frames, with tables that are made up: what is accepted refers only to what is there, and comes out the
// same when it is written and read again.
#include <cstdint>

#include "common/frames/table_frames.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"
#include "record/trace/event_frame.h"

using namespace heaptap;

namespace {

constexpr uint64_t kResolutionNs = 1000;

// Some sites of each kind.
model::Tables made_up_tables(size_t site_count) {
  model::Tables tables = frames::empty_tables();
  for (size_t i = 0; i < site_count; ++i) {
    const auto kind = static_cast<model::EventKind>(1 + i % static_cast<size_t>(model::EventKind::kUnmap));
    tables.sites.push_back({kind, wire::Function::kMalloc, static_cast<model::StackId>(i % wire::kRootCount)});
  }
  return tables;
}

void check(const model::EventBatch& batch, const model::Tables& tables) {
  model::BlockNumber next = batch.first_block;
  for (const model::Event& event : batch.events) {
    FUZZ_EXPECT(event.site < tables.sites.size());
    const model::EventKind kind = tables.sites[event.site].kind;
    if (kind == model::EventKind::kRelease) FUZZ_EXPECT(event.size_or_block < next);
    if (kind == model::EventKind::kAllocate) ++next;
  }
  for (const model::TimeMark& mark : batch.time_marks) FUZZ_EXPECT(mark.first_event <= batch.events.size());
  for (const model::BadRelease& bad : batch.bad_releases) {
    FUZZ_EXPECT(bad.event < batch.events.size());
    if (bad.block_known)
      FUZZ_EXPECT(bad.allocated_at < tables.sites.size() && bad.first_released_at < tables.sites.size());
  }
}

bool equal(const model::EventBatch& a, const model::EventBatch& b) {
  const auto same = [](const model::Event& x, const model::Event& y) {
    return x.site == y.site && x.thread == y.thread && x.size_or_block == y.size_or_block && x.address == y.address;
  };
  const auto same_mark = [](const model::TimeMark& x, const model::TimeMark& y) {
    const bool overflowed = x.time_ns % kResolutionNs != 0;  // of a time that is no multiple only the order is kept
    return x.first_event == y.first_event && (overflowed || x.time_ns == y.time_ns);
  };
  const bool same_marks = a.events.empty() || std::ranges::equal(a.time_marks, b.time_marks, same_mark);
  return a.first_block == b.first_block && std::ranges::equal(a.events, b.events, same) && same_marks &&
         a.bad_releases.size() == b.bad_releases.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const model::Tables tables = made_up_tables(source.take<uint8_t>());
  const std::span<const uint8_t> payload = source.rest();
  trace::EventFrameReader reader;
  for (const bool with_addresses : {false, true}) {
    model::EventBatch batch;
    wire::VarintReader in(payload.data(), payload.size());
    if (!reader.read(in, tables, kResolutionNs, with_addresses, batch)) continue;
    check(batch, tables);
    if (!with_addresses) continue;
    static trace::EventFrameWriter writer(1);
    const frames::ByteBuffer& written = writer.write(batch, tables.sites, kResolutionNs);
    wire::VarintReader again(written.data(), written.size());
    model::EventBatch copy;
    FUZZ_EXPECT(reader.read(again, tables, kResolutionNs, true, copy));
    FUZZ_EXPECT(equal(batch, copy));
  }
  return 0;
}
