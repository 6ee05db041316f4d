#include "collect/raw_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "model/capture.h"

namespace heaptap::collect {
namespace {

using wire::FrameType;
using wire::RawEvent;
using wire::RecordKind;

constexpr uint64_t kMayRepeatStacks = 1;
constexpr uint64_t kHasUnread = 2;
constexpr uint64_t kIsEmpty = 4;
constexpr uint64_t kGoesOn = 8;  // the drain's next events are in another frame
constexpr uint64_t kAllFlags = 15;
constexpr uint64_t kAllGaps =
    model::kGapDamagedLog | model::kGapOmittedObjects | model::kGapPastHooks | model::kGapMissedReleases;

// So that no frame comes near the most that one may be.
constexpr size_t kMaxEvents = 65536;
constexpr size_t kMaxStacks = size_t{1} << 20;

constexpr size_t kFewestEventBytes = 5;

bool has_size(RecordKind kind) { return wire::record_bytes(kind) == sizeof(wire::SizedRecord); }

// A call that a log's reader hands on.
bool is_event(RecordKind kind) { return wire::record_bytes(kind) != 0 && kind != RecordKind::kNote; }

}  // namespace

RawStreamWriter::RawStreamWriter(const AgentTables& tables)
    : from_(tables), stacks_(tables), tables_(trace::empty_tables()), bytes_(kRawStreamHeadBytes) {
  std::memcpy(bytes_.data(), kRawStreamMagic, 8);
  wire::put_u32(bytes_.data() + 8, kRawStreamVersion);
}

std::vector<uint8_t> RawStreamWriter::take() { return std::exchange(bytes_, {}); }

void RawStreamWriter::add_modules(const std::vector<model::Module>& modules) {
  if (modules.empty()) return;
  trace::write_modules(payload_, modules, 0);
  write_frame(FrameType::kModules);
}

void RawStreamWriter::add_threads(const std::vector<model::Thread>& threads) {
  if (threads.empty()) return;
  trace::write_threads(payload_, threads, 0);
  write_frame(FrameType::kThreads);
}

void RawStreamWriter::add_drain(std::span<const RawEvent> events, uint64_t record_bytes, const StreamState& state) {
  for (; events.size() > kMaxEvents; events = events.subspan(kMaxEvents)) {
    write_events(events.first(kMaxEvents), 0, state, false);
  }
  write_events(events, record_bytes, state, true);
}

uint32_t RawStreamWriter::sent_stack(uint32_t node) {
  return stacks_.number_of(node, [this](uint32_t parent, uint32_t code_index) {
    if (tables_.stacks.size() - sent_.stacks >= kMaxStacks) write_tables();
    tables_.stacks.push_back({parent, sent_code(code_index)});
    return static_cast<uint32_t>(tables_.stacks.size() - 1);
  });
}

model::CodeId RawStreamWriter::sent_code(uint32_t index) {
  const bool is_known = index < from_.code_count();
  if (is_known && index >= codes_.size()) codes_.resize(std::max<size_t>(size_t{index} + 1, codes_.size() * 2));
  uint32_t& number = is_known ? codes_[index] : code_of_none_;
  if (number == 0) number = send_code(is_known ? from_.code(index) : 0) + 1;
  return number - 1;
}

model::CodeId RawStreamWriter::send_code(uint64_t entry) {
  tables_.codes.push_back({wire::code_address(entry), wire::code_generation(entry), (entry & wire::kCodeExact) != 0});
  return static_cast<model::CodeId>(tables_.codes.size() - 1);
}

void RawStreamWriter::write_tables() {
  if (tables_.codes.size() > sent_.codes) {
    trace::write_codes(payload_, tables_.codes, sent_.codes);
    write_frame(FrameType::kCodes);
    sent_.codes = tables_.codes.size();
  }
  if (tables_.stacks.size() > sent_.stacks) {
    trace::write_stacks(payload_, tables_.stacks, sent_.stacks);
    write_frame(FrameType::kStacks);
    sent_.stacks = tables_.stacks.size();
  }
}

void RawStreamWriter::write_events(std::span<const RawEvent> events, uint64_t record_bytes, const StreamState& state,
                                   bool last) {
  event_stacks_.clear();
  for (const RawEvent& event : events) event_stacks_.push_back(sent_stack(event.stack));
  write_tables();
  payload_.varint((state.may_repeat_stacks ? kMayRepeatStacks : 0) | (state.has_unread ? kHasUnread : 0) |
                  (state.is_empty ? kIsEmpty : 0) | (last ? 0 : kGoesOn));
  for (const uint64_t value : {state.start_ticks, state.ticks, state.elapsed_ns, state.complete_until,
                               state.lost_events, uint64_t{state.gaps}, record_bytes, uint64_t{events.size()}}) {
    payload_.varint(value);
  }
  uint64_t time = state.start_ticks;
  uint64_t address = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const RawEvent& event = events[i];
    payload_.signed_varint(static_cast<int64_t>(event.time - time));
    payload_.varint(event.thread);
    payload_.varint(event_stacks_[i]);
    payload_.varint(wire::record_call(event.tagged_address));
    payload_.signed_varint(static_cast<int64_t>(event.address() - address));
    if (has_size(event.kind())) payload_.varint(event.size_bytes);
    time = event.time;
    address = event.address();
  }
  write_frame(FrameType::kRawEvents);
}

