// What a target's side gives away: files that its processes have mapped, by their numbers, and nothing else.
#include "capture/uplink/offered_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/base/mount_table.h"
#include "common/control/control_messages.h"
#include "common/line/line_messages.h"
#include "own_module.h"
#include "served_file.h"

namespace heaptap::uplink {
namespace {

namespace fs = std::filesystem;
using line::Field;
using line::Kind;
using message::Message;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Message wanted(uint64_t stream, uint64_t module, uint64_t offset) {
  Message message{.kind = Kind::kFileWanted, .number = 0, .fields = {}};
  message.fields.add(Field::kStream, stream);
  message.fields.add(Field::kModule, module);
  message.fields.add(Field::kOffset, offset);
  return message;
}

class OfferedFilesTest : public testing::Test {
 public:
  void SetUp() override {
    ASSERT_FALSE(module.build_id.empty());
    directory = fs::path(testing::TempDir()) / ("offered_files." + std::to_string(getpid()));
    fs::create_directories(directory);
    files.begin(true, true);
  }
  void TearDown() override {
    if (child > 0) end_child();
    fs::remove_all(directory);
  }

  // A process that runs a copy of this program.
  void start_copy() {
    copy = (directory / "copy").string();
    fs::copy_file(module.path, copy);
    child = fork();
    if (child == 0) {
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execl(copy.c_str(), copy.c_str(), "--gtest_filter=OfferedFilesTest.DISABLED_IsStopped",
            "--gtest_also_run_disabled_tests", nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
    // It is mapped elsewhere; the memory map tells where.
    std::ifstream map("/proc/" + std::to_string(child) + "/maps");
    std::string line;
    while (std::getline(map, line) && line.find(copy) == std::string::npos) continue;
    module.start = std::stoull(line.substr(0, line.find('-')), nullptr, 16);
    module.path = copy;
  }
  void end_child() {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    child = 0;
  }

  std::optional<line::FilePiece> ask(uint64_t stream, uint64_t number, uint64_t offset) {
    EXPECT_TRUE(files.take(wanted(stream, number, offset)));
    return files.answer();
  }
  // All pieces.
  std::string fetch(uint64_t stream, uint64_t number) {
    std::string content;
    while (true) {
      const auto piece = ask(stream, number, content.size());
      if (!piece || piece->why_not) return piece ? *piece->why_not : "nothing";
      EXPECT_EQ(piece->build_id, module.build_id);
      content += piece->bytes;
      if (content.size() >= piece->file_bytes) return content;
      if (piece->bytes.empty()) return "an empty piece";
    }
  }

  fs::path directory;
  std::string copy;
  pid_t child = 0;
  model::Module module = test::own_program();
  OfferedFiles files;
};

// What start_copy() runs.
TEST_F(OfferedFilesTest, DISABLED_IsStopped) { raise(SIGSTOP); }

TEST_F(OfferedFilesTest, GivesAMappedFileInPieces) {
  files.add(3, 5, getpid(), std::vector{module});
  EXPECT_TRUE(fetch(3, 5) == content_of(module.path));
  const auto first = ask(3, 5, 0);
  EXPECT_EQ(first->bytes.size(), kFilePieceBytes);
  EXPECT_FALSE(files.answer().has_value());  // one answer to one question
}

TEST_F(OfferedFilesTest, KnowsNothingElse) {
  files.add(3, 5, getpid(), std::vector{module});
  for (const auto& [stream, number] : {std::pair<uint64_t, uint64_t>{3, 4}, {3, 6}, {4, 5}, {0, 0}}) {
    EXPECT_TRUE(ask(stream, number, 0)->why_not.has_value());
  }
  EXPECT_TRUE(ask(3, 5, uint64_t{1} << 60)->why_not.has_value());
  EXPECT_FALSE(files.take({.kind = control::Kind::kMark, .number = 0, .fields = {}}));
}

TEST_F(OfferedFilesTest, OfANamedFileOnlyTheOneThatIsMeantIsGiven) {
  model::Module lie = module;
  lie.build_id.back() = static_cast<char>(lie.build_id.back() ^ 1);
  model::Module secret = module;
  secret.path = "/etc/passwd";
  secret.start = 16;
  secret.flags = 0;
  model::Module device = secret;
  device.path = "/dev/zero";
  model::Module none = module;
  none.build_id.clear();
  files.add(3, 0, getpid(), std::vector{lie, secret, device, none});
  for (uint64_t number = 0; number < 4; ++number) EXPECT_TRUE(ask(3, number, 0)->why_not.has_value());
}

TEST_F(OfferedFilesTest, GivesAFileThatWasDeletedAndWhoseProcessIsGone) {
  start_copy();
  const std::string content = content_of(copy);
  files.add(1, 0, child, std::vector{module});
  fs::remove(copy);
  end_child();
  EXPECT_TRUE(fetch(1, 0) == content);
}

TEST_F(OfferedFilesTest, GivesADeletedFileOfAProcessThatRuns) {
  start_copy();
  const std::string content = content_of(copy);
  fs::remove(copy);
  std::ofstream(copy) << "another one";
  files.add(1, 0, child, std::vector{module});
  EXPECT_TRUE(fetch(1, 0) == content);
}

TEST_F(OfferedFilesTest, WithoutAProcessTheFileOfThatBuildIdIsGiven) {
  files.add(1, 0, 0, std::vector{module});
  EXPECT_TRUE(fetch(1, 0) == content_of(module.path));
}

TEST_F(OfferedFilesTest, OfAServedFileNothingIsCopied) {
  const test::ServedFile served(directory, content_of(module.path));
  if (!served.is_there()) GTEST_SKIP() << "needs root, and FUSE";
  const std::string content = content_of(module.path);
  module.path = served.path();
  files.add(1, 0, 0, std::vector{module});
  for (const auto& file : fs::directory_iterator("/proc/self/fd")) {
    std::error_code is_closed;
    EXPECT_EQ(fs::read_symlink(file, is_closed).string().find("/memfd:"), std::string::npos);
  }
  EXPECT_TRUE(fetch(1, 0) == content);
}

TEST_F(OfferedFilesTest, AServerThatFallsSilentIsGivenUp) {
  const test::ServedFile served(directory, content_of(module.path));
  if (!served.is_there()) GTEST_SKIP() << "needs root, and FUSE";
  module.path = served.path();
  files.add(1, 0, 0, std::vector{module});
  EXPECT_EQ(ask(1, 0, 0)->bytes.size(), kFilePieceBytes);
  served.fall_silent();
  for (int i = 0; i < 2; ++i) {
    EXPECT_NE(ask(1, 0, kFilePieceBytes)->why_not.value_or("").find("doesn't respond"), std::string::npos);
  }
}

TEST_F(OfferedFilesTest, WhatIsSettledIsClosed) {
  (void)base::own_mounts();  // which stays open
  const auto count_open = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = count_open();
  files.add(1, 0, getpid(), std::vector{module});
  files.add(2, 0, getpid(), std::vector{module});
  EXPECT_EQ(count_open(), before + 1);
  Message settled = wanted(1, 0, 0);
  settled.kind = Kind::kFileSettled;
  EXPECT_TRUE(files.take(settled));
  EXPECT_EQ(count_open(), before);
  files.add(3, 0, getpid(), std::vector{module});
  EXPECT_EQ(count_open(), before);
  EXPECT_TRUE(ask(2, 0, 0)->why_not.has_value());
  EXPECT_TRUE(ask(3, 0, 0)->why_not.has_value());
}

TEST_F(OfferedFilesTest, NothingIsOpenedForAHostThatWantsNone) {
  files.end();
  files.begin(false, true);
  files.add(1, 0, getpid(), std::vector{module});
  EXPECT_TRUE(ask(1, 0, 0)->why_not.has_value());
}

TEST_F(OfferedFilesTest, WhereItIsForbiddenNothingLeaves) {
  OfferedFiles forbidden;
  forbidden.begin(true, false);
  forbidden.add(1, 0, getpid(), std::vector{module});
  EXPECT_TRUE(forbidden.take(wanted(1, 0, 0)));
  const auto answer = forbidden.answer();
  ASSERT_TRUE(answer.has_value());
  EXPECT_NE(answer->why_not->find("--no-fetch"), std::string::npos);
  EXPECT_TRUE(answer->bytes.empty());
}

TEST_F(OfferedFilesTest, AnotherHostHasNothingOfTheOneBefore) {
  files.add(1, 0, getpid(), std::vector{module});
  files.end();
  files.begin(true, true);
  EXPECT_TRUE(ask(1, 0, 0)->why_not.has_value());
}

}  // namespace
}  // namespace heaptap::uplink
