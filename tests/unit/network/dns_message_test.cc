// Messages of multicast DNS: what is written is read again, and what is none is refused, wherever it is damaged.
#include "common/network/dns_message.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

namespace heaptap::network {
namespace {

using namespace std::string_literals;

const std::string kQuery = "\0\0\0\0\0\1\0\0\0\0\0\0"s;       // the head of one with a question
const std::string kResponse = "\0\0\x84\0\0\0\0\1\0\0\0\0"s;  // the head of one with an answer
const std::string kBoard = "\5board\5local\0"s;               // a name
const Name kType{"_heaptap", "_tcp", "local"};
const Name kHost{"board-heaptap", "local"};

Message full_message() {
  const Name instance("Board (2)", kType);
  Message message{.id = 7, .is_response = true, .is_truncated = true};
  message.questions.push_back({.name = kType, .type = RecordType::kPtr, .wants_unicast = true});
  message.answers.push_back(make_pointer(kType, instance, 4500));
  message.authorities.push_back(make_place(instance, {.port = 5000, .host = kHost}, 120));
  message.additionals.push_back(
      {.name = instance, .type = RecordType::kTxt, .takes_place = true, .ttl_s = 120, .data = "\3a=b"});
  message.additionals.push_back({.name = kHost, .type = RecordType::kA, .ttl_s = 120, .data = "\x0a\0\0\1"s});
  return message;
}

void expect_same(const std::vector<Record>& one, const std::vector<Record>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (size_t at = 0; at < one.size(); ++at) {
    EXPECT_EQ(one[at].name.bytes(), other[at].name.bytes());
    EXPECT_EQ(one[at].type, other[at].type);
    EXPECT_EQ(one[at].takes_place, other[at].takes_place);
    EXPECT_EQ(one[at].ttl_s, other[at].ttl_s);
    EXPECT_EQ(one[at].data, other[at].data);
  }
}

TEST(DnsMessage, KeepsWhatIsInIt) {
  const Message message = full_message();
  const auto read = read_message(write_message(message));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->id, 7);
  EXPECT_TRUE(read->is_response);
  EXPECT_TRUE(read->is_truncated);
  ASSERT_EQ(read->questions.size(), 1u);
  EXPECT_EQ(read->questions[0].name, kType);
  EXPECT_EQ(read->questions[0].type, RecordType::kPtr);
  EXPECT_TRUE(read->questions[0].wants_unicast);
  expect_same(read->answers, message.answers);
  expect_same(read->authorities, message.authorities);
  expect_same(read->additionals, message.additionals);
  EXPECT_EQ(target_of(read->answers[0])->text(), "Board (2)._heaptap._tcp.local");
  EXPECT_EQ(place_of(read->authorities[0])->port, 5000);
  EXPECT_EQ(place_of(read->authorities[0])->host.text(), "board-heaptap.local");
}

TEST(DnsMessage, NamesStandInItOnce) {
  const std::string bytes = write_message(full_message());
  EXPECT_EQ(bytes.find("_heaptap"), bytes.rfind("_heaptap"));
  EXPECT_EQ(bytes.find("Board"), bytes.rfind("Board"));
  EXPECT_EQ(bytes.find("local"), bytes.rfind("local"));
}

TEST(DnsMessage, IsNoneWhereverItIsCutOff) {
  const std::string bytes = write_message(full_message());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read_message(bytes.substr(0, length)).has_value()) << length;
  }
}

TEST(DnsMessage, SurvivesAnyDamage) {
  const std::string bytes = write_message(full_message());
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = bytes;
    for (int times = 0; times < 4; ++times) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (const auto read = read_message(damaged)) (void)read_message(write_message(*read));
  }
}

struct Case {
  const char* what;
  std::string bytes;
};

