// How long either end waits for the other one: as long as something gets through, but not for ever, and no longer than is wanted.
#include "common/line/wait_budget.h"
#include "common/line/line_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>

#include "capture/stream/scan_bytes.h"
#include "common/line/message_fields.h"
#include "common/message/common_messages.h"
#include "two_ends.h"

namespace heaptap::line {
namespace {

using message::Message;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kKeptBytes = size_t{1} << 20;

Message some(message::Number kind) {
  Message message{.kind = kind, .number = 0, .fields = {}};
  message.fields.add(Field::kStream, uint64_t{1});
  message.fields.add(Field::kText, std::string(1000, 'a'));
  return message;
}

// What the host tells of what is alive, as the answer to a question: one block of so many bytes.
Message blocks_for(uint64_t question, uint64_t size_bytes = 8) {
  const model::ScannedBlock block{.address = 4096, .size_bytes = size_bytes, .number = 0, .site = 0, .type = 0};
  Message message = some(Kind::kBlocks);
  message.fields.add(Field::kQuestion, question);
  message.fields.add(Field::kBytes, text_of(stream::write_scanned_blocks(std::span(&block, 1))));
  return message;
}

// The line of one end that the other one has greeted.
class PatienceOfALine : public ::testing::Test {
 protected:
  PatienceOfALine() {
    line_.begin({.major = message::kMajorVersion, .minor = 0, .session = {}}, now_);
    line_.resume();
  }
  bool is_over_after(seconds time) { return wait_budget_.is_over(now_ += time); }

  TimePoint now_;
  ReliableLine line_{kKeptBytes};
  WaitBudget wait_budget_{{.silence = seconds(20), .in_all = seconds(100)}, line_, now_};
};

TEST_F(PatienceOfALine, EndsInSilence) {
  EXPECT_FALSE(is_over_after(seconds(19)));
  EXPECT_TRUE(is_over_after(seconds(1)));
}

TEST_F(PatienceOfALine, IsRenewedByWhatIsConfirmed) {
  line_.send(some(Kind::kBytes));
  (void)line_.take_outgoing(kKeptBytes, now_);
  EXPECT_FALSE(is_over_after(seconds(19)));
  Message received{.kind = Kind::kReceived, .number = 0, .fields = {}};
  received.fields.add(Field::kNumber, uint64_t{1});
  line_.receive(encode(received), now_);
  EXPECT_FALSE(is_over_after(seconds(19)));
  EXPECT_TRUE(is_over_after(seconds(20)));
}

TEST_F(PatienceOfALine, IsRenewedByWhatComesAndByPartsOfIt) {
  const std::string bytes = encode(some(Kind::kBlocks));
  for (size_t at = 0; at < bytes.size(); at += bytes.size() / 2) {
    EXPECT_FALSE(is_over_after(seconds(19)));
    line_.receive(std::string_view(bytes).substr(at, bytes.size() / 2), now_);
  }
  EXPECT_TRUE(line_.next());
  EXPECT_FALSE(is_over_after(seconds(19)));
}

TEST_F(PatienceOfALine, IsNotRenewedByHeartbeats) {
  const std::string beat = encode(Message{.kind = Kind::kHeartbeat, .number = 0, .fields = {}});
  for (int i = 0; i < 9; ++i) {
    EXPECT_FALSE(is_over_after(seconds(2)));
    line_.receive(beat, now_);
  }
  EXPECT_TRUE(is_over_after(seconds(2)));
}

TEST_F(PatienceOfALine, HasABoundAgainstWhatTrickles) {
  for (int i = 0; i < 9; ++i) {
    line_.receive(encode(some(Kind::kBlocks)), now_);
    EXPECT_FALSE(is_over_after(seconds(11)));
  }
  line_.receive(encode(some(Kind::kBlocks)), now_);
  EXPECT_TRUE(is_over_after(seconds(1)));
}

// A host that is asked what is alive, in the thread of the one who asks.
class LiveBlocksOfAHost : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(ends_.meet()); }
  // `answer`: what the host says, each time that it is its turn.
  base::Result<stream::LiveBlocks> ask(const std::function<void()>& answer) {
    return ends_.target.live_blocks(1, 1000, exit_wait_, [&] {
      answer();
      ends_.host.proceed(std::chrono::steady_clock::now());
    });
  }
  void say(const Message& message) { ends_.host.link().line().send(message); }

  test::OwnDirectory directory_;
  test::TwoEnds ends_{directory_.path()};
  std::optional<uplink::ExitWait> exit_wait_;
};

