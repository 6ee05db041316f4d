#include "views/top/observer.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "made_up_recording.h"
#include "views/top/output.h"

namespace heaptap::top {
namespace {

class Observers : public testing::Test {
 protected:
  void SetUp() override {
    auto recording = std::make_unique<test::MadeUpRecording>();
    test::make_gate(*recording);
    recording_ = recording.get();
    auto observer = Observer::create(std::move(recording), {});
    ASSERT_TRUE(observer.has_value());
    observer_ = *std::move(observer);
  }
  Answer answer_to(Question::Kind kind, const std::string& mark = "", uint64_t stack = 0) {
    Question question;
    question.kind = kind;
    question.mark = mark;
    question.stack = stack;
    question.request.pid = 7731;
    question.request.names = {2};
    observer_->ask(std::move(question));
    while (true) {
      pollfd wait{.fd = observer_->descriptor(), .events = POLLIN, .revents = 0};
      poll(&wait, 1, -1);
      auto answers = observer_->take();
      if (!answers.empty()) return std::move(answers.front());
    }
  }

  test::MadeUpRecording* recording_ = nullptr;  // to be touched between an answer and the next question
  std::unique_ptr<Observer> observer_;
};

TEST_F(Observers, TakeSamples) {
  const Answer answer = answer_to(Question::Kind::kSample);
  ASSERT_NE(answer.sample, nullptr);
  EXPECT_EQ(answer.sample->counts.size(), 4u);
  ASSERT_EQ(answer.sample->named.size(), 1u);
  EXPECT_EQ(answer.sample->named[0].sites.front(), "log_line gate.cc:10 < serve gate.cc:11 < main gate.cc:12");
  EXPECT_EQ(recording_->named_ids, std::vector<uint64_t>{2}) << "names of nothing else";
  EXPECT_FALSE(answer.leaks.has_value());
}

TEST_F(Observers, ScanMarkAndTellTheResult) {
  (void)answer_to(Question::Kind::kSample);
  const Answer scan = answer_to(Question::Kind::kScan);
  ASSERT_TRUE(scan.leaks.has_value());
  ASSERT_EQ(scan.leaks->stacks.size(), 1u);
  EXPECT_EQ(scan.leaks->stacks[0].id, 2u);
  EXPECT_EQ(scan.leaks->stacks[0].bytes, 800'000u);
  EXPECT_FALSE(answer_to(Question::Kind::kSample).leaks.has_value()) << "they are known";
  const Answer mark = answer_to(Question::Kind::kMark, "here");
  EXPECT_EQ(mark.mark, "here");
  EXPECT_NE(mark.sample, nullptr);
  EXPECT_EQ(recording_->asked, (std::vector<std::string>{"scan 7731", "mark here 7731"}));
}

TEST_F(Observers, TellOfScansThatOthersAskedFor) {
  (void)answer_to(Question::Kind::kSample);
  recording_->scans = 1;
  EXPECT_TRUE(answer_to(Question::Kind::kSample).leaks.has_value());
}

TEST_F(Observers, GoOnAfterFailures) {
  recording_->failure = "the trace is gone";
  const Answer failed = answer_to(Question::Kind::kSample);
  EXPECT_TRUE(failed.is_trouble);
  EXPECT_EQ(failed.message, "the trace is gone");
  recording_->failure.clear();
  EXPECT_NE(answer_to(Question::Kind::kSample).sample, nullptr);
  EXPECT_TRUE(answer_to(Question::Kind::kStack, "", 99).is_trouble);
}

TEST_F(Observers, TellThatTheRecordingHasEnded) {
  recording_->news = {{.kind = client::News::Kind::kConnectionLost, .text = "heaptap was killed"}};
  const Answer answer = answer_to(Question::Kind::kSample);
  EXPECT_TRUE(answer.has_ended);
  EXPECT_EQ(answer.message, "the recording has ended: heaptap was killed");
}

TEST_F(Observers, GoToTheNextProcess) {
  EXPECT_EQ(answer_to(Question::Kind::kNextProcess).sample, nullptr);
  recording_->all.push_back({.pid = 9, .program = "other", .runs = true});
  const Answer answer = answer_to(Question::Kind::kNextProcess);
  ASSERT_NE(answer.sample, nullptr);
  EXPECT_EQ(answer.sample->process.program, "other");
  EXPECT_EQ(answer.sample->place, 1u);
}

TEST_F(Observers, GoThroughTheProgramsOfAProcess) {
  const Answer alone = answer_to(Question::Kind::kNextImage);
  EXPECT_EQ(alone.sample, nullptr);
  EXPECT_FALSE(alone.message.empty());
  recording_->all.push_back({.pid = 7731, .image = 2, .program = "other", .runs = true});
  EXPECT_EQ(answer_to(Question::Kind::kSample).sample->process.image, 2u);
  // From none on the first one is next.
  const Answer first = answer_to(Question::Kind::kNextImage);
  ASSERT_NE(first.sample, nullptr);
  EXPECT_EQ(first.sample->process.image, 1u);
  EXPECT_EQ(first.sample->image_count, 2u);
  EXPECT_EQ(first.asked_image, 1u);
  EXPECT_FALSE(first.sample->is_live) << "it is over";
  EXPECT_EQ(recording_->images.back(), 1u);
}

TEST(JsonLines, AreOneASampleUntilTheProcessEnds) {
  test::MadeUpRecording recording;
  test::make_gate(recording);
  std::vector<std::string> lines;
  const auto written = write_json_lines(
      recording, {},
      [&](std::string_view line) -> base::Result<bool> {
        lines.emplace_back(line);
        test::go_on(recording);
        if (lines.size() == 3) recording.all[0].runs = false;
        return true;
      },
      [](uint64_t nanoseconds) { return nanoseconds == 1'000'000'000; });
  EXPECT_TRUE(written.has_value());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_NE(lines[0].find(R"("allocations_per_second":null)"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find(R"("allocations_per_second":1500.0)"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find(R"("growth_bytes":-40000)"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find(R"("mean_age_ns":41000000000)"), std::string::npos) << lines[1];
  for (const std::string& line : lines) EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(JsonLines, HaveAllStacks) {
  test::MadeUpRecording recording;
  test::make_gate(recording);
  recording.stacks.push_back(test::emergency_pool());
  recording.live = false;
  std::string line;
  const auto keep = [&line](std::string_view written) -> base::Result<bool> { return !(line = written).empty(); };
  EXPECT_TRUE(write_json_lines(recording, {}, keep, {}).has_value());
  EXPECT_NE(line.find(R"("stack_count":5)"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("id":5,)"), std::string::npos) << line;
}

TEST(JsonLines, EndWithTheirReader) {
  test::MadeUpRecording recording;
  test::make_gate(recording);
  int lines = 0;
  const auto closed = [&lines](std::string_view) -> base::Result<bool> { return ++lines < 2; };
  EXPECT_TRUE(write_json_lines(recording, {}, closed, [](uint64_t) { return true; }).has_value());
  EXPECT_EQ(lines, 2);
  const auto any = [&lines](std::string_view) -> base::Result<bool> { return ++lines > 0; };
  EXPECT_TRUE(write_json_lines(recording, {.count = 3}, any, [](uint64_t) { return true; }).has_value());
  EXPECT_EQ(lines, 5);
}

}  // namespace
}  // namespace heaptap::top
