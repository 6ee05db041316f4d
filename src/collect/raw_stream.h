// A stream of events as bytes, for a machine that is not the target's. Writer and reader; byte by byte in docs/wire.md.
//
//   raw stream  ┌ magic 8 │ version 4 │ size of tables 1 │ reserved 3 ┬ frame ┬ frame ┬ …       heads of frames as in wire/frame.h
//   tables      modules, codes, stacks, labels, threads: the payloads of a trace's, with the first entry's number
//   events      flags │ the stream's state │ count │ the events (raw_events.h)
//
// Stacks, codes and labels are numbered as they are sent, which has each entry on the way once, before the first event that needs
// it, and says nothing of how the agent keeps them.
//
// Frames count from 0. What a frame means depends on those before it, so all of them arrive, in order, or the stream ends: what a line
// loses is sent again below (remote/reliable_line.h).
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

#include "collect/event_stream.h"
#include "collect/raw_events.h"
#include "collect/sent_tables.h"
#include "trace/byte_buffer.h"
#include "trace/table_frames.h"
#include "wire/frame.h"
#include "wire/varint.h"

namespace heaptap::collect {

inline constexpr char kRawStreamMagic[9] = "HTAPRAW\n";
inline constexpr uint32_t kRawStreamVersion = 4;  // a reader refuses any other
inline constexpr size_t kRawStreamHeadBytes = 16;

// Compression of frames (wire::Codec::kDeflate), for who has it: either end may be linked without.
class FramePacker {
 public:
  FramePacker() = default;
  FramePacker(const FramePacker&) = delete;
  FramePacker& operator=(const FramePacker&) = delete;
  virtual ~FramePacker() = default;
  // Valid until the next call; empty where it doesn't make them fewer.
  virtual std::span<const uint8_t> pack(std::span<const uint8_t> payload) = 0;
};
class FrameUnpacker {
 public:
  FrameUnpacker() = default;
  FrameUnpacker(const FrameUnpacker&) = delete;
  FrameUnpacker& operator=(const FrameUnpacker&) = delete;
  virtual ~FrameUnpacker() = default;
  // Fills `payload` with exactly `raw_bytes`. False: the bytes are damaged or of another size.
  virtual bool unpack(std::span<const uint8_t> stored, size_t raw_bytes, std::vector<uint8_t>& payload) = 0;
};

struct RawStreamOptions {
  // Times are rounded down to steps, so long at most; 0: they are exact. Reports tell 100 us from one another.
  uint64_t time_step_ns = 10'000;
  unsigned table_bits = EventGuesses::kUsualTableBits;  // less: less memory at both ends, and more bytes
};

// The numbers of a stream's state, as they are sent: less those before.
using RawStreamState = std::array<uint64_t, 6>;

class RawStreamWriter {
 public:
  // `tables`: those that the events' numbers are of.
  explicit RawStreamWriter(const AgentTables& tables, RawStreamOptions options = {});

  void add_modules(const std::vector<model::Module>& modules);
  void add_threads(const std::vector<model::Thread>& threads);
  // What one drain brought, in `record_bytes` of records, and what held of the stream after it. `take_text`: EventStream's, for what
  // the program said among the events.
  using TakeText = std::function<std::string(uint32_t)>;
  void add_drain(std::span<const wire::RawEvent> events, uint64_t record_bytes, const StreamState& state,
                 const TakeText& take_text);

  // Codes that are in the stream since the last call, behind those before.
  std::vector<model::Code> take_written_codes() { return tables_.take_written_codes(); }

  // Of an event of the last drain: its time as the receiver has it.
  [[nodiscard]] uint64_t received_time(uint64_t time) const { return events_.rounded(time); }

  // For frames from now on. Outlives the writer; null: they are sent as they are.
  void pack_with(FramePacker* packer) { packer_ = packer; }

  // The bytes since the last call; the first ones are the head of the stream.
  std::vector<uint8_t> take();

 private:
  [[nodiscard]] std::array<uint8_t, kRawStreamHeadBytes> head() const;
  void write_tables();
  // Of one frame.
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
  std::vector<uint32_t> event_stacks_;  // of the events at work
  RawEventWriter events_;
  RawStreamState last_state_{};
  trace::ByteBuffer payload_;
  uint32_t frame_number_ = 0;
  bool head_taken_ = false;
  std::vector<uint8_t> bytes_;
};

// Nothing of the bytes is trusted. Where they make no sense the stream ends: what came before that is handed on, and
// state() says from then on that events are missing.
class ReceivedStream : public EventStream {
 public:
  // Outlives it; null: it takes no frames that are compressed.
  explicit ReceivedStream(FrameUnpacker* unpacker = nullptr) : unpacker_(unpacker) {}

  // Appends what came, in pieces of any size.
  void receive(std::span<const uint8_t> bytes);
  // What is wrong with the bytes; empty: nothing so far.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // What the next drain at the other end brought; nothing where that isn't here yet.
  uint64_t drain(log::RawEvents& events, bool last) override;
  [[nodiscard]] StreamState state() const override;
  [[nodiscard]] uint64_t most_bytes_left() const override {
    return UINT64_MAX;
  }  // there is an end to what was received
  [[nodiscard]] const AgentTables& tables() const override { return entries_; }
  void take_modules(std::vector<model::Module>& modules) override;
  void take_threads(std::vector<model::Thread>& threads) override;
  std::string take_text(uint32_t number) override;

 private:
  // The tables as they came.
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

  // Of what came, up to where it makes sense.
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
  std::vector<uint8_t> bytes_;  // that are no whole frame yet
  bool head_passed_ = false;
  uint32_t frame_number_ = 0;  // of the next one
  std::deque<Frame> frames_;   // that were not taken yet
  std::vector<uint8_t> unpacked_;
  std::string failure_;

  model::Tables tables_ = trace::empty_tables();
  uint64_t modules_before_ = 0;  // that were handed on
  uint64_t threads_before_ = 0;
  Entries entries_{tables_};
  std::optional<RawEventReader> events_;   // once the head told how large it is
  std::map<uint32_t, std::string> texts_;  // of notes, by number, that weren't taken yet
  uint32_t text_count_ = 0;
  RawStreamState last_state_{};
  StreamState state_;
};

}  // namespace heaptap::collect
