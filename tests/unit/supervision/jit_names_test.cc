// Files that a process writes for profilers, in the hands of its recorder.
#include "capture/supervision/jit_names.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "child_process.h"

namespace heaptap::supervision {
namespace {

using Names = std::map<model::CodeId, std::string>;

class JitNamesTest : public ::testing::Test {
 protected:
  JitNamesTest() : child_([](int) { pause(); }), path_("/tmp/perf-" + std::to_string(child_.id()) + ".map") {
    std::filesystem::remove(path_);
  }
  ~JitNamesTest() override { std::filesystem::remove(path_); }

  // Written long before the process began.
  void set_hours_old() {
    std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(3));
  }
  void append(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  static void seek(JitNames& names, model::CodeId number, uint64_t address) {
    names.seek(number, {address, 0, true}, {});
  }
  static Names read_all(JitNames& names) {
    while (!names.read_to_end(std::chrono::milliseconds(1))) {
    }
    Names read;
    for (model::CodeName& name : names.take()) read[name.code] = std::move(name.name);
    return read;
  }

  test::ChildProcess child_;
  const std::string path_;
};

TEST_F(JitNamesTest, WhatIsAppendedIsReadOnAndWhatIsSoughtLaterIsFoundBefore) {
  JitNames names(child_.id());
  seek(names, 1, 0x1000);
  append("1000 10 one\n2000 10 two\n300");
  EXPECT_EQ(read_all(names), (Names{{1, "one"}}));
  seek(names, 3, 0x3000);
  append("0 10 three\n");
  EXPECT_EQ(read_all(names), (Names{{3, "three"}}));
  seek(names, 2, 0x2000);
  EXPECT_EQ(read_all(names), (Names{{2, "two"}}));
  EXPECT_TRUE(names.why_missing().empty());
}

TEST_F(JitNamesTest, CodeOfAModuleIsNotSought) {
  const std::vector<model::Module> modules = {{.path = "/lib/x", .build_id = "", .start = 0x1000, .end = 0x2000}};
  JitNames names(child_.id());
  names.seek(1, {0x1000, 0, true}, modules);
  names.seek(2, {0x2000, 0, true}, modules);
  append("0 10000 any\n");
  EXPECT_EQ(read_all(names), (Names{{2, "any"}}));
}

TEST_F(JitNamesTest, AReturnAddressIsOfTheCallBefore) {
  JitNames names(child_.id());
  names.seek(1, {0x1010, 0, false}, {});
  append("1000 10 caller\n1010 10 next\n");
  EXPECT_EQ(read_all(names), (Names{{1, "caller"}}));
}

TEST_F(JitNamesTest, AFileThatIsWrittenAnewIsReadAnew) {
  JitNames names(child_.id());
  seek(names, 1, 0x1000);
  append(std::string(1000, '\n'));
  names.proceed();
  std::filesystem::remove(path_);
  append("1000 10 one\n");
  EXPECT_EQ(read_all(names), (Names{{1, "one"}}));
}

TEST_F(JitNamesTest, LinesOfAnyLengthArePassedOver) {
  JitNames names(child_.id());
  seek(names, 1, 0x1000);
  seek(names, 2, 0x2000);
  append("1000 10 " + std::string(300'000, 'n') + "\n2000 10 two\n" + std::string(100'000, '0'));
  EXPECT_EQ(read_all(names), (Names{{1, std::string(1024, 'n')}, {2, "two"}}));
}

TEST_F(JitNamesTest, AFileThatIsGoneIsReadAsItWasOpened) {
  JitNames names(child_.id());
  append("1000 10 one\n");
  names.find_files();
  std::filesystem::remove(path_);
  seek(names, 1, 0x1000);
  EXPECT_EQ(read_all(names), (Names{{1, "one"}}));
}

TEST_F(JitNamesTest, AFileOutlivesItsProcess) {
  JitNames names(child_.id());
  append("1000 10 one\n");
  kill(child_.id(), SIGKILL);
  child_.wait();
  seek(names, 1, 0x1000);
  EXPECT_EQ(read_all(names), (Names{{1, "one"}}));
}

TEST_F(JitNamesTest, WhatIsNoFileOfItsOwnIsNotRead) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  JitNames names(child_.id());
  EXPECT_TRUE(names.why_missing().empty());
  seek(names, 1, 0x1000);
  EXPECT_EQ(read_all(names), Names());
  ASSERT_EQ(names.why_missing().size(), 1U);
  EXPECT_NE(names.why_missing()[0].message.find(path_ + " is not read: it is not a regular file"), std::string::npos)
      << names.why_missing()[0].message;
}

TEST_F(JitNamesTest, AFileOfAnEarlierProcessIsNotRead) {
  append("1000 10 one\n");
  set_hours_old();
  JitNames names(child_.id());
  seek(names, 1, 0x1000);
  EXPECT_EQ(read_all(names), Names());
  ASSERT_EQ(names.why_missing().size(), 1U);
  EXPECT_NE(names.why_missing()[0].message.find("it was written before the process began"), std::string::npos)
      << names.why_missing()[0].message;
  append("1000 10 another\n");
  EXPECT_EQ(read_all(names), (Names{{1, "another"}}));  // appended by the process itself
  EXPECT_TRUE(names.why_missing().empty());
}

TEST_F(JitNamesTest, AFileThatTheProcessHasOpenIsItsOwnWhateverItsTimeIs) {
  const test::ChildProcess writer([](int to_test) {
    const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const bool is_written = write(file, "1000 10 one\n", 12) == 12;
    const timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 0}, {.tv_sec = 1000, .tv_nsec = 0}};
    const bool is_old = futimens(file, times) == 0;  // as if the clock had been set forward since
    (void)!write(to_test, is_written && is_old ? "y" : "n", 1);
    pause();
  });
  char is_written = 'n';
  ASSERT_TRUE(writer.receive(is_written) && is_written == 'y');
  JitNames names(writer.id());
  seek(names, 1, 0x1000);
  EXPECT_EQ(read_all(names), (Names{{1, "one"}}));
  std::filesystem::remove("/tmp/perf-" + std::to_string(writer.id()) + ".map");
}

