#include "capture/stream/raw_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "common/base/sizes.h"
#include "common/model/capture.h"

namespace heaptap::stream {
namespace {

using wire::FrameType;
using wire::RawEvent;
using wire::RecordKind;

constexpr uint64_t kMayRepeatStacks = 1;
constexpr uint64_t kHasUnread = 2;
constexpr uint64_t kIsEmpty = 4;
constexpr uint64_t kGoesOn = 8;  // the drain's next events are in another frame
constexpr uint64_t kAllFlags = 15;
constexpr uint64_t kAllGaps = model::kGapDamagedLog | model::kGapOmittedObjects | model::kGapPastHooks |
                              model::kGapMissedReleases | model::kGapOwnAllocator;

// Keeps frames far below the maximum.
constexpr size_t kMaxEvents = 65536;
// Maximum number of events for a byte.
constexpr size_t kMaxEventsOfByte = 64;
// A receiver passes on about this many events at a time of frames that claim to be of one drain.
constexpr size_t kMaxDrained = size_t{1} << 20;

// Small frames don't get smaller. A frame expands to at most this many times its size, so that little sent data can't
// become much memory.
constexpr size_t kLeastPackedBytes = 64;
constexpr size_t kMaxPacking = 64;

// Several steps have to be within the disorder of clocks that the host accepts (50,000 ticks, see event_coder.cc).
constexpr uint64_t kMaxStepTicks = 8192;
constexpr uint64_t kMaxTimeShift = 32;

bool is_note(const RawEvent& event) { return event.kind() == RecordKind::kNote; }

RawStreamState numbers_of(const StreamState& state) {
  return {state.start_ticks, state.ticks, state.elapsed_ns, state.complete_until, state.lost_events, state.gaps};
}

// Entries that continue the known ones, read by `read`.
template <typename Read>
bool take_entries(wire::VarintReader payload, uint64_t known, Read read) {
  if (payload.left() < wire::kFirstNumberBytes) return false;
  if (frames::first_number_of(payload) != known) return false;
  wire::VarintReader entries(payload.here(), payload.left() - wire::kFirstNumberBytes);
  return read(entries) && entries.at_end();
}

}  // namespace

RawStreamWriter::RawStreamWriter(const AgentTables& tables, RawStreamOptions options)
    : options_(options), tables_(tables), events_(options.table_bits) {}

std::array<uint8_t, kRawStreamHeadBytes> RawStreamWriter::head() const {
  std::array<uint8_t, kRawStreamHeadBytes> head{};
  std::memcpy(head.data(), kRawStreamMagic, 8);
  wire::put_u32(head.data() + 8, kRawStreamVersion);
  head[12] = static_cast<uint8_t>(options_.table_bits);
  return head;
}

std::vector<uint8_t> RawStreamWriter::take() {
  std::vector<uint8_t> bytes = std::exchange(bytes_, {});
  if (!head_taken_) {
    const auto begin = head();
    bytes.insert(bytes.begin(), begin.begin(), begin.end());
    head_taken_ = true;
  }
  return bytes;
}

void RawStreamWriter::add_modules(const std::vector<model::Module>& modules) {
  if (modules.empty()) return;
  frames::write_modules(payload_, modules, 0);
  frames::write_first_number(payload_, module_count_);
  write_payload(FrameType::kModules);
  module_count_ += modules.size();
}

void RawStreamWriter::add_threads(const std::vector<model::Thread>& threads) {
  if (threads.empty()) return;
  frames::write_threads(payload_, threads, 0);
  frames::write_first_number(payload_, thread_count_);
  write_payload(FrameType::kThreads);
  thread_count_ += threads.size();
}

void RawStreamWriter::add_drain(std::span<const RawEvent> events, uint64_t record_bytes, const StreamState& state,
                                const TakeText& take_text) {
  for (; events.size() > kMaxEvents; events = events.subspan(kMaxEvents)) {
    StreamState part = state;
    part.complete_until = std::min(state.complete_until, events[kMaxEvents].time);
    write_events(events.first(kMaxEvents), {.record_bytes = 0, .goes_on = true}, part, take_text);
  }
  write_events(events, {.record_bytes = record_bytes, .goes_on = false}, state, take_text);
}

void RawStreamWriter::write_tables() {
  if (tables_.write_codes(payload_)) write_payload(FrameType::kCodes);
  if (tables_.write_labels(payload_)) write_payload(FrameType::kLabels);
  if (tables_.write_stacks(payload_)) write_payload(FrameType::kStacks);
}

void RawStreamWriter::write_events(std::span<const RawEvent> events, const Drained& drained, const StreamState& state,
                                   const TakeText& take_text) {
  event_stacks_.clear();
  for (const RawEvent& event : events) {
    event_stacks_.push_back(is_note(event) ? 0 : tables_.number_of(event.stack));
    if (tables_.has_many()) write_tables();
  }
  write_tables();
  const unsigned shift = time_shift(state);
  write_state(state, drained, shift, events.size());
  events_.set_time_shift(shift);
  for (size_t i = 0; i < events.size(); ++i) {
    if (is_note(events[i])) {
      events_.add_note(events[i], take_text(events[i].stack), payload_);
    } else {
      events_.add(events[i], event_stacks_[i], payload_);
    }
  }
  events_.finish(payload_);
  write_payload(FrameType::kRawEvents);
}

void RawStreamWriter::write_state(const StreamState& state, const Drained& drained, unsigned shift, size_t count) {
  payload_.varint((state.may_repeat_stacks ? kMayRepeatStacks : 0) | (state.has_unread ? kHasUnread : 0) |
                  (state.is_empty ? kIsEmpty : 0) | (drained.goes_on ? kGoesOn : 0));
  const RawStreamState numbers = numbers_of(state);
  for (size_t i = 0; i < numbers.size(); ++i) payload_.signed_varint(static_cast<int64_t>(numbers[i] - last_state_[i]));
  last_state_ = numbers;
  payload_.varint(drained.record_bytes);
  payload_.varint(shift);
  payload_.varint(count);
}

unsigned RawStreamWriter::time_shift(const StreamState& state) const {
  if (state.ticks == 0 || state.elapsed_ns == 0) return 0;
  const double ticks = static_cast<double>(options_.time_step_ns) / state.scale().ns_per_tick;
  const auto most = static_cast<uint64_t>(std::clamp(ticks, 1.0, static_cast<double>(kMaxStepTicks)));
  return static_cast<unsigned>(std::bit_width(most)) - 1;
}

void RawStreamWriter::write_payload(FrameType type) {
  std::span<const uint8_t> payload(payload_.data(), payload_.size());
  wire::FrameHead head{.type = type, .raw_bytes = static_cast<uint32_t>(payload.size()), .number = frame_number_++};
  if (packer_ != nullptr && payload.size() >= kLeastPackedBytes) {
    const std::span<const uint8_t> packed = packer_->pack(payload);
    if (packed.size() * kMaxPacking >= payload.size()) {
      payload = packed;
      head.codec = wire::Codec::kDeflate;
    }
  }
  head.stored_bytes = static_cast<uint32_t>(payload.size());
  const size_t at = bytes_.size();
  bytes_.resize(at + wire::kFrameHeadBytes);
  wire::write_frame_head(bytes_.data() + at, head, payload.data());
  bytes_.insert(bytes_.end(), payload.begin(), payload.end());
  payload_.clear();
}

uint64_t ReceivedStream::Entries::node(uint32_t number) const {
  return wire::make_node(tables_.stacks[number].parent, tables_.stacks[number].code);
}

uint64_t ReceivedStream::Entries::code(uint32_t index) const { return model::entry_of(tables_.codes[index]); }

std::optional<model::Label> ReceivedStream::Entries::label(uint32_t number) const {
  if (number == wire::kNoLabel || number >= tables_.labels.size()) return std::nullopt;
  return tables_.labels[number];
}

void ReceivedStream::receive(std::span<const uint8_t> bytes) {
  if (!failure_.empty()) return;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  std::span<const uint8_t> rest = bytes_;
  while (head_passed_ ? accept_frame(rest) : accept_head(rest)) {
  }
  bytes_.erase(bytes_.begin(), bytes_.end() - static_cast<ptrdiff_t>(rest.size()));
}

// False, here and below: incomplete or invalid.
bool ReceivedStream::accept_head(std::span<const uint8_t>& bytes) {
  if (bytes.size() < kRawStreamHeadBytes) return false;
  const uint8_t table_bits = bytes[12];
  if (std::memcmp(bytes.data(), kRawStreamMagic, 8) != 0 || wire::get_u32(bytes.data() + 8) != kRawStreamVersion ||
      table_bits < EventGuesses::kLeastTableBits || table_bits > EventGuesses::kMaxTableBits) {
    fail("not a stream of events, or one of another version");
    return false;
  }
  events_.emplace(table_bits);
  bytes = bytes.subspan(kRawStreamHeadBytes);
  return head_passed_ = true;
}

bool ReceivedStream::accept_frame(std::span<const uint8_t>& bytes) {
  wire::FrameHead head;
  if (bytes.size() < wire::kFrameHeadBytes) return false;
  const bool is_head = wire::read_frame_head(bytes.data(), head);
  if (is_head && bytes.size() - wire::kFrameHeadBytes < head.stored_bytes) return false;
  const bool is_packed = head.codec == wire::Codec::kDeflate && unpacker_ != nullptr &&
                         head.raw_bytes <= uint64_t{head.stored_bytes} * kMaxPacking;
  const bool is_plain = head.codec == wire::Codec::kNone && head.raw_bytes == head.stored_bytes;
  const auto stored = is_head ? bytes.subspan(wire::kFrameHeadBytes, head.stored_bytes) : bytes;
  if (!is_head || !(is_packed || is_plain) || head.number != frame_number_ ||
      !wire::checksum_matches(bytes.data(), head, stored.data())) {
    fail(fmt::format("what follows frame {} of the stream is not the next one", frame_number_));
    return false;
  }
  bytes = bytes.subspan(wire::kFrameHeadBytes + head.stored_bytes);
  ++frame_number_;
  frames_.push_back({head, {stored.begin(), stored.end()}});
  return true;
}

// Data received before counts.
void ReceivedStream::fail(std::string why) { failure_ = std::move(why); }

void ReceivedStream::end_at(uint32_t frame) {
  fail(fmt::format("frame {} of the stream is damaged", frame));
  frames_.clear();
  bytes_.clear();
}

StreamState ReceivedStream::state() const {
  StreamState state = state_;
  state.is_empty = frames_.empty();
  if (failure_.empty()) return state;
  state.has_unread = state.has_unread && !frames_.empty();
  state.gaps |= model::kGapDamagedLog;
  return state;
}

// The sender's `is_empty` isn't used: received events that were not passed on are here.
uint64_t ReceivedStream::drain(log::RawEvents& events, bool /*last*/) {
  Drained drained{.record_bytes = 0, .is_whole = false};
  const size_t before = events.size();
  wire::FrameHead head;
  wire::VarintReader payload;
  while (!drained.is_whole && events.size() - before < kMaxDrained && next_frame(head, payload)) {
    const bool sound =
        head.type == FrameType::kRawEvents ? take_events(payload, events, drained) : take_table(head.type, payload);
    if (!sound) end_at(head.number);
  }
  return drained.record_bytes;
}

// The payload is valid until the next call. False: none.
bool ReceivedStream::next_frame(wire::FrameHead& head, wire::VarintReader& payload) {
  if (frames_.empty()) return false;
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  head = frame.head;
  if (head.codec == wire::Codec::kNone) {
    unpacked_ = std::move(frame.stored);
  } else if (!unpacker_->unpack(frame.stored, head.raw_bytes, unpacked_)) {
    end_at(head.number);
    return false;
  }
  payload = wire::VarintReader(unpacked_.data(), unpacked_.size());
  return true;
}

// The frames up to the next events.
void ReceivedStream::take_table_frames() {
  wire::FrameHead head;
  wire::VarintReader payload;
  while (!frames_.empty() && frames_.front().head.type != FrameType::kRawEvents && next_frame(head, payload)) {
    if (!take_table(head.type, payload)) end_at(head.number);
  }
}

bool ReceivedStream::take_table(FrameType type, wire::VarintReader& payload) {
  const auto is_thread = [](const model::Thread& thread) { return thread.number <= wire::kMaxThreads; };
  switch (type) {
    case FrameType::kModules:
      return take_entries(payload, modules_before_ + tables_.modules.size(),
                          [&](wire::VarintReader& in) { return frames::read_modules(in, tables_); });
    case FrameType::kCodes:
      return take_entries(payload, tables_.codes.size(),
                          [&](wire::VarintReader& in) { return frames::read_codes(in, tables_); });
    case FrameType::kStacks:
      return take_entries(payload, tables_.stacks.size(), [&](wire::VarintReader& in) { return take_stacks(in); });
    case FrameType::kLabels:
      return take_entries(payload, tables_.labels.size(), [&](wire::VarintReader& in) { return take_labels(in); });
    case FrameType::kThreads:
      return take_entries(payload, threads_before_ + tables_.threads.size(), [&](wire::VarintReader& in) {
        return frames::read_threads(in, tables_) && std::ranges::all_of(tables_.threads, is_thread);
      });
    default:
      return false;
  }
}

// With a label instead of a code, or without.
bool ReceivedStream::take_stacks(wire::VarintReader& payload) {
  const size_t before = tables_.stacks.size();
  const auto is_sound = [this](const model::Stack& stack) {
    if (!wire::is_label_code(stack.code)) return stack.code < tables_.codes.size();
    const model::LabelId label = stack.code & ~wire::kLabelCode;
    return label != wire::kNoLabel && label < tables_.labels.size();
  };
  const bool sound = frames::read_stacks(payload, frames::kAnyCode, tables_.stacks) && payload.at_end() &&
                     std::ranges::all_of(std::span(tables_.stacks).subspan(before), is_sound);
  if (!sound) tables_.stacks.resize(before);
  return sound;
}

bool ReceivedStream::take_labels(wire::VarintReader& payload) {
  const size_t before = tables_.labels.size();
  const auto is_sound = [](const model::Label& label) {
    return label.kind != wire::LabelKind::kNone && label.name.size() <= wire::kMaxLabelBytes;
  };
  return frames::read_labels(payload, tables_) && tables_.labels.size() <= wire::kMaxLabels &&
         std::ranges::all_of(std::span(tables_.labels).subspan(before), is_sound);
}

bool ReceivedStream::take_events(wire::VarintReader& payload, log::RawEvents& events, Drained& drained) {
  const uint64_t flags = payload.varint();
  RawStreamState numbers = last_state_;
  for (uint64_t& number : numbers) number += static_cast<uint64_t>(payload.signed_varint());
  const auto [start_ticks, ticks, elapsed_ns, complete_until, lost_events, gaps] = numbers;
  const uint64_t record_bytes = payload.varint();
  const uint64_t shift = payload.varint();
  const size_t count = base::at_most(kMaxEvents + 1, payload.varint());
  if (!payload.ok() || flags > kAllFlags || (gaps & ~kAllGaps) != 0 || shift > kMaxTimeShift || count > kMaxEvents ||
      count > payload.left() * kMaxEventsOfByte) {
    return false;
  }
  events_->set_time_shift(static_cast<unsigned>(shift));
  const size_t before = events.size();
  events.resize(before + count);
  if (!read_events(payload, std::span(events).subspan(before))) {
    events.resize(before);
    return false;
  }
  const bool goes_on = (flags & kGoesOn) != 0;
  last_state_ = numbers;
  state_ = {.start_ticks = start_ticks,
            .ticks = ticks,
            .elapsed_ns = elapsed_ns,
            .complete_until = complete_until,
            .lost_events = lost_events,
            .gaps = static_cast<uint32_t>(gaps),
            .may_repeat_stacks = (flags & kMayRepeatStacks) != 0,
            .has_unread = goes_on || (flags & kHasUnread) != 0};
  drained = {.record_bytes = record_bytes, .is_whole = !goes_on};
  return true;
}

// All of one frame's content.
bool ReceivedStream::read_events(wire::VarintReader& payload, std::span<RawEvent> events) {
  for (RawEvent& event : events) {
    if (!events_->next(payload, entries_.node_count(), event)) return false;
    if (is_note(event)) {
      event.stack = text_count_++;
      texts_.emplace(event.stack, events_->text());
    }
  }
  return payload.at_end() && events_->is_between_events();
}

void ReceivedStream::take_modules(std::vector<model::Module>& modules) {
  take_table_frames();
  modules_before_ += tables_.modules.size();
  std::ranges::move(tables_.modules, std::back_inserter(modules));
  tables_.modules.clear();
}

void ReceivedStream::take_threads(std::vector<model::Thread>& threads) {
  take_table_frames();
  threads_before_ += tables_.threads.size();
  std::ranges::move(tables_.threads, std::back_inserter(threads));
  tables_.threads.clear();
}

std::string ReceivedStream::take_text(uint32_t number) {
  const auto found = texts_.find(number);
  if (found == texts_.end()) return {};
  std::string text = std::move(found->second);
  texts_.erase(found);
  return text;
}

}  // namespace heaptap::stream
