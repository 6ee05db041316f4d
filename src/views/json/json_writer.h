// Streaming JSON writer into a text: no tree of values in memory.
#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::json {

// With quotes. Invalid UTF-8 becomes the replacement character.
void append_json_string(std::string& text, std::string_view value);

// A number as the string "0x1f".
struct JsonHex {
  uint64_t number = 0;
};

enum class JsonLayout : uint8_t {
  kOneLine,      // without spaces
  kLinePerEntry  // each indented by one space more than its object or array
};

// Appends values in document order: in an object after the key. Unchecked: everything begun must be ended, and keys of
// an object must be unique. The text may be flushed and cleared between two entries.
class JsonWriter {
 public:
  // `layout` applies to objects and arrays without one of their own.
  explicit JsonWriter(std::string& text, JsonLayout layout = JsonLayout::kOneLine) : text_(text), layout_(layout) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  // Within a one-line object, nested layouts are ignored.
  void begin_object(JsonLayout layout) { begin('{', layout); }
  void begin_object() { begin('{', layout_); }
  void end_object() { end('}'); }
  void begin_array(JsonLayout layout) { begin('[', layout); }
  void begin_array() { begin('[', layout_); }
  void end_array() { end(']'); }

  // The next value written is this member's.
  JsonWriter& key(std::string_view name) {
    begin_entry();
    append_json_string(text_, name);
    text_ += ':';
    if (is_line_per_entry()) text_ += ' ';
    next_ = Next::kValue;
    return *this;
  }
  template <typename Value>
  void member(std::string_view name, const Value& value_of_it) {
    key(name).value(value_of_it);
  }

  void value(std::string_view string) {
    begin_value();
    append_json_string(text_, string);
  }
  void value(std::same_as<bool> auto is_true) { raw(is_true ? "true" : "false"); }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void value(Number number) {
    begin_value();
    char digits[24];
    const char* end = nullptr;
    if constexpr (std::signed_integral<Number>)
      end = std::to_chars(digits, digits + sizeof digits, int64_t{number}).ptr;
    else
      end = std::to_chars(digits, digits + sizeof digits, uint64_t{number}).ptr;
    text_.append(digits, static_cast<size_t>(end - digits));
  }
  // The shortest digits that identify the number. NaN and infinities are null.
  void value(double number);
  void value(JsonHex number);
  void value(std::nullptr_t) { raw("null"); }
  template <typename Value>
  void value(const std::optional<Value>& value_or_null) {
    if (value_or_null)
      value(*value_or_null);
    else
      value(nullptr);
  }
  // An array.
  template <typename Values>
  void values(const Values& all) {
    begin_array();
    for (const auto& each : all) value(each);
    end_array();
  }
  // Raw JSON: one value, or several entries separated by commas.
  void raw(std::string_view json) {
    begin_value();
    text_ += json;
  }

  // For unindented lines; the next entry begins a line:
  void entry_on_line() {
    if (next_ == Next::kLaterEntry) text_ += ',';
    text_ += '\n';
    next_ = Next::kFirstEntry;
  }
  // The same, unless it is the first entry.
  void later_entry_on_line() {
    if (next_ == Next::kLaterEntry) entry_on_line();
  }
  // After the beginning of an object or array, or before its end.
  void line_break() { text_ += '\n'; }

 private:
  enum class Next : uint8_t { kFirstEntry, kLaterEntry, kValue };

  void begin_value() {
    if (next_ != Next::kValue) begin_entry();
    next_ = Next::kLaterEntry;
  }
  void begin_entry() {
    if (next_ == Next::kLaterEntry) text_ += ',';
    if (is_line_per_entry()) break_line();
  }
  void begin(char bracket, JsonLayout layout) {
    begin_value();
    text_ += bracket;
    if (layout == JsonLayout::kLinePerEntry && depth_ == line_depth_) ++line_depth_;
    ++depth_;
    next_ = Next::kFirstEntry;
  }
  void end(char bracket) {
    const bool is_broken = is_line_per_entry();
    --depth_;
    if (is_broken) {
      --line_depth_;
      if (next_ == Next::kLaterEntry) break_line();
    }
    text_ += bracket;
    next_ = Next::kLaterEntry;
  }
  // Of the innermost object or array.
  [[nodiscard]] bool is_line_per_entry() const { return depth_ != 0 && depth_ == line_depth_; }
  void break_line() {
    text_ += '\n';
    text_.append(depth_, ' ');
  }

  std::string& text_;
  size_t depth_ = 0;       // open objects and arrays
  size_t line_depth_ = 0;  // outer ones of these with a line per entry
  JsonLayout layout_;
  Next next_ = Next::kFirstEntry;
};

// Scope of an object: begins it, and ends it at the end of the scope.
class JsonObject {
 public:
  explicit JsonObject(JsonWriter& json) : json_(json) { json_.begin_object(); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() { json_.end_object(); }

 private:
  JsonWriter& json_;
};

}  // namespace heaptap::json