TEST(DnsMessage, WhatIsNoneIsRefused) {
  const std::string type_and_class = "\0\1\0\1"s;
  const std::string record_head = "\0\1\0\1\0\0\0\1"s;  // A, IN, a second
  std::string long_name;
  for (int label = 0; label < 5; ++label) long_name += "\x3f"s + std::string(63, 'a');
  const Case cases[] = {
      {"empty", ""},
      {"too long", write_message(Message{}) + std::string(kMaxMessageBytes, '\0')},
      {"another opcode", "\0\0\x08\0\0\0\0\0\0\0\0\0"s},
      {"an error code", "\0\0\x80\3\0\0\0\0\0\0\0\0"s},
      {"a pointer to itself", kQuery + "\xc0\x0c"s + type_and_class},
      {"a pointer forwards", kQuery + "\xc0\x0e\0"s + type_and_class},
      {"two pointers in a circle", kQuery + "\1a\xc0\x0c"s + type_and_class},
      {"a pointer into the head", kQuery + "\xc0\0"s + type_and_class},
      {"half a pointer", kQuery + "\xc0"s},
      {"another kind of label", kQuery + "\x41\0"s + type_and_class},
      {"a label that goes beyond", kQuery + "\x3f"
                                            "abc"},
      {"a name of more than 255 bytes", kQuery + long_name + "\0"s + type_and_class},
      {"data that goes beyond", kResponse + kBoard + record_head + "\0\5\x0a\0\0\1"s},
      {"a pointer record that is shorter than its name", kResponse + kBoard + "\0\x0c\0\1\0\0\0\1\0\1\5board\0"s},
      {"a pointer record that is longer than its name", kResponse + kBoard + "\0\x0c\0\1\0\0\0\1\0\3\0\0\0"s},
      {"a place without a host", kResponse + kBoard + "\0\x21\0\1\0\0\0\1\0\6\0\0\0\0\0\1"s},
      {"a place that is too short", kResponse + kBoard + "\0\x21\0\1\0\0\0\1\0\2\0\0"s},
      {"more records than there are", "\0\0\x84\0\0\0\xff\xff\0\0\0\0"s + kBoard + record_head + "\0\4\x0a\0\0\1"s},
  };
  for (const Case& one : cases) EXPECT_FALSE(read_message(one.bytes).has_value()) << one.what;
}

TEST(DnsMessage, ManyPointersInARowAreTooMany) {
  const auto message_with = [](size_t count) {
    // An answer whose data is a row of pointers; a second one's name is the last of them.
    std::string row;
    const size_t begin = 12 + 1 + 10;
    for (size_t pointer = 0; pointer < count; ++pointer) {
      const size_t target = pointer == 0 ? 12 : begin + 2 * (pointer - 1);
      row += {static_cast<char>(0xc0 | target >> 8), static_cast<char>(target & 0xff)};
    }
    std::string bytes = "\0\0\x84\0\0\0\0\2\0\0\0\0"s + "\0\0\x10\0\1\0\0\0\1"s;
    bytes += {static_cast<char>(row.size() >> 8), static_cast<char>(row.size() & 0xff)};
    bytes += row;
    const size_t last = begin + row.size() - 2;
    bytes += {static_cast<char>(0xc0 | last >> 8), static_cast<char>(last & 0xff)};
    return bytes + "\0\x10\0\1\0\0\0\1\0\0"s;
  };
  EXPECT_TRUE(read_message(message_with(100)).has_value());
  EXPECT_FALSE(read_message(message_with(200)).has_value());
}

TEST(DnsMessage, OtherClassesArePassedOver) {
  const std::string other = kBoard + "\0\1\0\3\0\0\0\1\0\4\x0a\0\0\1"s;
  const std::string own = kBoard + "\0\1\x80\1\0\0\0\1\0\4\x0a\0\0\2"s;
  const auto read = read_message("\0\0\x84\0\0\0\0\2\0\0\0\0"s + other + own);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->answers.size(), 1u);
  EXPECT_TRUE(read->answers[0].takes_place);
  EXPECT_EQ(read->answers[0].data, "\x0a\0\0\2"s);
}

TEST(DnsName, IsComparedWithoutCase) {
  EXPECT_EQ(Name({"_HeapTap", "_TCP", "Local"}), kType);
  EXPECT_EQ(Name({"_HeapTap", "_TCP", "Local"}).folded(), kType.folded());
  EXPECT_NE(Name({"\xc3\x84"}), Name({"\xc3\xa4"}));
  EXPECT_NE(Name({"a", "b"}), Name({"a.b"}));
  EXPECT_TRUE(Name("Any.one", kType).is_child_of(kType));
  EXPECT_FALSE(kType.is_child_of(kType));
  EXPECT_FALSE(Name().is_child_of(kType));
  EXPECT_EQ(Name("Any.one\\", {"local"}).text(), "Any\\.one\\\\.local");
}

TEST(DnsName, HasABound) {
  Name name;
  EXPECT_FALSE(name.append(""));
  EXPECT_FALSE(name.append(std::string(64, 'a')));
  for (int label = 0; label < 3; ++label) EXPECT_TRUE(name.append(std::string(63, 'a')));
  EXPECT_FALSE(name.append(std::string(62, 'a')));
  EXPECT_TRUE(name.append(std::string(61, 'a')));
  EXPECT_EQ(name.bytes().size() + 1, kMaxNameBytes);
}

}  // namespace
}  // namespace heaptap::network
