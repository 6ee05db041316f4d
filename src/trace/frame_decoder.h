// A trace's frames from first to last, those of events decoded. It knows of the other frames only what decoding events
// takes, so that it can go ahead of the one who keeps the tables (frames_ahead.h).
#pragma once
#include <cstdint>
#include <vector>

#include "model/capture.h"
#include "model/event.h"
#include "model/tables.h"
#include "trace/event_frame.h"
#include "trace/frame_reader.h"
#include "trace/table_builder.h"

namespace heaptap::trace {

struct DecodedFrame {
  wire::FrameType type = wire::FrameType::kIndex;
  uint64_t offset = 0;
  uint64_t end = 0;
  const char* wrong = nullptr;  // what is wrong with it, if something is
  bool is_last = false;         // and nothing can be read behind that
  std::vector<uint8_t> payload;
  model::EventBatch batch;  // in place of the payload, where it is of events: one of a frame's batches

  [[nodiscard]] wire::VarintReader reader() const { return {payload.data(), payload.size()}; }
};

struct DecoderOptions {
  bool is_numbered = true;  // see TableBuilder
  bool with_events = true;  // false: frames of events are passed over
  bool with_addresses = false;
};

class FrameDecoder {
 public:
  // The descriptor stays the caller's.
  FrameDecoder(int descriptor, uint64_t file_bytes, const DecoderOptions& options);

  // False: there are no more.
  bool next(DecodedFrame& frame);

  // Of a file that grows.
  void grow(uint64_t file_bytes);
  // Where the next frame begins, whose events were not begun.
  [[nodiscard]] uint64_t offset() const { return offset_; }
  [[nodiscard]] bool is_within_frame() const { return has_more_events_; }
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  const char* read(DecodedFrame& frame);
  void pass_over_events();
  bool go_on_behind_damage();
  const char* take(DecodedFrame& frame);
  const char* begin_events(DecodedFrame& frame);
  const char* next_events(DecodedFrame& frame);
  void forget_missing_blocks(model::EventBatch& batch) const;

  FrameReader frames_;
  uint64_t file_bytes_;
  DecoderOptions options_;
  uint64_t offset_ = wire::kFileHeadBytes;
  uint32_t number_ = 0;
  bool ended_ = false;
  bool has_more_events_ = false;  // of the frame at offset_
  Frame frame_;
  model::Capture facts_;
  model::Tables sites_only_;
  TableBuilder tables_;
  model::BlockNumber next_block_ = 1;
  uint64_t event_count_ = 0;
  struct Blocks {
    model::BlockNumber begin;
    model::BlockNumber end;
  };
  std::vector<Blocks> missing_blocks_;  // whose allocations stood in frames that are damaged or missing
  EventFrameReader events_;
};

}  // namespace heaptap::trace
