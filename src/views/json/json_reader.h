// JSON from outside, read into a tree of values. Strict (RFC 8259): anything else is an error, as are invalid UTF-8, a
// lone half of a surrogate pair, and values that are nested too deep.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace heaptap::json {

class JsonValue {
 public:
  enum class Kind : uint8_t { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, JsonValue>;

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is(Kind kind) const { return kind_ == kind; }

  // Of other kinds: empty or false.
  [[nodiscard]] bool boolean() const { return boolean_; }
  [[nodiscard]] const std::string& string() const { return is(Kind::kString) ? text_ : kNothing; }
  [[nodiscard]] const std::string& number() const { return is(Kind::kNumber) ? text_ : kNothing; }  // as it was written
  [[nodiscard]] const std::vector<JsonValue>& elements() const { return elements_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  // A whole number, also if written as 12.0; none: another value, negative, or above 2^53, where others lose digits.
  [[nodiscard]] std::optional<uint64_t> whole_number() const;
  // A member of an object, the last one of that name; null: none.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;

 private:
  friend class JsonReader;
  static const std::string kNothing;

  Kind kind_ = Kind::kNull;
  bool boolean_ = false;
  std::string text_;  // of a string or number
  std::vector<JsonValue> elements_;
  std::vector<Member> members_;
};

inline constexpr size_t kMaxJsonDepth = 32;

// One value, and nothing behind it but white space. The error says what is wrong and at which byte.
base::Result<JsonValue> read_json(std::string_view text, size_t max_depth = kMaxJsonDepth);

}  // namespace heaptap::json