void RawStreamWriter::write_frame(FrameType type) {
  const auto payload_bytes = static_cast<uint32_t>(payload_.size());
  const size_t at = bytes_.size();
  bytes_.resize(at + wire::kFrameHeadBytes + payload_bytes);
  std::memcpy(bytes_.data() + at + wire::kFrameHeadBytes, payload_.data(), payload_bytes);
  wire::write_frame_head(
      bytes_.data() + at,
      {.type = type, .stored_bytes = payload_bytes, .raw_bytes = payload_bytes, .number = frame_number_++},
      payload_.data());
  payload_.clear();
}

uint64_t ReceivedStream::Entries::node(uint32_t number) const {
  return wire::make_node(tables_.stacks[number].parent, tables_.stacks[number].code);
}

uint64_t ReceivedStream::Entries::code(uint32_t index) const {
  const model::Code& code = tables_.codes[index];
  return (code.address & wire::kCodeAddressMask) | uint64_t{code.generation & 0x7fff} << 48 |
         (code.exact ? wire::kCodeExact : 0);
}

void ReceivedStream::receive(std::span<const uint8_t> bytes) {
  if (!failure_.empty()) return;
  bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(read_bytes_));
  read_bytes_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

void ReceivedStream::fail(std::string why) {
  failure_ = std::move(why);
  bytes_.clear();
  read_bytes_ = 0;
}

StreamState ReceivedStream::state() const {
  StreamState state = state_;
  state.is_empty = !has_frame();
  if (failure_.empty()) return state;
  state.has_unread = false;
  state.gaps |= model::kGapDamagedLog;
  return state;
}

// Of its state's other bits the sender's `is_empty` isn't asked: what was received and not handed on is here.
uint64_t ReceivedStream::drain(log::RawEvents& events, bool /*last*/) {
  Drained drained{.record_bytes = 0, .is_whole = false};
  wire::FrameHead head;
  wire::VarintReader payload;
  while (!drained.is_whole && next_frame(head, payload)) {
    const bool sound =
        head.type == FrameType::kRawEvents ? take_events(payload, events, drained) : take_table(head.type, payload);
    if (!sound) fail(fmt::format("frame {} of the stream is damaged", head.number));
  }
  return drained.record_bytes;
}

bool ReceivedStream::pass_head() {
  if (head_passed_) return true;
  const std::span<const uint8_t> head = unread();
  if (head.size() < kRawStreamHeadBytes) return false;
  if (std::memcmp(head.data(), kRawStreamMagic, 8) != 0 || wire::get_u32(head.data() + 8) != kRawStreamVersion) {
    fail("not a stream of events, or one of another version");
    return false;
  }
  read_bytes_ += kRawStreamHeadBytes;
  return head_passed_ = true;
}

// A whole one, or one that can't be.
bool ReceivedStream::has_frame() const {
  if (!head_passed_) return unread().size() >= kRawStreamHeadBytes;
  const std::span<const uint8_t> rest = unread();
  wire::FrameHead head;
  if (rest.size() < wire::kFrameHeadBytes) return false;
  return !wire::read_frame_head(rest.data(), head) || rest.size() - wire::kFrameHeadBytes >= head.stored_bytes;
}

