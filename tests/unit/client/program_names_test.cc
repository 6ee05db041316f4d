// Recorders are asked for names together: what one of them does, or doesn't, is nothing to the others.
#include "views/client/program_names.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "common/control/control_messages.h"
#include "common/message/common_messages.h"

namespace heaptap::client {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShort{50};

struct Asked {
  Asked() {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    question = {.pid = 7, .connection = base::UniqueFd(ends[0])};
    recorder = base::UniqueFd(ends[1]);
  }
  void answer(const std::string& bytes) const {
    ASSERT_EQ(send(recorder.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  NameQuestion question;
  base::UniqueFd recorder;
};

std::string names(const std::vector<control::Process>& processes) {
  return message::encode(message::hello()) + message::encode(message::answer_to(1, control::encode(processes)));
}

std::optional<std::string> name_of(Asked& asked) {
  std::vector<NameQuestion> questions;
  questions.push_back(std::move(asked.question));
  return ask_for_names(questions, kShort).front();
}

TEST(ProgramNames, TheLastProgramOfTheProcessCounts) {
  Asked asked;
  asked.answer(names({{.pid = 7, .program = "sh"}, {.pid = 8, .program = "other"}, {.pid = 7, .program = "shop"}}));
  EXPECT_EQ(name_of(asked), "shop");
}

TEST(ProgramNames, ARecorderThatIsSilentTakesNothingFromTheOthers) {
  std::vector<Asked> asked(3);
  asked[1].answer(names({{.pid = 7, .program = "shop"}}));
  std::vector<NameQuestion> questions;
  for (Asked& each : asked) questions.push_back(std::move(each.question));
  const std::vector<std::optional<std::string>> expected{std::nullopt, "shop", std::nullopt};
  EXPECT_EQ(ask_for_names(questions, kShort), expected);
}

TEST(ProgramNames, AnAnswerWithoutTheProcessIsAnAnswer) {
  Asked without;
  without.answer(names({{.pid = 8, .program = "other"}}));
  EXPECT_EQ(name_of(without), "");
  Asked refused;
  refused.answer(message::encode(message::hello()) +
                 message::encode(message::refusal_of(1, base::make_error("not here"))));
  EXPECT_EQ(name_of(refused), "");
  Asked of_other_version;
  message::Message hello{message::CommonKind::kHello, 0, {}};
  hello.fields.add(message::CommonField::kMajor, uint64_t{message::kMajorVersion + 1});
  of_other_version.answer(message::encode(hello));
  EXPECT_EQ(name_of(of_other_version), "");
}

TEST(ProgramNames, ARecorderThatEndsOrSpeaksNonsenseGivesNoAnswer) {
  Asked ended;
  ended.recorder.reset();
  EXPECT_EQ(name_of(ended), std::nullopt);
  Asked cut;
  cut.answer(names({{.pid = 7, .program = "shop"}}).substr(0, 20));
  cut.recorder.reset();
  EXPECT_EQ(name_of(cut), std::nullopt);
  Asked nonsense;
  nonsense.answer(std::string(4096, '\xff'));
  EXPECT_EQ(name_of(nonsense), std::nullopt);
}

}  // namespace
}  // namespace heaptap::client
