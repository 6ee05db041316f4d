// Messages over connections that end at any byte: each arrives once, and in order.
#include "common/line/reliable_line.h"
#include "common/line/line_messages.h"
#include "common/message/common_messages.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace heaptap::line {
namespace {

using message::Message;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kSessionName(kSessionBytes, 's');

Message numbered(uint64_t number, size_t bytes = 10) {
  Message message{.kind = Kind::kBytes, .number = number, .fields = {}};
  message.fields.add(Field::kBytes, std::string(bytes, 'b'));
  return message;
}

// Two ends and what lies between them.
class ReliableLineTest : public ::testing::Test {
 protected:
  ReliableLineTest() {
    host_.set_session(kSessionName);
    target_.set_session(kSessionName);
  }

  void connect() {
    host_.begin(now_);
    target_.begin(now_);
    host_.greet();
    target_.greet();
  }
  // What one end says, as far as `most` bytes of it arrive.
  void carry(ReliableLine& from, ReliableLine& to, size_t most = SIZE_MAX) {
    std::string bytes;
    while (from.has_outgoing(now_)) bytes += from.take_outgoing(1000, now_);
    to.receive(std::string_view(bytes).substr(0, most), now_);
    for (ReliableLine* line : {&host_, &target_}) {
      if (line->greeting() && !resumed_[line == &host_]) {
        EXPECT_TRUE(line->resume());
        resumed_[line == &host_] = true;
      }
    }
    take(to);
  }
  void take(ReliableLine& line) {
    while (const auto message = line.next()) arrived_[&line == &host_].push_back(message->number);
  }
  void reconnect() {
    resumed_[0] = resumed_[1] = false;
    connect();
  }
  static std::vector<uint64_t> first(uint64_t count) {
    std::vector<uint64_t> numbers(count);
    for (uint64_t i = 0; i < count; ++i) numbers[i] = i;
    return numbers;
  }

