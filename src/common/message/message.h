// Codec of messages, for the protocols between a recording heaptap and its clients, two machines, and a symbol server
// and its clients: over a stream, independent of byte order and word size, described in docs/wire.md. Messages are not
// trusted.
//
//   message  ┌ bytes after this: 4, little-endian ┬ kind: varint │ number: varint ┬ field ┬ field ┬ … ┐
//   field    ┌ which: varint │ bytes: varint ┬ a text, or one varint ┐
//
// An answer has its request's number. Messages that answer nothing and need no answer have number 0.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace heaptap::message {

// Number of a kind of message or of a field. Each protocol enumerates its own: the codec knows none of them.
struct Number {
  constexpr Number() = default;
  constexpr explicit Number(uint8_t number) : value(number) {}
  template <typename Enumeration>
    requires std::is_enum_v<Enumeration> && (sizeof(Enumeration) == sizeof(uint8_t))
  // NOLINTNEXTLINE(google-explicit-constructor,hicpp-explicit-conversions): an enumerator is its number
  constexpr Number(Enumeration each) : value(static_cast<uint8_t>(each)) {}
  bool operator==(const Number&) const = default;
  // For switches over one protocol's enumeration. A number that isn't in it is none of its enumerators.
  template <typename Enumeration>
  [[nodiscard]] constexpr Enumeration as() const {
    return static_cast<Enumeration>(value);
  }

  uint8_t value = 0;
};

class Fields {
 public:
  void add(Number field, uint64_t number);
  void add(Number field, std::string_view text);
  void add(Number field, const char* text) { add(field, std::string_view(text)); }
  void add(Number field, bool flag) { add(field, uint64_t{flag}); }
  void add(Number field, uint32_t number) { add(field, uint64_t{number}); }
  void add(Number field, const Fields& entry) { add(field, std::string_view(entry.bytes())); }
  template <typename Value>
  void add_known(Number field, const std::optional<Value>& number) {
    if (number) add(field, static_cast<uint64_t>(*number));
  }

  // The first of several.
  [[nodiscard]] std::optional<uint64_t> number(Number field) const;
  [[nodiscard]] std::optional<std::string_view> text(Number field) const;
  [[nodiscard]] uint64_t number_or_0(Number field) const { return number(field).value_or(0); }
  [[nodiscard]] uint32_t small_number(Number field) const;  // 0 where it is missing or too large
  [[nodiscard]] std::string text_or_empty(Number field) const { return std::string(text(field).value_or("")); }
  [[nodiscard]] std::vector<std::string_view> texts(Number field) const;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // None: invalid.
  static std::optional<Fields> read(std::string_view bytes);

 private:
  std::string bytes_;
  struct Place {
    Number field;
    size_t begin;
    size_t size;
  };
  std::vector<Place> places_;
};

struct Message {
  Number kind;
  uint64_t number = 0;
  Fields fields;
};

std::string encode(const Message& message);

// Incremental parser of messages.
class MessageReader {
 public:
  // Longer messages are invalid.
  explicit MessageReader(size_t max_bytes) : max_bytes_(max_bytes) {}

  void add(std::string_view bytes);
  // None: no complete message yet, or invalid data: then is_sound() is false from then on.
  std::optional<Message> next();
  [[nodiscard]] bool is_sound() const { return is_sound_; }
  [[nodiscard]] size_t waiting_bytes() const { return bytes_.size() - read_; }

 private:
  size_t max_bytes_;
  std::string bytes_;
  size_t read_ = 0;  // of these
  bool is_sound_ = true;
};

}  // namespace heaptap::message
