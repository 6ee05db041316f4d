#include "capture/tracer/api_calls.h"

#include <algorithm>
#include <cstring>

namespace heaptap::tracer {

using wire::Function;
using wire::NoteKind;
using wire::RecordingSwitch;
using wire::RecordKind;

uint64_t ApiCalls::word(unsigned index) const {
  uint64_t value = 0;
  space_.cpu().argument(registers_, space_.memory(), index, value);
  return value;
}

// A 64-bit number, which takes two words on 32-bit machines.
uint64_t ApiCalls::long_word(unsigned index) const {
  if (words_of_a_number() == 1) return word(index);
  const uint64_t first = word(index);
  const uint64_t second = word(index + 1);
  return space_.cpu().is_big_endian() ? first << 32 | second : second << 32 | first;
}

// Up to its end, or up to the maximum length.
std::string ApiCalls::text_at(uint64_t address) const {
  std::string text(wire::kMaxNoteTextBytes, '\0');
  if (address == 0) return {};
  const size_t bytes = space_.memory().read_some(address, text.data(), text.size());
  text.resize(strnlen(text.data(), bytes));
  return text;
}

void ApiCalls::say(NoteKind kind, uint64_t address, const std::string& text) {
  space_.log().write_text(stream_, kind, address, text);
}

void ApiCalls::push_tag() {
  const uint32_t tag = thread_.unkept_tags == 0
                           ? space_.log().label(thread_.tag, wire::LabelKind::kTag, text_at(word(0)))
                           : wire::kNoLabel;
  if (tag != wire::kNoLabel) {
    thread_.tag = tag;
  } else {
    ++thread_.unkept_tags;
  }
}

void ApiCalls::pop_tag() {
  if (thread_.unkept_tags > 0) {
    --thread_.unkept_tags;
  } else {
    thread_.tag = space_.log().parent_of_label(thread_.tag);
  }
}

void ApiCalls::entered(ApiCall api_call) {
  const unsigned behind_pool = words_of_a_number();
  std::atomic<uint32_t>& recording_switch = space_.log().header().recording_switch;
  const auto turn = [&](RecordingSwitch from, RecordingSwitch to) {
    auto expected = static_cast<uint32_t>(from);
    return recording_switch.compare_exchange_strong(expected, static_cast<uint32_t>(to), std::memory_order_relaxed);
  };
  switch (api_call) {
    case ApiCall::kEnable:
      if (turn(RecordingSwitch::kOff, RecordingSwitch::kOn) || turn(RecordingSwitch::kNotYet, RecordingSwitch::kOn))
        say(NoteKind::kSwitchedOn, 0, "");
      return;
    case ApiCall::kDisable:
      if (wire::is_switched_off(space_.log().header())) return;
      say(NoteKind::kSwitchedOff, 0, "");
      turn(RecordingSwitch::kOn, RecordingSwitch::kOff);
      return;
    case ApiCall::kMark:
      return say(NoteKind::kMark, 0, text_at(word(0)));
    case ApiCall::kPushTag:
      return push_tag();
    case ApiCall::kPopTag:
      return pop_tag();
    case ApiCall::kNameBlock:
      if (word(0) != 0) say(NoteKind::kBlockName, word(0), text_at(word(1)));
      return;
    case ApiCall::kPoolDestroy:
      return record(RecordKind::kPoolDestroy, Function::kPoolDestroy, 0, 0);
    case ApiCall::kAllocated:
      return record(RecordKind::kPoolAllocate, Function::kPoolAllocate, word(behind_pool), word(behind_pool + 1));
    case ApiCall::kReleased:
      return record(RecordKind::kPoolRelease, Function::kPoolRelease, word(behind_pool), 0);
    case ApiCall::kReallocated:
      if (word(behind_pool) != 0) {
        record(RecordKind::kPoolRelease, Function::kPoolReallocate, word(behind_pool), 0);
      }
      if (word(behind_pool + 1) != 0) {
        record(RecordKind::kPoolAllocate, Function::kPoolReallocate, word(behind_pool + 1), word(behind_pool + 2));
      }
      return;
    case ApiCall::kOpened:
      return record(RecordKind::kPoolAllocate, Function::kResourceOpen, long_word(behind_pool),
                    long_word(2 * behind_pool));
    case ApiCall::kClosed:
      return record(RecordKind::kPoolRelease, Function::kResourceClose, long_word(behind_pool), 0);
    case ApiCall::kNone:
    case ApiCall::kIsRecording:
    case ApiCall::kReport:
    case ApiCall::kScan:
    case ApiCall::kPoolCreate:
    case ApiCall::kResourceCreate:
      return;
  }
}

void ApiCalls::made(ApiCall api_call, uint64_t name_address, uint64_t number) {
  const auto kind = api_call == ApiCall::kPoolCreate ? wire::LabelKind::kPool : wire::LabelKind::kResource;
  if (number == 0 || number > wire::kMaxPools) return;
  space_.add_pool(number, {.kind = kind, .name = text_at(name_address)});
}

// Ignores pools whose creation wasn't seen, and invalid ones.
void ApiCalls::record(RecordKind kind, Function function, uint64_t address, uint64_t size_bytes) {
  const uint64_t number = long_word(0);
  const AddressSpace::Pool* const pool = space_.pool(number);
  const bool is_resource = wire::facts_of(function).family == wire::Family::kResource;
  if (pool == nullptr || (pool->kind == wire::LabelKind::kResource) != is_resource) return;
  LogWriter& log = space_.log();
  uint32_t stack = walk_();
  if (kind == RecordKind::kPoolAllocate) {
    uint32_t label = log.label(thread_.tag, pool->kind, pool->name);
    if (label == wire::kNoLabel) label = log.label(wire::kNoLabel, pool->kind, pool->name);
    if (label != wire::kNoLabel) stack = log.with_label(stack, label);
  }
  log.write(stream_, {.kind = kind,
                      .function = function,
                      .address = address,
                      .size_bytes = wire::make_pooled_size(static_cast<uint32_t>(number), size_bytes),
                      .stack = stack,
                      .time = 0});
}

}  // namespace heaptap::tracer