TEST_F(JitNamesTest, OfAnotherUserRootIsBelievedWhereThatIsSaid) {
  if (geteuid() != 0) GTEST_SKIP() << "needs a process of another user";
  test::ChildProcess other([](int to_test) {
    const bool is_other = setgid(12345) == 0 && setuid(12345) == 0;
    (void)!write(to_test, is_other ? "y" : "n", 1);
    pause();
  });
  char is_other = 'n';
  ASSERT_TRUE(other.receive(is_other) && is_other == 'y');
  const std::string path = "/tmp/perf-" + std::to_string(other.id()) + ".map";
  std::ofstream(path) << "1000 10 one\n";  // root's
  JitNames believing(other.id(), {.believes_root = true});
  JitNames strict(other.id());
  for (JitNames* const names : {&believing, &strict}) seek(*names, 1, 0x1000);
  EXPECT_EQ(read_all(believing), (Names{{1, "one"}}));
  EXPECT_EQ(read_all(strict), Names());
  ASSERT_EQ(strict.why_missing().size(), 1U);
  EXPECT_NE(strict.why_missing()[0].message.find("it belongs to user 0"), std::string::npos);
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  JitNames own(other.id());
  seek(own, 1, 0x1000);
  EXPECT_EQ(read_all(own), (Names{{1, "one"}}));
  std::filesystem::remove(path);
}

TEST_F(JitNamesTest, WhatIsForbiddenIsSaid) {
  append("1000 10 one\n");
  JitNames names(child_.id(), {.forbidden = "files stay here"});
  seek(names, 1, 0x1000);
  EXPECT_EQ(read_all(names), Names());
  ASSERT_EQ(names.why_missing().size(), 1U);
  EXPECT_NE(names.why_missing()[0].message.find("files stay here"), std::string::npos);
}

}  // namespace
}  // namespace heaptap::supervision
