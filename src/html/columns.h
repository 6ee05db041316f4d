// JSON of tables: columns of numbers, written as text at once.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heaptap::html {

// Writes one JSON object, member by member.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& text) : text_(text) { text_ += '{'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;
  ~ObjectWriter() { text_ += '}'; }

  // What is written next is this member's value.
  std::string& member(const char* name) {
    if (!is_first_) text_ += ',';
    is_first_ = false;
    fmt::format_to(std::back_inserter(text_), "\"{}\":", name);
    return text_;
  }
  // The same where the name is the target's, as a JSON string.
  std::string& member_named(std::string_view json_name) {
    if (!is_first_) text_ += ',';
    is_first_ = false;
    text_ += json_name;
    return text_ += ':';
  }
  void number(const char* name, uint64_t value) { fmt::format_to(std::back_inserter(member(name)), "{}", value); }
  void json(const char* name, std::string_view value) { member(name) += value; }

  // One number of each entry.
  template <typename Entries, typename Value>
  void column(const char* name, const Entries& entries, Value value) {
    member(name);
    append_all(entries, value);
  }
  template <typename Entries, typename Value>
  void column_named(std::string_view json_name, const Entries& entries, Value value) {
    member_named(json_name);
    append_all(entries, value);
  }

 private:
  template <typename Entries, typename Value>
  void append_all(const Entries& entries, Value value) {
    text_ += '[';
    bool is_first = true;
    for (const auto& entry : entries) {
      if (!is_first) text_ += ',';
      is_first = false;
      append(value(entry));
    }
    text_ += ']';
  }
  void append(const std::optional<uint64_t>& value) {
    if (value)
      append(*value);
    else
      text_ += "null";
  }
  void append(uint64_t value) {
    const fmt::format_int digits(value);
    text_.append(digits.data(), digits.size());
  }
  void append(int64_t value) {
    const fmt::format_int digits(value);
    text_.append(digits.data(), digits.size());
  }
  void append(uint32_t value) { append(uint64_t{value}); }
  void append(std::string_view json) { text_ += json; }

  std::string& text_;
  bool is_first_ = true;
};

}  // namespace heaptap::html