TEST_F(LiveBlocksOfAHost, EndSoonForAProcessThatEnds) {
  std::vector<LineNews> news;
  ends_.target.set_teller([&](const LineNews& each) { news.push_back(each); });
  exit_wait_ = uplink::ExitWait{.longest = milliseconds(200)};
  EXPECT_FALSE(ask([] {}));
  ASSERT_EQ(news.size(), 1U);
  EXPECT_THAT(news[0].text, testing::HasSubstr("waits for the connection, at most 200"));
}

// Where exit begins; that of the end is awaited all the same.
TEST_F(LiveBlocksOfAHost, ThatCanBeLeftOutAreAwaitedWithoutAWord) {
  std::vector<LineNews> news;
  ends_.target.set_teller([&](const LineNews& each) { news.push_back(each); });
  exit_wait_ = uplink::ExitWait{.longest = milliseconds(50), .is_optional = true};
  EXPECT_FALSE(ask([] {}));
  EXPECT_TRUE(news.empty());
  exit_wait_ = uplink::ExitWait{.longest = milliseconds(50)};
  EXPECT_FALSE(ask([] {}));
  EXPECT_EQ(news.size(), 1U) << "it has waited";
}

// A process that waits isn't held up by all those that waited before it.
TEST_F(LiveBlocksOfAHost, AreNotAwaitedAgainWhereTheLineIsStillBehind) {
  exit_wait_ = uplink::ExitWait{.longest = milliseconds(100)};
  EXPECT_FALSE(ask([] {}));
  ends_.target.send({.kind = Kind::kBytes, .number = 0, .fields = some(Kind::kBytes).fields});
  Message much{.kind = Kind::kBytes, .number = 0, .fields = {}};
  much.fields.add(Field::kBytes, std::string(200'000, 'x'));
  ends_.target.send(much);
  exit_wait_ = uplink::ExitWait{.longest = seconds(600)};
  EXPECT_FALSE(ask([] {}));
}

TEST_F(LiveBlocksOfAHost, EndAtTheBoundWhereItTricklesForEver) {
  ends_.target.set_patience({.silence = seconds(600), .in_all = milliseconds(200)});
  int pieces = 0;
  const auto live = ask([&] {
    Message piece = some(Kind::kBlocks);
    piece.fields.add(Field::kQuestion, uint64_t{1});
    piece.fields.add(Field::kMore, true);
    say(piece);
    ++pieces;
  });
  EXPECT_FALSE(live);
  EXPECT_GT(pieces, 1);
}

TEST_F(LiveBlocksOfAHost, EndInSilence) {
  ends_.target.set_patience({.silence = milliseconds(200), .in_all = seconds(600)});
  EXPECT_FALSE(ask([] {}));
}

// The request is carried out afterwards.
TEST_F(LiveBlocksOfAHost, EndWhereItLetsGo) {
  bool has_said = false;
  const auto live = ask([&] {
    if (!std::exchange(has_said, true)) say({.kind = Kind::kDetach, .number = 7, .fields = {}});
  });
  EXPECT_FALSE(live);
  const auto kept = ends_.target.next();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->kind, Kind::kDetach);
  EXPECT_EQ(kept->number, 7u);
}

// More than a target's side keeps of other messages, but these are none that wait.
TEST_F(LiveBlocksOfAHost, ComeBehindManyRows) {
  bool has_said = false;
  const auto live = ask([&] {
    if (std::exchange(has_said, true)) return;
    for (int i = 0; i < 30; ++i) {
      Message rows{.kind = Kind::kRows, .number = 0, .fields = {}};
      rows.fields.add(Field::kBuildId, "build-id");
      rows.fields.add(Field::kRows, std::string(100'000, 'r'));
      say(rows);
    }
    say(blocks_for(1));
  });
  EXPECT_FALSE(ends_.target.is_given_up());
  EXPECT_TRUE(live) << live.error().message;
}

// What is alive may be something else by then.
TEST_F(LiveBlocksOfAHost, AreNotThoseOfAScanThatWasGivenUp) {
  ends_.target.set_patience({.silence = milliseconds(50), .in_all = seconds(600)});
  EXPECT_FALSE(ask([] {}));
  ends_.target.set_patience({.silence = seconds(600), .in_all = seconds(600)});
  int said = 0;
  const auto live = ask([&] {
    if (++said == 1) {
      Message late = blocks_for(1, 111);
      late.fields.add(Field::kMore, true);
      say(late);
      say(blocks_for(1, 222));
    } else if (said == 2) {
      say(blocks_for(2, 333));
    }
  });
  ASSERT_TRUE(live) << live.error().message;
  ASSERT_EQ(live->alive().size(), 1u);
  EXPECT_EQ(live->alive().front().size_bytes, 333u);
}

}  // namespace
}  // namespace heaptap::line
