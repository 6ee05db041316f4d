// Bytes that claim to be a stream of events from another machine: they are refused, or what comes of them can be coded. Half of
// the inputs are the stream itself; of the others the frames' heads are made here, so that what is in them is reached.
#include <cstdint>
#include <cstring>
#include <vector>

#include "capture/stream/frame_packing.h"
#include "capture/stream/raw_stream.h"
#include "common/frames/table_frames.h"
#include "common/model/capture.h"
#include "fuzz/support/byte_source.h"
#include "fuzz/support/expect.h"
#include "record/ingest/event_coder.h"

using namespace heaptap;

namespace {

// Frames with heads that fit; beyond the types that there are: one that is missing, or one that comes twice.
std::vector<uint8_t> framed(fuzz::ByteSource& source) {
  constexpr uint8_t kTypes = static_cast<uint8_t>(wire::FrameType::kCodeNames);
  constexpr uint8_t kMissing = kTypes;
  constexpr uint8_t kTwice = kTypes + 1;
  std::vector<uint8_t> stream(stream::kRawStreamHeadBytes);
  std::memcpy(stream.data(), stream::kRawStreamMagic, 8);
  wire::put_u32(stream.data() + 8, stream::kRawStreamVersion);
  stream[12] = stream::EventGuesses::kLeastTableBits;
  uint32_t number = 0;
  while (!source.empty()) {
    const auto type = static_cast<uint8_t>(source.take<uint8_t>() % (kTwice + 1));
    if (type == kMissing) ++number;
    if (type == kTwice && number > 0) --number;
    if (type >= kTypes) continue;
    const std::span<const uint8_t> payload = source.bytes(source.take<uint16_t>());
    const auto bytes = static_cast<uint32_t>(payload.size());
    uint8_t head[wire::kFrameHeadBytes];
    wire::write_frame_head(
        head,
        {.type = static_cast<wire::FrameType>(type), .stored_bytes = bytes, .raw_bytes = bytes, .number = number++},
        payload.data());
    stream.insert(stream.end(), std::begin(head), std::end(head));
    stream.insert(stream.end(), payload.begin(), payload.end());
  }
  return stream;
}

void check(const log::RawEvents& events, stream::ReceivedStream& received) {
  const stream::AgentTables& tables = received.tables();
  for (const wire::RawEvent& event : events) {
    const bool is_note = event.kind() == wire::RecordKind::kNote;
    FUZZ_EXPECT((is_note || event.stack < tables.node_count()) && event.thread <= wire::kMaxThreads);
    if (is_note) FUZZ_EXPECT(received.take_text(event.stack).size() <= wire::kMaxNoteTextBytes);
  }
  for (uint32_t node = wire::kRootCount; node < tables.node_count(); ++node) {
    const uint32_t code = wire::node_code(tables.node(node));
    FUZZ_EXPECT(wire::node_parent(tables.node(node)) < node);
    if (wire::is_label_code(code)) {
      const auto label = tables.label(code & ~wire::kLabelCode);
      FUZZ_EXPECT(label && label->parent < (code & ~wire::kLabelCode));
    } else {
      FUZZ_EXPECT(code < tables.code_count());
    }
  }
}

// Of what was received, since a frame may stand for more than its bytes.
constexpr size_t kMaxEventsOfByte = 64 * 64;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size_bytes) {
  fuzz::ByteSource source(bytes, size_bytes);
  const bool has_heads = source.take<uint8_t>() % 2 == 0;
  const std::span<const uint8_t> rest = has_heads ? source.rest() : std::span<const uint8_t>{};
  const std::vector<uint8_t> stream = has_heads ? std::vector(rest.begin(), rest.end()) : framed(source);
  stream::DeflateUnpacker unpacker;
  stream::ReceivedStream received(&unpacker);
  model::Tables tables = frames::empty_tables();
  ingest::EventCoder coder(received.tables(), tables, 1000, true);
  received.receive(stream);
  while (!received.state().is_empty) {
    log::RawEvents events;
    received.drain(events, true);
    received.take_modules(tables.modules);
    received.take_threads(tables.threads);
    FUZZ_EXPECT(events.size() <= stream.size() * kMaxEventsOfByte);
    check(events, received);
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
