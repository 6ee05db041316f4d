// Malicious messages between two machines: valid ones with fields changed, omitted or duplicated, and impossible numbers. The framing
// stays valid, so that they are delivered.
#pragma once
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/line/line_messages.h"
#include "common/message/common_messages.h"
#include "common/message/message.h"
#include "common/wire/varint.h"

namespace heaptap::test {

class MessageLies {
 public:
  explicit MessageLies(uint32_t seed) : random_(seed) {}

  uint32_t pick(size_t below) { return static_cast<uint32_t>(random_() % below); }

  // Modified copy of a valid message; one in five is left unchanged.
  message::Message of(const message::Message& sound) {
    message::Message message{.kind = sound.kind, .number = sound.number, .fields = {}};
    std::vector<Entry> entries = entries_of(sound.fields);
    if (pick(5) != 0) {
      for (uint32_t i = 1 + pick(3); i > 0; --i) change(message, entries);
    }
    for (const Entry& entry : entries) message.fields.add(message::Number(entry.first), entry.second);
    return message;
  }

  uint64_t number() {
    constexpr std::array<uint64_t, 14> kExtremes = {0,
                                                    1,
                                                    2,
                                                    127,
                                                    128,
                                                    65'536,
                                                    uint64_t{INT32_MAX},
                                                    uint64_t{INT32_MAX} + 1,
                                                    UINT32_MAX,
                                                    uint64_t{UINT32_MAX} + 1,
                                                    uint64_t{INT64_MAX},
                                                    uint64_t{INT64_MAX} + 1,
                                                    UINT64_MAX - 1,
                                                    UINT64_MAX};
    return pick(3) == 0 ? random_() : kExtremes[pick(kExtremes.size())];
  }

 private:
  using Entry = std::pair<uint8_t, std::string>;

  static std::vector<Entry> entries_of(const message::Fields& fields) {
    std::vector<Entry> entries;
    const std::string& bytes = fields.bytes();
    wire::VarintReader in(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    while (!in.at_end()) {
      const auto field = static_cast<uint8_t>(in.varint());
      const uint64_t size = in.varint();
      entries.emplace_back(field, std::string(reinterpret_cast<const char*>(in.bytes(size)), size));
    }
    return entries;
  }

  static std::string coded(uint64_t number) {
    uint8_t bytes[wire::kMaxVarintBytes];
    const uint8_t* const end = wire::write_varint(bytes, number);
    return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(end - bytes)};
  }

  std::string some_text() {
    std::string text(pick(10) == 0 ? pick(20'000) : pick(40), '\0');
    for (char& character : text) character = static_cast<char>(random_());
    return text;
  }

  // Excludes kinds of the transport itself, which are no messages at this level.
  message::Number some_kind() {
    while (true) {
      const auto kind = message::Number(static_cast<uint8_t>(pick(120)));
      const bool is_of_line = kind == message::CommonKind::kHello || kind == line::Kind::kResume ||
                              kind == line::Kind::kReceived || kind == line::Kind::kHeartbeat;
      if (!is_of_line) return kind;
    }
  }

  void change(message::Message& message, std::vector<Entry>& entries) {
    if (entries.empty() || pick(12) == 0) {
      if (pick(2) == 0) {
        message.kind = some_kind();
      } else {
        message.number = number();
      }
      return;
    }
    const uint32_t at = pick(entries.size());
    Entry& entry = entries[at];
    switch (pick(8)) {
      case 0:
        entries.erase(entries.begin() + at);
        return;
      case 1:
        entries.push_back(Entry(entry));
        return;
      case 2:
        entry.first = static_cast<uint8_t>(random_());
        return;
      case 3:
        entry.second = some_text();
        return;
      case 4:
        entry.second.resize(entry.second.empty() ? 0 : pick(entry.second.size()));
        return;
      case 5:
        entry.second = coded(number());
        return;
      case 6:  // a number somewhere in it
        entry.second.insert(pick(entry.second.size() + 1), coded(number()));
        return;
      default:
        for (uint32_t i = 1 + pick(4); i > 0 && !entry.second.empty(); --i) {
          entry.second[pick(entry.second.size())] ^= static_cast<char>(1u << pick(8));
        }
    }
  }

  std::mt19937_64 random_;
};

}  // namespace heaptap::test
