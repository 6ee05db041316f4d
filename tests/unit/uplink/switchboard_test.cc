// What the process of one session tells is there for the next one, whatever became of it.
#include "capture/uplink/switchboard.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "common/base/descriptor_message.h"
#include "common/line/message_fields.h"
#include "common/message/common_messages.h"
#include "no_more_files.h"

namespace heaptap::uplink {
namespace {

using Clock = std::chrono::steady_clock;

channel::Connection over(int socket, channel::Role role) {
  return *channel::Connection::over(base::UniqueFd(socket), role, "test", {}, {}, Clock::now());
}

// Connections that a test makes.
class MadeConnections : public ConnectionSource {
 public:
  explicit MadeConnections(std::list<channel::Connection>& made) : made_(made) {}
  void add_waits(std::vector<pollfd>& /*waits*/) const override {}
  std::optional<channel::Connection> next(bool /*is_alone*/, line::TimePoint /*now*/) override {
    if (made_.empty()) return std::nullopt;
    std::optional<channel::Connection> first(std::move(made_.front()));
    made_.pop_front();
    return first;
  }

 private:
  std::list<channel::Connection>& made_;
};

class SwitchboardTest : public ::testing::Test {
 protected:
  // A host begins a session: the end of its process.
  base::UniqueFd begin_session() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    made_.push_back(over(pair[0], channel::Role::kListener));
    channel::Connection& host = hosts_.emplace_back(over(pair[1], channel::Role::kConnector));
    line::ReliableLine line(1u << 20);
    line.begin(Clock::now());
    line.greet();
    std::string greeting = line.take_outgoing(4096, Clock::now());
    for (int i = 0; i < 100; ++i) {
      host.proceed(Clock::now());
      greeting.erase(0, host.write(line::bytes_of(greeting)));
      host.flush();
      board_.proceed(Clock::now());
      if (auto session = board_.next_session()) return std::move(session->connections);
    }
    ADD_FAILURE() << "no session was begun";
    return {};
  }

  // One that says this, and hears no session begin.
  void knock(const std::string& said, line::TimePoint now) {
    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    made_.push_back(over(pair[0], channel::Role::kListener));
    channel::Connection stranger = over(pair[1], channel::Role::kConnector);
    std::string waiting = said;
    for (int i = 0; i < 10; ++i) {
      stranger.proceed(now);
      waiting.erase(0, stranger.write(line::bytes_of(waiting)));
      stranger.flush();
      board_.proceed(now);
    }
    EXPECT_FALSE(board_.next_session());
  }

  static model::RowTable table() {
    model::RowTable table;
    for (unsigned i = 0; i < 50; ++i) table.add(uint64_t{16} * i, i % 2 + 1);
    return table;
  }

