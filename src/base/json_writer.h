// JSON, written piece by piece into a text: no tree of values is in memory.
#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heaptap::base {

// With its quotes. What isn't UTF-8 becomes the replacement character.
void append_json_string(std::string& text, std::string_view value);

// A number as the string "0x1f".
struct JsonHex {
  uint64_t number = 0;
};

enum class JsonLayout : uint8_t {
  kOneLine,      // without spaces
  kLinePerEntry  // each indented by a space more than the object or array that it is in
};

// Appends values, each where it belongs: in an object after its key. What is begun has to be ended, and an object's keys have to
// be different: neither is checked. The text may be emptied between two entries, to hand it on.
class JsonWriter {
 public:
  // `layout` is that of the objects and arrays that don't ask for another one.
  explicit JsonWriter(std::string& text, JsonLayout layout = JsonLayout::kOneLine) : text_(text), layout_(layout) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  // All that is in one line is in that line, whatever it asks for.
  void begin_object(JsonLayout layout) { begin('{', layout); }
  void begin_object() { begin('{', layout_); }
  void end_object() { end('}'); }
  void begin_array(JsonLayout layout) { begin('[', layout); }
  void begin_array() { begin('[', layout_); }
  void end_array() { end(']'); }

  // What is written next is this member's value.
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
  // The fewest digits that say which number it is. What is no number, or infinite, is null.
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
  // JSON as it is: one value, or several entries with commas between them.
  void raw(std::string_view json) {
    begin_value();
    text_ += json;
  }

  // Lines that aren't indented. The entry that follows begins one:
  void entry_on_line() {
    if (next_ == Next::kLaterEntry) text_ += ',';
    text_ += '\n';
    next_ = Next::kFirstEntry;
  }
  // The same, unless it is the first entry.
  void later_entry_on_line() {
    if (next_ == Next::kLaterEntry) entry_on_line();
  }
  // Behind the beginning of an object or array, or before its end.
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
  size_t depth_ = 0;       // of the objects and arrays that are open
  size_t line_depth_ = 0;  // of them, the outer ones that have a line per entry
  JsonLayout layout_;
  Next next_ = Next::kFirstEntry;
};

// Begins an object, and ends it at the end of the scope.
class JsonObject {
 public:
  explicit JsonObject(JsonWriter& json) : json_(json) { json_.begin_object(); }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;
  ~JsonObject() { json_.end_object(); }

 private:
  JsonWriter& json_;
};

}  // namespace heaptap::base
