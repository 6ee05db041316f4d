// A trace's frames from first to last, those of events decoded. It knows of the other frames only what decoding events
// takes, so that it can go ahead of the one who keeps the tables (frames_ahead.h).
#pragma once
#include <cstdint>
#include <vector>

#include "host/intake/event_frame.h"
#include "host/intake/frame_reader.h"
#include "host/model/capture.h"
#include "host/model/event.h"
#include "host/model/tables.h"

namespace heaptap::intake {

struct DecodedFrame {
  wire::FrameType type = wire::FrameType::kIndex;
  uint64_t offset = 0;
  uint64_t end = 0;
  const char* wrong = nullptr;  // what is wrong with it, if something is: then it is the last one
  std::vector<uint8_t> payload;
  model::EventBatch batch;  // in place of the payload, where it is of events: one of a frame's batches

  [[nodiscard]] wire::VarintReader reader() const { return {payload.data(), payload.size()}; }
};

inline constexpr const char* kUnsound = "a frame's contents don't hold together";

class FrameDecoder {
 public:
  // The descriptor stays the caller's.
  FrameDecoder(int descriptor, uint64_t file_bytes, bool with_addresses);

  // False: there are no more.
  bool next(DecodedFrame& frame);

 private:
  const char* read(DecodedFrame& frame);
  bool take(DecodedFrame& frame);
  bool begin_events();
  const char* next_events(DecodedFrame& frame);

  FrameReader frames_;
  uint64_t file_bytes_;
  bool with_addresses_;
  uint64_t offset_ = wire::kFileHeadBytes;
  uint32_t number_ = 0;
  bool ended_ = false;
  bool has_more_events_ = false;  // of the frame at offset_
  Frame frame_;
  model::Capture facts_;
  model::Tables sites_only_;
  model::BlockNumber next_block_ = 1;
  EventFrameReader events_;
};

}  // namespace heaptap::intake