  std::list<channel::Connection> made_;
  std::list<channel::Connection> hosts_;
  Switchboard board_{std::make_unique<MadeConnections>(made_), 4};
};

TEST_F(SwitchboardTest, KeepsTheRowsThatASessionTells) {
  const SwitchedConnections process(begin_session());
  process.tell_program("program");
  for (int i = 0; i < 10; ++i) process.tell_rows(std::string("\x00\xff build-id ", 12) + std::to_string(i), table());
  board_.proceed(Clock::now());
  EXPECT_EQ(board_.programs(), "program");
  const KeptRows rows = board_.take_rows();
  for (int i = 0; i < 10; ++i) {
    const model::RowTable* const kept = rows.find(std::string("\x00\xff build-id ", 12) + std::to_string(i));
    ASSERT_NE(kept, nullptr) << i;
    EXPECT_EQ(kept->rows, table().rows);
  }
}

TEST_F(SwitchboardTest, TheyOutliveTheProcess) {
  base::UniqueFd channel = begin_session();
  const pid_t child = fork();
  if (child == 0) {
    const SwitchedConnections process(channel.duplicate());
    process.tell_rows("told", table());
    (void)raise(SIGKILL);
  }
  channel.reset();
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  board_.proceed(Clock::now());
  EXPECT_NE(board_.take_rows().find("told"), nullptr);
}

TEST_F(SwitchboardTest, WhatIsNoTableIsNotKept) {
  const base::UniqueFd channel = begin_session();
  const base::UniqueFd nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(base::send_message(channel.get(), "nothing", nothing.get()), 7);
  ASSERT_EQ(base::send_message(channel.get(), "program", -1), 7);
  board_.proceed(Clock::now());
  EXPECT_EQ(board_.programs(), "program");
  EXPECT_EQ(board_.take_rows().find("nothing"), nullptr);
}

TEST_F(SwitchboardTest, RowsThatCantBeTakenAreNoProgramsName) {
  const SwitchedConnections process(begin_session());
  process.tell_program("program");
  process.tell_rows("lost", table());
  {
    const test::NoMoreFiles no_more;
    board_.proceed(Clock::now());
  }
  process.tell_rows("later", table());
  board_.proceed(Clock::now());
  EXPECT_EQ(board_.programs(), "program");
  const KeptRows rows = board_.take_rows();
  EXPECT_EQ(rows.find("lost"), nullptr);
  EXPECT_NE(rows.find("later"), nullptr);
}

TEST_F(SwitchboardTest, TellsWhomItSentAwayAndWhy) {
  const line::TimePoint now = Clock::now();
  board_.close_to_new("it ends");
  line::ReliableLine line(1u << 20);
  line.begin(now);
  line.greet();
  knock(line.take_outgoing(4096, now), now);
  knock("\xff\xff\xff\xff", now);
  const std::vector<line::LineNews> news = board_.take_news();
  ASSERT_EQ(news.size(), 2u);
  for (const line::LineNews& each : news) {
    EXPECT_EQ(each.kind, line::LineNews::Kind::kRefused);
    EXPECT_EQ(each.peer, "test");
  }
  EXPECT_EQ(news[0].text, "it ends");
  EXPECT_EQ(news[1].text, "invalid data from the other side: not heaptap's protocol");
  EXPECT_TRUE(board_.take_news().empty());
}

// There is room for four; each of these would have had a process that waits for ever.
TEST_F(SwitchboardTest, WhoCantBeSpokenWithHasNoSession) {
  const line::TimePoint now = Clock::now();
  message::Message other{.kind = message::CommonKind::kHello, .number = 0, .fields = {}};
  other.fields.add(message::CommonField::kMajor, uint64_t{message::kMajorVersion + 1});
  line::ReliableLine late(1u << 20);
  late.set_takes_over(false);
  late.begin(now);
  late.greet();
  const std::string takes_over = late.take_outgoing(4096, now);
  for (int i = 0; i < 8; ++i) {
    knock(message::encode(other), now);
    knock(takes_over, now);
  }
  const std::vector<line::LineNews> news = board_.take_news();
  ASSERT_GE(news.size(), 2u);
  EXPECT_THAT(news[0].text, testing::HasSubstr("use the same release of both"));
  EXPECT_THAT(news[1].text, testing::HasSubstr("no recording there yet"));
  EXPECT_TRUE(begin_session());
}

TEST_F(SwitchboardTest, ThoseSentAwayDoNotFillALog) {
  const line::TimePoint now = Clock::now();
  for (int i = 0; i < 100; ++i) knock("\xff\xff\xff\xff", now);
  EXPECT_EQ(board_.take_news().size(), 5u);
  knock("\xff\xff\xff\xff", now + std::chrono::seconds(2));
  const std::vector<line::LineNews> news = board_.take_news();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].others, 95u);
}

TEST_F(SwitchboardTest, ASessionThatTellsForEverHoldsUpNothing) {
  const base::UniqueFd channel = begin_session();
  const SwitchedConnections process(channel.duplicate());
  for (int i = 0; i < 2000; ++i) process.tell_rows(std::to_string(i), table());
  for (int i = 0; i < 100; ++i) board_.proceed(Clock::now());
  EXPECT_NE(board_.take_rows().find("0"), nullptr);
  ASSERT_EQ(base::send_message(channel.get(), "program", -1), 7) << "it is read on";
}

}  // namespace
}  // namespace heaptap::uplink
