// Raw stream: serialized event stream, for a machine other than the target's. Writer and reader; byte by byte in docs/wire.md.
//
//   raw stream  ┌ magic 8 │ version 4 │ size of tables 1 │ reserved 3 ┬ frame ┬ frame ┬ …       heads of frames as in common/wire/frame.h
//   tables      modules, codes, stacks, labels, threads: the payloads of a trace's, with the first entry's number
//   events      flags │ the stream's state │ count │ the events (raw_events.h)
//
// Stacks, codes and labels are numbered in the order sent, each once, before the first event that needs it, independent
// of the agent's tables.
//
// Frames count from 0. A frame depends on the earlier ones, so all must arrive, in order, or the stream ends: lost data
// is retransmitted by the layer below (common/line/reliable_line.h).
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/stream/event_stream.h"
#include "capture/stream/raw_events.h"
#include "capture/stream/sent_tables.h"
#include "common/frames/byte_buffer.h"
#include "common/frames/table_frames.h"
#include "common/wire/frame.h"
#include "common/wire/varint.h"

namespace heaptap::stream {

inline constexpr char kRawStreamMagic[9] = "HTAPRAW\n";
inline constexpr uint32_t kRawStreamVersion = 4;  // a reader refuses any other
inline constexpr size_t kRawStreamHeadBytes = 16;

// Compression of frames (wire::Codec::kDeflate), optional: either end may be linked without it.
class FramePacker {
 public:
  FramePacker() = default;
  FramePacker(const FramePacker&) = delete;
  FramePacker& operator=(const FramePacker&) = delete;
  virtual ~FramePacker() = default;
  // Valid until the next call; empty where compression doesn't make it smaller.
  virtual std::span<const uint8_t> pack(std::span<const uint8_t> payload) = 0;
};
class FrameUnpacker {
 public:
  FrameUnpacker() = default;
  FrameUnpacker(const FrameUnpacker&) = delete;
  FrameUnpacker& operator=(const FrameUnpacker&) = delete;
  virtual ~FrameUnpacker() = default;
  // Fills `payload` with exactly `raw_bytes`. False: damaged, or another size.
  virtual bool unpack(std::span<const uint8_t> stored, size_t raw_bytes, std::vector<uint8_t>& payload) = 0;
};

struct RawStreamOptions {
  // Maximum step that times are rounded down to; 0: exact. Reports resolve 100 us.
  uint64_t time_step_ns = 10'000;
  unsigned table_bits = EventGuesses::kUsualTableBits;  // less: less memory at both ends, and more bytes
};

// State of the stream as sent: differences to the previous values.
using RawStreamState = std::array<uint64_t, 6>;

class RawStreamWriter {
 public:
  // `tables`: those that the events refer to.
  explicit RawStreamWriter(const AgentTables& tables, RawStreamOptions options = {});

  void add_modules(const std::vector<model::Module>& modules);
  void add_threads(const std::vector<model::Thread>& threads);
  // Adds the events of one drain, from `record_bytes` of records, and the stream's state after it. `take_text`: as
  // EventStream's, for the program's texts among the events.
  using TakeText = std::function<std::string(uint32_t)>;
  void add_drain(std::span<const wire::RawEvent> events, uint64_t record_bytes, const StreamState& state,
                 const TakeText& take_text);

  // Codes written to the stream since the last call, numbered consecutively.
  std::vector<model::Code> take_written_codes() { return tables_.take_written_codes(); }

  // Time of an event of the last drain, as received.
  [[nodiscard]] uint64_t received_time(uint64_t time) const { return events_.rounded(time); }

  // For frames from now on. Must outlive the writer; null: uncompressed.
  void pack_with(FramePacker* packer) { packer_ = packer; }

  // Bytes since the last call; they begin with the stream's head.
  std::vector<uint8_t> take();

 private:
  [[nodiscard]] std::array<uint8_t, kRawStreamHeadBytes> head() const;
  void write_tables();
  // Content of one frame.
  struct Drained {
    uint64_t record_bytes;
    bool goes_on;
  };
  void write_events(std::span<const wire::RawEvent> events, const Drained& drained, const StreamState& state,
                    const TakeText& take_text);
  void write_state(const StreamState& state, const Drained& drained, unsigned shift, size_t count);
  [[nodiscard]] unsigned time_shift(const StreamState& state) const;
  void write_payload(wire::FrameType type);

