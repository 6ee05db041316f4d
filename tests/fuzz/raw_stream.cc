// Bytes that claim to be a stream of events from another machine: they are refused, or what comes of them can be coded. Half of
// the inputs are the stream itself; of the others the frames' heads are made here, so that what is in them is reached.
#include <cstdint>
#include <cstring>
#include <vector>

#include "collect/event_coder.h"
#include "collect/raw_stream.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"
#include "model/capture.h"
#include "trace/table_frames.h"

using namespace heaptap;

namespace {

std::vector<uint8_t> framed(fuzz::ByteSource& source) {
  std::vector<uint8_t> stream(collect::kRawStreamHeadBytes);
  std::memcpy(stream.data(), collect::kRawStreamMagic, 8);
  wire::put_u32(stream.data() + 8, collect::kRawStreamVersion);
  for (uint32_t number = 0; !source.empty(); ++number) {
    const auto type = static_cast<wire::FrameType>(source.take<uint8_t>() % 16);
    const std::span<const uint8_t> payload = source.bytes(source.take<uint16_t>());
    const auto bytes = static_cast<uint32_t>(payload.size());
    uint8_t head[wire::kFrameHeadBytes];
    wire::write_frame_head(head, {.type = type, .stored_bytes = bytes, .raw_bytes = bytes, .number = number},
                           payload.data());
    stream.insert(stream.end(), std::begin(head), std::end(head));
    stream.insert(stream.end(), payload.begin(), payload.end());
  }
  return stream;
}

void check(const log::RawEvents& events, const collect::AgentTables& tables) {
  for (const wire::RawEvent& event : events) {
    FUZZ_EXPECT(event.stack < tables.node_count() && event.thread <= wire::kMaxThreads);
  }
  for (uint32_t node = wire::kRootCount; node < tables.node_count(); ++node) {
    FUZZ_EXPECT(wire::node_parent(tables.node(node)) < node);
    FUZZ_EXPECT(wire::node_code(tables.node(node)) < tables.code_count());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const bool has_heads = source.take<uint8_t>() % 2 == 0;
  const std::span<const uint8_t> rest = has_heads ? source.rest() : std::span<const uint8_t>{};
  const std::vector<uint8_t> stream = has_heads ? std::vector(rest.begin(), rest.end()) : framed(source);
  collect::ReceivedStream received;
  model::Tables tables = trace::empty_tables();
  collect::EventCoder coder(received.tables(), tables, 1000, true);
  received.receive(stream);
  while (!received.state().is_empty) {
    log::RawEvents events;
    received.drain(events, true);
    received.take_modules(tables.modules);
    received.take_threads(tables.threads);
    FUZZ_EXPECT(events.size() <= stream.size());
    check(events, received.tables());
    model::EventBatch batch;
    for (std::span<wire::RawEvent> left = events; !left.empty();) {
      const size_t taken = coder.take(left, received.state().scale(), SIZE_MAX, true, batch);
      FUZZ_EXPECT(taken > 0);
      left = left.subspan(taken);
    }
    for (const model::Event& event : batch.events) FUZZ_EXPECT(event.site < tables.sites.size());
  }
  FUZZ_EXPECT(received.failure().empty() || (received.state().gaps & model::kGapDamagedLog) != 0);
  return 0;
}
