#include "capture/stream/raw_events.h"

#include <algorithm>

namespace heaptap::stream {
namespace {

using wire::RawEvent;
using wire::RecordKind;

bool has_size(RecordKind kind) { return wire::record_bytes(kind) == sizeof(wire::SizedRecord); }

void write_byte(frames::ByteBuffer& out, uint64_t byte) { *out.append(1) = static_cast<uint8_t>(byte); }

}  // namespace

void RawEventState::take_stack(uint32_t stack) {
  last_stack_ = stack;
  greatest_stack_ = std::max(greatest_stack_, stack);
}

void RawEventWriter::add(const RawEvent& event, uint32_t stack, frames::ByteBuffer& out) {
  write_place(event, out);
  told_end_ = told_.data();
  guesses_.begin(event.thread);
  const unsigned site = write_site(EventGuesses::make_site(wire::record_call(event.tagged_address), stack));
  const uint8_t size = has_size(event.kind()) ? write_size(event) : 0;
  const uint8_t address = write_address(event.address());
  take_stack(stack);
  last_address_ = event.address();
  const auto told_bytes = static_cast<size_t>(told_end_ - told_.data());
  const unsigned ways = address | site << 3 | unsigned{size} << 5;
  if (ways == 0) {
    run_.bytes(told_.data(), told_bytes);
    if (++run_count_ == kLongestRun) finish(out);
  } else {
    finish(out);
    write_byte(out, ways);
    out.bytes(told_.data(), told_bytes);
  }
}

void RawEventWriter::finish(frames::ByteBuffer& out) {
  if (run_count_ == 0) return;
  write_byte(out, kFirstRun + run_count_ - 1);
  out.bytes(run_.data(), run_.size());
  run_.clear();
  run_count_ = 0;
}

// The event's time and thread.
void RawEventWriter::write_place(const RawEvent& event, frames::ByteBuffer& out) {
  const uint64_t time = rounded(event.time);
  if (time != time_) {
    const uint64_t steps = (event.time >> shift_) - (time_ >> shift_);
    finish(out);
    if (steps - 1 < kMaxTimeSteps) {
      write_byte(out, kFirstTimeStep + steps - 1);
    } else {
      write_byte(out, kTime);
      out.signed_varint(static_cast<int64_t>(steps));
    }
    time_ = time;
  }
  if (event.thread != thread_) {
    finish(out);
    write_byte(out, kThread);
    out.varint(event.thread);
    thread_ = event.thread;
  }
}

unsigned RawEventWriter::write_site(uint64_t site) {
  unsigned guess = 0;
  while (guess < EventGuesses::kSiteGuesses && guesses_.site_guess(guess) != site) ++guess;
  guesses_.take_site(site);
  if (guess < EventGuesses::kSiteGuesses) return guess;
  const auto call = static_cast<uint16_t>(site >> 32);
  const auto stack = static_cast<uint32_t>(site);
  const auto known =
      static_cast<size_t>(std::ranges::find(calls_.begin(), calls_.begin() + call_count_, call) - calls_.begin());
  tell(known);
  if (known == call_count_) {
    tell(call);
    if (call_count_ < calls_.size()) calls_[call_count_++] = call;
  }
  if (stack > greatest_stack_) {
    tell((uint64_t{stack} - greatest_stack_ - 1) << 1 | 1);
  } else {
    tell(wire::zigzag(int64_t{stack} - last_stack_) << 1);
  }
  return kToldSite;
}

uint8_t RawEventWriter::write_size(const RawEvent& event) {
  const uint8_t usual = guesses_.last_size_way();
  const uint64_t size = event.size_bytes;
  uint8_t way = kToldSize;
  if (usual < EventGuesses::kSizeGuesses && guesses_.size_guess(usual) == size) {
    way = usual;
  } else if (guesses_.size_guess(0) == size) {
    way = 0;
  } else if (guesses_.size_guess(1) == size) {
    way = 1;
  } else {
    const uint64_t distance = wire::zigzag(static_cast<int64_t>(size - guesses_.size_guess(0)));
    constexpr uint64_t kWorth = 128;  // a byte less
    if (distance * kWorth < size) way = kSizeDistance;
    tell(way == kToldSize ? size : distance);
  }
  guesses_.take_size(way, size);
  return swapped(way, usual);
}

uint8_t RawEventWriter::write_address(uint64_t address) {
  const auto usual = static_cast<uint8_t>(guesses_.last_address_way());
  const auto is_right = [&](uint8_t way) { return guesses_.address_guess(static_cast<AddressWay>(way)) == address; };
  uint8_t way = usual;
  if (usual >= kFirstToldWay || !is_right(usual)) {
    way = 0;
    while (way < kFirstToldWay && !is_right(way)) ++way;
  }
  if (way == kFirstToldWay) {
    const EventGuesses::Told told = guesses_.tell(address);
    way = static_cast<uint8_t>(told.way);
    tell(told.number);
  }
  guesses_.take_address(static_cast<AddressWay>(way), address);
  return swapped(way, usual);
}

void RawEventWriter::add_note(const RawEvent& note, std::string_view text, frames::ByteBuffer& out) {
  write_place(note, out);
  finish(out);
  write_byte(out, kNote);
  out.varint(note.function());
  out.signed_varint(static_cast<int64_t>(note.address() - last_address_));
  out.text(text.substr(0, wire::kMaxNoteTextBytes));
}

bool RawEventReader::next(wire::VarintReader& in, uint32_t stack_count, RawEvent& event) {
  while (run_left_ == 0) {
    const uint8_t* const at = in.bytes(1);
    if (at == nullptr) return false;
    if (*at < kFirstRun) return read_event(in, *at, stack_count, event);
    if (*at < kFirstTimeStep) {
      run_left_ = *at - kFirstRun + 1u;
    } else if (*at < kTime) {
      time_ = ((time_ >> shift_) + *at - kFirstTimeStep + 1) << shift_;
    } else if (*at == kTime) {
      time_ = ((time_ >> shift_) + static_cast<uint64_t>(in.signed_varint())) << shift_;
    } else if (*at == kThread) {
      const uint64_t thread = in.varint();
      if (thread > wire::kMaxThreads) return false;
      thread_ = static_cast<uint32_t>(thread);
    } else {
      return *at == kNote && read_note(in, event);
    }
  }
  --run_left_;
  return read_event(in, 0, stack_count, event);
}

bool RawEventReader::read_event(wire::VarintReader& in, uint8_t ways, uint32_t stack_count, RawEvent& event) {
  guesses_.begin(thread_);
  uint64_t site = 0;
  if (!read_site(in, ways >> 3 & 3, site)) return false;
  const auto call = static_cast<uint32_t>(site >> 32);
  const auto stack = static_cast<uint32_t>(site);
  const auto kind = static_cast<RecordKind>(call >> 8);
  if (!is_call(kind) || stack >= stack_count) return false;
  guesses_.take_site(site);
  const uint64_t size = has_size(kind) ? read_size(in, ways >> 5) : 0;
  const uint64_t address = read_address(in, ways & (kAddressWays - 1));
  if (address > wire::kCodeAddressMask || !in.ok()) return false;
  take_stack(stack);
  last_address_ = address;
  event = {.time = time_,
           .tagged_address = uint64_t{call} << 48 | address,
           .size_bytes = size,
           .stack = stack,
           .thread = thread_};
  return true;
}

bool RawEventReader::read_site(wire::VarintReader& in, unsigned way, uint64_t& site) {
  if (way < EventGuesses::kSiteGuesses) {
    site = guesses_.site_guess(way);
    return true;
  }
  const uint64_t known = in.varint();
  if (known > call_count_) return false;
  const uint64_t call = known < call_count_ ? calls_[static_cast<size_t>(known)] : in.varint();
  const uint64_t told = in.varint();
  const bool is_new = (told & 1) != 0;
  const uint64_t stack = is_new ? uint64_t{greatest_stack_} + (told >> 1) + 1
                                : last_stack_ + static_cast<uint64_t>(wire::unzigzag(told >> 1));
  if (call > UINT16_MAX || stack > UINT32_MAX) return false;
  if (known == call_count_ && call_count_ < calls_.size()) calls_[call_count_++] = static_cast<uint16_t>(call);
  site = EventGuesses::make_site(static_cast<uint32_t>(call), static_cast<uint32_t>(stack));
  return true;
}

uint64_t RawEventReader::read_size(wire::VarintReader& in, uint8_t code) {
  const uint8_t way = swapped(code, guesses_.last_size_way());
  uint64_t size = 0;
  if (way < EventGuesses::kSizeGuesses) {
    size = guesses_.size_guess(way);
  } else if (way == kToldSize) {
    size = in.varint();
  } else {
    size = guesses_.size_guess(0) + static_cast<uint64_t>(in.signed_varint());
  }
  guesses_.take_size(way, size);
  return size;
}

// EventGuesses::kNowhere: none.
uint64_t RawEventReader::read_address(wire::VarintReader& in, uint8_t code) {
  const auto way = static_cast<AddressWay>(swapped(code, static_cast<uint8_t>(guesses_.last_address_way())));
  const bool is_told = static_cast<uint8_t>(way) >= kFirstToldWay;
  const uint64_t address = is_told ? guesses_.address_told(way, in.varint()) : guesses_.address_guess(way);
  if (address <= wire::kCodeAddressMask) guesses_.take_address(way, address);
  return address;
}

// The number of the caller's text.
bool RawEventReader::read_note(wire::VarintReader& in, RawEvent& event) {
  const uint64_t kind = in.varint();
  const uint64_t address = last_address_ + static_cast<uint64_t>(in.signed_varint());
  const uint64_t bytes = in.varint();
  const uint8_t* const text = bytes <= wire::kMaxNoteTextBytes ? in.bytes(bytes) : nullptr;
  if (text == nullptr || kind > UINT8_MAX || !wire::is_said_by_program(static_cast<wire::NoteKind>(kind)) ||
      address > wire::kCodeAddressMask) {
    return false;
  }
  text_ = {reinterpret_cast<const char*>(text), static_cast<size_t>(bytes)};
  event = {.time = time_,
           .tagged_address = wire::make_tagged_address(RecordKind::kNote, static_cast<uint8_t>(kind), address),
           .size_bytes = 0,
           .stack = 0,
           .thread = thread_};
  return true;
}

}  // namespace heaptap::stream
