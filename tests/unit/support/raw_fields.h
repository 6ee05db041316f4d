// Fields of a message by their numbers alone, as docs/wire.md has them: independent of the enumerations of the code.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <variant>

#include "common/message/message.h"

namespace heaptap::test {

using FieldValue = std::variant<uint64_t, std::string_view>;

inline FieldValue number(uint64_t value) { return value; }
inline FieldValue text(std::string_view value) { return value; }

inline message::Fields fields_of(std::initializer_list<std::pair<int, FieldValue>> all) {
  message::Fields fields;
  for (const auto& [field, value] : all) {
    const message::Number at(static_cast<uint8_t>(field));
    std::visit([&](const auto& each) { fields.add(at, each); }, value);
  }
  return fields;
}

}  // namespace heaptap::test
