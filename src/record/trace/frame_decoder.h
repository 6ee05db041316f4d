// Sequential decoder of a trace's frames, with decoded events. Keeps only the part of other frames needed to decode
// events, so that it can run ahead of the owner of the tables (frames_ahead.h).
#pragma once
#include <cstdint>
#include <vector>

#include "common/model/capture.h"
#include "common/model/event.h"
#include "common/model/tables.h"
#include "record/trace/event_frame.h"
#include "record/trace/frame_reader.h"
#include "record/trace/table_builder.h"

namespace heaptap::trace {

struct DecodedFrame {
  wire::FrameType type = wire::FrameType::kIndex;
  uint64_t offset = 0;
  uint64_t end = 0;
  const char* wrong = nullptr;  // description of an error, or null
  bool is_last = false;         // nothing can be read after it
  std::vector<uint8_t> payload;
  model::EventBatch batch;  // one of the frame's batches, in place of the payload of an event frame

  [[nodiscard]] wire::VarintReader reader() const { return {payload.data(), payload.size()}; }
};

struct DecoderOptions {
  bool is_numbered = true;  // see TableBuilder
  bool with_events = true;  // false: skips event frames
  bool with_addresses = false;
};

class FrameDecoder {
 public:
  // The descriptor stays the caller's.
  FrameDecoder(int descriptor, uint64_t file_bytes, const DecoderOptions& options);

  // False: no more frames.
  bool next(DecodedFrame& frame);

  // For a growing file.
  void grow(uint64_t file_bytes);
  // Offset of the next frame whose events were not begun.
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
  std::vector<Blocks> missing_blocks_;  // blocks whose allocations were in damaged or missing frames
  EventFrameReader events_;
};

}  // namespace heaptap::trace
