// Coding of a raw stream's events, mostly below two bytes each: sender and receiver predict the next event
// (event_guesses.h), and the bytes say which prediction was right, or the value. Writer and reader.
//
//   0 to 127    an event: address bits 0 to 2, site 3 and 4, size 5 and 6; then site, size and address, where explicit
//   128 to 191  so many events, less 127, of byte 0; then the explicit values of each
//   192 to 223  time advances by so many steps, less 191
//   224         time advances: steps (signed)
//   225         thread of the next events
//   226         text of the program: kind, address relative to the last event's (signed), length and text
//
//   site     0 to 2: prediction; 3: explicit: the call's place in a list of explicit ones, new ones at the end with the call itself,
//            and the stack: new ones relative to the greatest so far, (distance - 1) * 2 + 1, others to the last one, 2 * zigzag
//   size     0 and 1: prediction; 2: explicit; 3: relative to the site's last one (signed)
//   address  an AddressWay; from 4 on with a number
//   For size and address, 0 stands for the method of the site's last one, and that method's number for 0.
//
// Times are sent in steps of 2^n ticks, rounded down; n is given by the caller.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "capture/stream/event_guesses.h"
#include "common/frames/byte_buffer.h"
#include "common/wire/raw_event.h"
#include "common/wire/varint.h"

namespace heaptap::stream {

// Whether it is a call passed on by a log's reader.
constexpr bool is_call(wire::RecordKind kind) {
  return wire::record_bytes(kind) != 0 && kind != wire::RecordKind::kNote;
}

// State shared by both ends besides the predictions.
class RawEventState {
 public:
  explicit RawEventState(unsigned table_bits) : guesses_(table_bits) {}
  // For the times of the next events.
  void set_time_shift(unsigned shift) { shift_ = shift; }
  // Time as sent.
  [[nodiscard]] uint64_t rounded(uint64_t time) const { return time >> shift_ << shift_; }

 protected:
  static constexpr uint8_t kFirstRun = 128;
  static constexpr uint32_t kLongestRun = 64;
  static constexpr uint8_t kFirstTimeStep = 192;
  static constexpr uint64_t kMaxTimeSteps = 32;
  static constexpr uint8_t kTime = 224;
  static constexpr uint8_t kThread = 225;
  static constexpr uint8_t kNote = 226;

  static constexpr unsigned kToldSite = EventGuesses::kSiteGuesses;
  static constexpr uint8_t kToldSize = 2;
  static constexpr uint8_t kSizeDistance = 3;

  // Swaps the usual method and 0.
  static constexpr uint8_t swapped(uint8_t way, uint8_t usual) {
    if (way == usual) return 0;
    return way == 0 ? usual : way;
  }
  void take_stack(uint32_t stack);

  EventGuesses guesses_;
  unsigned shift_ = 0;
  uint64_t time_ = 0;  // ticks, of the last event
  uint32_t thread_ = 0;
  uint32_t last_stack_ = 0;
  uint32_t greatest_stack_ = 0;
  uint64_t last_address_ = 0;
  std::array<uint16_t, 64> calls_{};  // explicit ones
  size_t call_count_ = 0;
};

class RawEventWriter : public RawEventState {
 public:
  using RawEventState::RawEventState;

  // Appends to `out`, the last events by finish(). `stack`: its number at the receiver.
  void add(const wire::RawEvent& event, uint32_t stack, frames::ByteBuffer& out);
  // Adds a text of the program.
  void add_note(const wire::RawEvent& note, std::string_view text, frames::ByteBuffer& out);
  void finish(frames::ByteBuffer& out);

 private:
  void write_place(const wire::RawEvent& event, frames::ByteBuffer& out);
  unsigned write_site(uint64_t site);
  uint8_t write_size(const wire::RawEvent& event);
  uint8_t write_address(uint64_t address);
  void tell(uint64_t number) { told_end_ = wire::write_varint(told_end_, number); }

  std::array<uint8_t, 8 * wire::kMaxVarintBytes> told_{};  // explicit values of the current event
  uint8_t* told_end_ = told_.data();
  frames::ByteBuffer run_;  // explicit values of the run's events
  uint32_t run_count_ = 0;
};

// The bytes are not trusted.
class RawEventReader : public RawEventState {
 public:
  using RawEventState::RawEventState;

  // Reads the next event. False: damaged. There are `stack_count` stacks.
  bool next(wire::VarintReader& in, uint32_t stack_count, wire::RawEvent& event);
  // Text of a note returned by next().
  [[nodiscard]] std::string_view text() const { return text_; }
  // Whether no run is open: the bytes may end here.
  [[nodiscard]] bool is_between_events() const { return run_left_ == 0; }

 private:
  bool read_event(wire::VarintReader& in, uint8_t ways, uint32_t stack_count, wire::RawEvent& event);
  bool read_site(wire::VarintReader& in, unsigned way, uint64_t& site);
  uint64_t read_size(wire::VarintReader& in, uint8_t code);
  uint64_t read_address(wire::VarintReader& in, uint8_t code);
  bool read_note(wire::VarintReader& in, wire::RawEvent& event);

  uint32_t run_left_ = 0;
  std::string_view text_;
};

}  // namespace heaptap::stream