  const RawStreamOptions options_;
  FramePacker* packer_ = nullptr;
  SentTables tables_;
  uint64_t module_count_ = 0;
  uint64_t thread_count_ = 0;
  std::vector<uint32_t> event_stacks_;  // of the current events
  RawEventWriter events_;
  RawStreamState last_state_{};
  frames::ByteBuffer payload_;
  uint32_t frame_number_ = 0;
  bool head_taken_ = false;
  std::vector<uint8_t> bytes_;
};

// The bytes are not trusted. The stream ends at invalid ones: earlier data is delivered, and from then on state()
// reports missing events.
class ReceivedStream : public EventStream {
 public:
  // `unpacker` must outlive it; null: compressed frames are rejected.
  explicit ReceivedStream(FrameUnpacker* unpacker = nullptr) : unpacker_(unpacker) {}

  // Appends received bytes, in pieces of any size.
  void receive(std::span<const uint8_t> bytes);
  // Error in the received bytes; empty: none so far.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // Events of the next drain at the other end; none if not received yet.
  uint64_t drain(log::RawEvents& events, bool last) override;
  [[nodiscard]] StreamState state() const override;
  [[nodiscard]] uint64_t max_bytes_left() const override { return UINT64_MAX; }  // received data is finite
  [[nodiscard]] const AgentTables& tables() const override { return entries_; }
  void take_modules(std::vector<model::Module>& modules) override;
  void take_threads(std::vector<model::Thread>& threads) override;
  std::string take_text(uint32_t number) override;

 private:
  // Tables as received.
  class Entries : public AgentTables {
   public:
    explicit Entries(const model::Tables& tables) : tables_(tables) {}
    [[nodiscard]] uint32_t node_count() const override { return static_cast<uint32_t>(tables_.stacks.size()); }
    [[nodiscard]] uint64_t node(uint32_t number) const override;
    [[nodiscard]] uint32_t code_count() const override { return static_cast<uint32_t>(tables_.codes.size()); }
    [[nodiscard]] uint64_t code(uint32_t index) const override;
    [[nodiscard]] std::optional<model::Label> label(uint32_t number) const override;

   private:
    const model::Tables& tables_;
  };
  struct Frame {
    wire::FrameHead head;
    std::vector<uint8_t> stored;
  };
  struct Drained {
    uint64_t record_bytes = 0;
    bool is_whole = true;
  };

  // Processes received bytes, up to an error.
  bool accept_head(std::span<const uint8_t>& bytes);
  bool accept_frame(std::span<const uint8_t>& bytes);

  bool next_frame(wire::FrameHead& head, wire::VarintReader& payload);
  void take_table_frames();
  bool take_table(wire::FrameType type, wire::VarintReader& payload);
  bool take_stacks(wire::VarintReader& payload);
  bool take_labels(wire::VarintReader& payload);
  bool take_events(wire::VarintReader& payload, log::RawEvents& events, Drained& drained);
  bool read_events(wire::VarintReader& payload, std::span<wire::RawEvent> events);
  void fail(std::string why);
  void end_at(uint32_t frame);

  FrameUnpacker* const unpacker_;
  std::vector<uint8_t> bytes_;  // of an incomplete frame
  bool head_passed_ = false;
  uint32_t frame_number_ = 0;  // of the next one
  std::deque<Frame> frames_;   // not taken yet
  std::vector<uint8_t> unpacked_;
  std::string failure_;

  model::Tables tables_ = frames::empty_tables();
  uint64_t modules_before_ = 0;  // already delivered
  uint64_t threads_before_ = 0;
  Entries entries_{tables_};
  std::optional<RawEventReader> events_;   // created once its size is known from the head
  std::map<uint32_t, std::string> texts_;  // of notes, by number, not taken yet
  uint32_t text_count_ = 0;
  RawStreamState last_state_{};
  StreamState state_;
};

}  // namespace heaptap::stream
