#include "common/message/message.h"

#include <algorithm>
#include <utility>

#include "common/wire/frame.h"
#include "common/wire/varint.h"

namespace heaptap::message {
namespace {

constexpr size_t kLengthBytes = 4;

void put_varint(std::string& to, uint64_t value) {
  uint8_t coded[wire::kMaxVarintBytes];
  to.append(reinterpret_cast<const char*>(coded), static_cast<size_t>(wire::write_varint(coded, value) - coded));
}

wire::VarintReader reader_of(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

std::optional<Message> read_message(std::string_view bytes) {
  wire::VarintReader in = reader_of(bytes);
  const uint64_t kind = in.varint();
  const uint64_t number = in.varint();
  if (!in.ok() || kind > UINT8_MAX) return std::nullopt;
  auto fields = Fields::read(bytes.substr(bytes.size() - in.left()));
  if (!fields) return std::nullopt;
  return Message{Number(static_cast<uint8_t>(kind)), number, *std::move(fields)};
}

}  // namespace

void Fields::add(Number field, std::string_view text) {
  put_varint(bytes_, field.value);
  put_varint(bytes_, text.size());
  places_.push_back({field, bytes_.size(), text.size()});
  bytes_ += text;
}

void Fields::add(Number field, uint64_t number) {
  uint8_t coded[wire::kMaxVarintBytes];
  const uint8_t* const end = wire::write_varint(coded, number);
  add(field, std::string_view(reinterpret_cast<const char*>(coded), static_cast<size_t>(end - coded)));
}

std::optional<std::string_view> Fields::text(Number field) const {
  const auto place = std::ranges::find(places_, field, &Place::field);
  if (place == places_.end()) return std::nullopt;
  return std::string_view(bytes_).substr(place->begin, place->size);
}

std::optional<uint64_t> Fields::number(Number field) const {
  const auto bytes = text(field);
  if (!bytes) return std::nullopt;
  wire::VarintReader in = reader_of(*bytes);
  const uint64_t number = in.varint();
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return number;
}

uint32_t Fields::small_number(Number field) const {
  const uint64_t value = number_or_0(field);
  return value <= UINT32_MAX ? static_cast<uint32_t>(value) : 0;
}

std::vector<std::string_view> Fields::texts(Number field) const {
  std::vector<std::string_view> found;
  for (const Place& place : places_) {
    if (place.field == field) found.push_back(std::string_view(bytes_).substr(place.begin, place.size));
  }
  return found;
}

std::optional<Fields> Fields::read(std::string_view bytes) {
  Fields fields;
  fields.bytes_ = bytes;
  wire::VarintReader in = reader_of(bytes);
  while (!in.at_end()) {
    const uint64_t field = in.varint();
    const uint64_t size = in.varint();
    const size_t begin = bytes.size() - in.left();
    if (!in.ok() || in.bytes(size) == nullptr) return std::nullopt;
    // Fields of later versions are skipped.
    if (field <= UINT8_MAX)
      fields.places_.push_back({Number(static_cast<uint8_t>(field)), begin, static_cast<size_t>(size)});
  }
  return fields;
}

std::string encode(const Message& message) {
  std::string payload;
  put_varint(payload, message.kind.value);
  put_varint(payload, message.number);
  payload += message.fields.bytes();
  uint8_t length[kLengthBytes];
  wire::put_u32(length, static_cast<uint32_t>(payload.size()));
  return std::string(reinterpret_cast<const char*>(length), sizeof(length)) + payload;
}

void MessageReader::add(std::string_view bytes) {
  bytes_.erase(0, std::exchange(read_, 0));
  bytes_ += bytes;
}

std::optional<Message> MessageReader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(read_);
  if (!is_sound_ || rest.size() < kLengthBytes) return std::nullopt;
  const size_t length = wire::get_u32(reinterpret_cast<const uint8_t*>(rest.data()));
  if (length > max_bytes_) {
    is_sound_ = false;
    return std::nullopt;
  }
  if (rest.size() - kLengthBytes < length) return std::nullopt;
  auto message = read_message(rest.substr(kLengthBytes, length));
  is_sound_ = message.has_value();
  read_ += kLengthBytes + length;
  return message;
}

}  // namespace heaptap::message
