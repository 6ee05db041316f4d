#include "capture/stream/executed_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace heaptap::stream {
namespace {

std::string real_path(const std::string& path) { return std::filesystem::canonical(path).string(); }

// A directory with links, and a program executed in it that repeats its input until that ends.
class ExecutedPath : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/executed-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = real_path(name);
    std::filesystem::create_symlink(kCat, directory_ + "/server");
  }
  void TearDown() override {
    close(input_);
    close(output_);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    std::filesystem::remove_all(directory_);
  }

  // The program runs when this returns: it has repeated something.
  void execute(std::string path) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    ASSERT_EQ(pipe2(in.data(), O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(out.data(), O_CLOEXEC), 0);
    input_ = in[1];
    output_ = out[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addchdir_np(&actions, directory_.c_str());
    const std::array<char*, 2> arguments{path.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    char repeated = 0;
    EXPECT_EQ(write(input_, "x", 1), 1);
    EXPECT_EQ(read(output_, &repeated, 1), 1);
  }
  [[nodiscard]] std::string executed() const { return executed_path(pid_, sizeof(void*)); }

  static constexpr const char* kCat = "/bin/cat";
  const std::string cat_ = real_path(kCat);
  std::string directory_;
  pid_t pid_ = 0;
  int input_ = -1;
  int output_ = -1;
};

TEST_F(ExecutedPath, NamesTheProgramWhereItIsALinkOfAnotherName) {
  execute(directory_ + "/server");
  EXPECT_EQ(executed(), directory_ + "/server");
  EXPECT_EQ(program_path(pid_, cat_, executed()), directory_ + "/server");
  EXPECT_EQ(program_path(pid_, "/usr/bin/another", executed()), "/usr/bin/another") << "it leads elsewhere";
}

TEST_F(ExecutedPath, IsCompletedIfItIsRelative) {
  execute("./server");
  EXPECT_EQ(program_path(pid_, cat_, executed()), directory_ + "/server");
}

TEST_F(ExecutedPath, IsNotTheNameWhereOnlyDirectoriesDiffer) {
  std::filesystem::create_symlink(kCat, directory_ + "/cat");
  execute(directory_ + "/cat");
  EXPECT_EQ(executed(), directory_ + "/cat");
  EXPECT_EQ(program_path(pid_, cat_, executed()), cat_);
}

TEST_F(ExecutedPath, OfAScriptIsNotTheNameOfItsInterpreter) {
  const std::string script = directory_ + "/script";
  std::ofstream(script) << "#!/bin/cat -\n";
  chmod(script.c_str(), 0700);
  execute(script);
  EXPECT_EQ(executed(), script);
  EXPECT_EQ(program_path(pid_, cat_, executed()), cat_);
}

TEST_F(ExecutedPath, OfADescriptorDoesNotLast) {
  execute(directory_ + "/server");
  EXPECT_EQ(program_path(pid_, cat_, "/proc/self/fd/3"), cat_);
  EXPECT_EQ(program_path(pid_, cat_, "/dev/fd/3"), cat_);
}

TEST_F(ExecutedPath, OfNoProcessIsUnknown) {
  EXPECT_EQ(executed_path(0, sizeof(void*)), "");
  EXPECT_EQ(program_path(0, cat_, ""), cat_);
}

}  // namespace
}  // namespace heaptap::stream