  TimePoint now_{};
  ReliableLine host_{10'000};
  ReliableLine target_{10'000};
  bool resumed_[2] = {};
  std::vector<uint64_t> arrived_[2];  // at the target, at the host
};

TEST_F(ReliableLineTest, MessagesArriveInOrder) {
  connect();
  for (uint64_t i = 0; i < 100; ++i) target_.send(numbered(i));
  for (int i = 0; i < 4; ++i) {
    carry(host_, target_);
    carry(target_, host_);
  }
  EXPECT_EQ(arrived_[1], first(100));
  EXPECT_EQ(target_.unconfirmed(), 100u);
  now_ += seconds(1);
  carry(host_, target_);
  EXPECT_EQ(target_.unconfirmed(), 0u);
  EXPECT_EQ(target_.kept_bytes(), 0u);
}

TEST_F(ReliableLineTest, NothingIsSentBeforeTheOtherEndSaidWhereItIs) {
  connect();
  target_.send(numbered(0));
  const std::string greeting = target_.take_outgoing(SIZE_MAX, now_);
  EXPECT_FALSE(target_.has_outgoing(now_ + seconds(100)));
  host_.receive(greeting, now_);
  EXPECT_TRUE(host_.greeting());
  EXPECT_FALSE(host_.next());
}

TEST_F(ReliableLineTest, ConnectionsThatEndAnywhereLoseAndDoubleNothing) {
  std::mt19937 random(7);
  uint64_t sent[2] = {};
  for (int round = 0; round < 2000; ++round) {
    reconnect();
    for (int i = 0; i < 3; ++i) {
      for (int k = static_cast<int>(random() % 3); k > 0; --k) host_.send(numbered(sent[0]++, random() % 300));
      for (int k = static_cast<int>(random() % 5); k > 0; --k) target_.send(numbered(sent[1]++, random() % 300));
      now_ += milliseconds(random() % 800);
      const bool ends = random() % 4 == 0;
      carry(host_, target_, ends ? random() % 500 : SIZE_MAX);
      if (ends) break;
      const bool is_cut = random() % 4 == 0;
      carry(target_, host_, is_cut ? random() % 900 : SIZE_MAX);
      if (is_cut) break;
    }
    ASSERT_TRUE(host_.is_sound() && target_.is_sound());
  }
  reconnect();
  for (int i = 0; i < 4; ++i) {
    carry(host_, target_);
    carry(target_, host_);
  }
  EXPECT_EQ(arrived_[0], first(sent[0]));
  EXPECT_EQ(arrived_[1], first(sent[1]));
}

TEST_F(ReliableLineTest, WhoCantKeepMoreSaysSo) {
  while (target_.has_room()) target_.send(numbered(0, 1000));
  EXPECT_GE(target_.kept_bytes(), 10'000u);
  EXPECT_LT(target_.kept_bytes(), 11'100u);
  connect();
  for (int i = 0; i < 3; ++i) {
    carry(host_, target_);
    carry(target_, host_);
  }
  EXPECT_FALSE(target_.has_room());  // the host may not have got them
  now_ += seconds(1);
  carry(host_, target_);
  EXPECT_TRUE(target_.has_room());
}

TEST_F(ReliableLineTest, AnEndThatIsThereIsHeard) {
  connect();
  for (int i = 0; i < 2; ++i) {
    carry(host_, target_);
    carry(target_, host_);
  }
  for (int i = 0; i < 60; ++i) {
    now_ += seconds(1);
    carry(target_, host_);
    EXPECT_FALSE(host_.is_silent(now_)) << i;
  }
  EXPECT_TRUE(target_.is_silent(now_));
}

std::string greeting_of(const std::string& session, uint64_t received) {
  Message resume{.kind = Kind::kResume, .number = 0, .fields = {}};
  resume.fields.add(Field::kSession, session);
  resume.fields.add(Field::kNumber, received);
  return encode(message::hello()) + encode(resume);
}

TEST_F(ReliableLineTest, AnEndThatClaimsWhatNeverWasIsRefused) {
  for (int i = 0; i < 3; ++i) target_.send(numbered(0));
  for (const uint64_t claim : {uint64_t{4}, uint64_t{1} << 40, UINT64_MAX}) {
    target_.begin(now_);
    target_.receive(greeting_of(kSessionName, claim), now_);
    ASSERT_TRUE(target_.greeting()) << claim;
    EXPECT_FALSE(target_.resume()) << claim;
  }
  target_.begin(now_);
  target_.receive(greeting_of(kSessionName, 3), now_);
  EXPECT_TRUE(target_.resume());
  EXPECT_EQ(target_.unconfirmed(), 0u);
}

TEST_F(ReliableLineTest, WhatIsNoGreetingIsRefused) {
  const Message strangers[] = {numbered(0), {.kind = Kind::kHeartbeat, .number = 0, .fields = {}}};
  for (const Message& stranger : strangers) {
    target_.begin(now_);
    target_.receive(encode(stranger), now_);
    EXPECT_FALSE(target_.is_sound());
    EXPECT_FALSE(target_.greeting());
    EXPECT_FALSE(target_.next());
  }
  target_.begin(now_);
  target_.receive(greeting_of("short", 0), now_);
  EXPECT_FALSE(target_.is_sound());
}

TEST_F(ReliableLineTest, MutatedBytesDoNoHarm) {
  std::string sound = greeting_of(kSessionName, 0);
  for (uint64_t i = 0; i < 5; ++i) sound += encode(numbered(i));
  std::mt19937 random(11);
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = sound;
    for (auto k = 1 + random() % 3; k > 0; --k) bytes[random() % bytes.size()] = static_cast<char>(random());
    ReliableLine line(1000);
    line.begin(now_);
    line.receive(bytes, now_);
    size_t messages = 0;
    while (line.next()) ++messages;
    EXPECT_LE(messages, 8u);
    EXPECT_LE(line.received(), 8u);
  }
}

}  // namespace
}  // namespace heaptap::line
