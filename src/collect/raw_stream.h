// A stream of events as bytes, for a machine that is not the target's. Writer and reader; byte by byte in docs/wire.md.
//
//   raw stream  ┌ magic 8 │ version 4 │ reserved 4 ┬ frame ┬ frame ┬ …       heads of frames as in wire/frame.h
//   tables      modules, codes, stacks, threads: the payloads of a trace's, without the first entry's number
//   events      flags │ the stream's state │ count │ each event: time, thread, stack, call, address, size
//
// Stacks and codes are numbered as they are sent, which has each entry on the way once, before the first event that needs
// it, and says nothing of how the agent keeps them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collect/event_stream.h"
#include "collect/node_numbers.h"
#include "trace/byte_buffer.h"
#include "trace/table_frames.h"
#include "wire/frame.h"
#include "wire/varint.h"

namespace heaptap::collect {

inline constexpr char kRawStreamMagic[9] = "HTAPRAW\n";
inline constexpr uint32_t kRawStreamVersion = 1;  // a reader refuses any other
inline constexpr size_t kRawStreamHeadBytes = 16;

class RawStreamWriter {
 public:
  // `tables`: those that the events' numbers are of.
  explicit RawStreamWriter(const AgentTables& tables);

  void add_modules(const std::vector<model::Module>& modules);
  void add_threads(const std::vector<model::Thread>& threads);
  // What one drain brought, in `record_bytes` of records, and what held of the stream after it.
  void add_drain(std::span<const wire::RawEvent> events, uint64_t record_bytes, const StreamState& state);

  // The bytes since the last call.
  std::vector<uint8_t> take();

 private:
  uint32_t sent_stack(uint32_t node);
  model::CodeId sent_code(uint32_t index);
  model::CodeId send_code(uint64_t entry);
  void write_tables();
  void write_events(std::span<const wire::RawEvent> events, uint64_t record_bytes, const StreamState& state, bool last);
  void write_frame(wire::FrameType type);

  const AgentTables& from_;
  NodeNumbers stacks_;
  std::vector<uint32_t> codes_;  // by the agent's index: its number here + 1
  uint32_t code_of_none_ = 0;    // of an index that there is no code for: that number + 1
  model::Tables tables_;
  trace::TableCounts sent_;
  std::vector<uint32_t> event_stacks_;  // of the events at work
  trace::ByteBuffer payload_;
  uint32_t frame_number_ = 0;
  std::vector<uint8_t> bytes_;
};

// Nothing of the bytes is trusted. Where they make no sense the stream ends: what came before that is handed on, and
// state() says from then on that events are missing.
class ReceivedStream : public EventStream {
 public:
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

 private:
  // The tables as they came.
  class Entries : public AgentTables {
   public:
    explicit Entries(const model::Tables& tables) : tables_(tables) {}
    [[nodiscard]] uint32_t node_count() const override { return static_cast<uint32_t>(tables_.stacks.size()); }
    [[nodiscard]] uint64_t node(uint32_t number) const override;
    [[nodiscard]] uint32_t code_count() const override { return static_cast<uint32_t>(tables_.codes.size()); }
    [[nodiscard]] uint64_t code(uint32_t index) const override;

   private:
    const model::Tables& tables_;
  };
  struct Drained {
    uint64_t record_bytes = 0;
    bool is_whole = true;
  };

  [[nodiscard]] std::span<const uint8_t> unread() const { return std::span(bytes_).subspan(read_bytes_); }
  bool pass_head();
  [[nodiscard]] bool has_frame() const;
  bool next_frame(wire::FrameHead& head, wire::VarintReader& payload);
  void take_table_frames();
  bool take_table(wire::FrameType type, wire::VarintReader& payload);
  bool take_events(wire::VarintReader& payload, log::RawEvents& events, Drained& drained);
  bool take_event(wire::VarintReader& payload, wire::RawEvent& event) const;
  void fail(std::string why);

  std::vector<uint8_t> bytes_;
  size_t read_bytes_ = 0;  // of these
  bool head_passed_ = false;
  uint32_t frame_number_ = 0;  // of the next one
  std::string failure_;
  model::Tables tables_ = trace::empty_tables();
  Entries entries_{tables_};
  StreamState state_;
};

}  // namespace heaptap::collect