bool ReceivedStream::next_frame(wire::FrameHead& head, wire::VarintReader& payload) {
  if (!pass_head() || !has_frame()) return false;
  const uint8_t* const at = unread().data();
  const uint8_t* const behind = at + wire::kFrameHeadBytes;
  if (!wire::read_frame_head(at, head) || head.number != frame_number_ || head.codec != wire::Codec::kNone ||
      head.raw_bytes != head.stored_bytes || !wire::checksum_matches(at, head, behind)) {
    fail(fmt::format("what follows frame {} of the stream is not the next one", frame_number_));
    return false;
  }
  ++frame_number_;
  read_bytes_ += wire::kFrameHeadBytes + head.stored_bytes;
  payload = wire::VarintReader(behind, head.stored_bytes);
  return true;
}

// The frames up to the next events.
void ReceivedStream::take_table_frames() {
  wire::FrameHead head;
  wire::VarintReader payload;
  while (pass_head() && has_frame()) {
    const bool is_table = !wire::read_frame_head(unread().data(), head) || head.type != FrameType::kRawEvents;
    if (!is_table || !next_frame(head, payload)) return;
    if (!take_table(head.type, payload)) fail(fmt::format("frame {} of the stream is damaged", head.number));
  }
}

bool ReceivedStream::take_table(FrameType type, wire::VarintReader& payload) {
  const auto is_sound = [&payload](bool taken) { return taken && payload.at_end(); };
  const auto is_thread = [](const model::Thread& thread) { return thread.number <= wire::kMaxThreads; };
  switch (type) {
    case FrameType::kModules:
      return is_sound(trace::read_modules(payload, tables_));
    case FrameType::kCodes:
      return is_sound(trace::read_codes(payload, tables_));
    case FrameType::kStacks:
      return is_sound(trace::read_stacks(payload, tables_));
    case FrameType::kThreads:
      return is_sound(trace::read_threads(payload, tables_)) && std::ranges::all_of(tables_.threads, is_thread);
    default:
      return false;
  }
}

bool ReceivedStream::take_events(wire::VarintReader& payload, log::RawEvents& events, Drained& drained) {
  const uint64_t flags = payload.varint();
  StreamState state{.start_ticks = payload.varint(),
                    .ticks = payload.varint(),
                    .elapsed_ns = payload.varint(),
                    .complete_until = payload.varint(),
                    .lost_events = payload.varint()};
  const uint64_t gaps = payload.varint();
  const uint64_t record_bytes = payload.varint();
  const uint64_t count = payload.varint();
  if (!payload.ok() || flags > kAllFlags || (gaps & ~kAllGaps) != 0 || count > payload.left() / kFewestEventBytes) {
    return false;
  }
  const size_t before = events.size();
  events.resize(before + count);
  RawEvent last{.time = state.start_ticks, .tagged_address = 0, .size_bytes = 0, .stack = 0, .thread = 0};
  for (RawEvent& event : std::span(events).subspan(before)) {
    if (!take_event(payload, last)) {
      events.resize(before);
      return false;
    }
    event = last;
  }
  if (!payload.at_end()) return false;
  state.gaps = static_cast<uint32_t>(gaps);
  state.may_repeat_stacks = (flags & kMayRepeatStacks) != 0;
  state.has_unread = (flags & kHasUnread) != 0;
  state_ = state;
  drained = {.record_bytes = record_bytes, .is_whole = (flags & kGoesOn) == 0};
  return true;
}

// `event` is the one before it.
bool ReceivedStream::take_event(wire::VarintReader& payload, RawEvent& event) const {
  const uint64_t time = event.time + static_cast<uint64_t>(payload.signed_varint());
  const uint64_t thread = payload.varint();
  const uint64_t stack = payload.varint();
  const uint64_t call = payload.varint();
  const uint64_t address = event.address() + static_cast<uint64_t>(payload.signed_varint());
  const auto kind = static_cast<RecordKind>(call >> 8);
  if (call > UINT16_MAX || !is_event(kind) || thread > wire::kMaxThreads || stack >= tables_.stacks.size() ||
      address > wire::kCodeAddressMask) {
    return false;
  }
  event = {.time = time,
           .tagged_address = call << 48 | address,
           .size_bytes = has_size(kind) ? payload.varint() : 0,
           .stack = static_cast<uint32_t>(stack),
           .thread = static_cast<uint32_t>(thread)};
  return payload.ok();
}

void ReceivedStream::take_modules(std::vector<model::Module>& modules) {
  take_table_frames();
  std::ranges::move(tables_.modules, std::back_inserter(modules));
  tables_.modules.clear();
}

void ReceivedStream::take_threads(std::vector<model::Thread>& threads) {
  take_table_frames();
  std::ranges::move(tables_.threads, std::back_inserter(threads));
  tables_.threads.clear();
}

}  // namespace heaptap::collect
