// Who is believed to record a process, and by which names its recorder is found.
#include "views/client/recorder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "common/endpoint/own_directory.h"
#include "common/endpoint/process_socket.h"
#include "common/endpoint/socket_file.h"

namespace heaptap::client {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;

TEST(Recorder, OnlyThisUserAndRootAreBelieved) {
  for (const uid_t asker : {uid_t{0}, kUser}) {
    for (const Listener& proof :
         {Listener{.is_in_own_directory = true}, Listener{.is_of_process = true}, Listener{.is_heaptap = true}}) {
      Listener listener = proof;
      listener.user = asker;
      EXPECT_EQ(judge(listener, asker), Belief::kBelieved);
      listener.user = 0;
      EXPECT_EQ(judge(listener, asker), Belief::kBelieved);
      listener.user = kOther;
      EXPECT_NE(judge(listener, asker), Belief::kBelieved);
      listener.user = std::nullopt;
      EXPECT_EQ(judge(listener, asker), Belief::kNone);
    }
  }
}

TEST(Recorder, AProcessThatTookTheNameIsNone) {
  EXPECT_EQ(judge({.user = kUser}, kUser), Belief::kNone);
  EXPECT_EQ(judge({.user = 0}, kUser), Belief::kNone);
  EXPECT_EQ(judge({.user = 0}, 0), Belief::kNone);
  EXPECT_EQ(judge({.user = kOther}, 0), Belief::kNone);
}

// The name of the program proves nothing of another user's process.
TEST(Recorder, AnotherUsersIsOneThatHoldsTheProcess) {
  EXPECT_EQ(judge({.user = kOther, .is_of_process = true}, kUser), Belief::kAnotherUser);
  EXPECT_EQ(judge({.user = kOther, .is_of_process = true}, 0), Belief::kAnotherUser);
  EXPECT_EQ(judge({.user = kOther, .is_heaptap = true}, kUser), Belief::kNone);
}

TEST(Recorder, IsAboveItsProcess) {
  // heaptap (10) has a guardian (11), which traces 20, a child of a shell (5); and 12 is its child, and 13 that one's.
  const std::map<pid_t, Parents> parents = {{1, {}},
                                            {5, {.parent = 1}},
                                            {10, {.parent = 5}},
                                            {11, {.parent = 10}},
                                            {12, {.parent = 10}},
                                            {13, {.parent = 12}},
                                            {20, {.parent = 5, .tracer = 11}},
                                            {21, {.parent = 1}}};
  const auto look_up = [&](pid_t process) -> std::optional<Parents> {
    const auto found = parents.find(process);
    return found == parents.end() ? std::nullopt : std::optional(found->second);
  };
  for (const pid_t below : {11, 12, 13, 20}) EXPECT_TRUE(is_above(10, below, look_up)) << below;
  for (const pid_t other : {1, 5, 21, 99}) EXPECT_FALSE(is_above(10, other, look_up)) << other;
  EXPECT_FALSE(is_above(20, 13, look_up));
  EXPECT_FALSE(is_above(0, 20, look_up));
}

TEST(Recorder, ParentsThatChangeIntoACircleEnd) {
  EXPECT_FALSE(is_above(7, 1, [](pid_t process) { return Parents{.parent = 3 - process, .tracer = 3 - process}; }));
  EXPECT_FALSE(is_above(-7, 1, [](pid_t process) { return Parents{.parent = process + 1, .tracer = 0}; }));
}

TEST(Recorder, NamesAreReadAsTheyWereWritten) {
  for (const endpoint::ProcessName& process :
       {endpoint::ProcessName(7), endpoint::ProcessName(2147483647), endpoint::ProcessName(7, "board:8086"),
        endpoint::ProcessName(7, "/tmp/a b/board.sock"), endpoint::ProcessName(7, "100%/2F%2F.sock"),
        endpoint::ProcessName(7, "[fe80::1%eth0]:7421"), endpoint::ProcessName(7, "a@b")}) {
    const std::string file = endpoint::file_name_of(process);
    EXPECT_EQ(file.find('/'), file.npos);
    EXPECT_EQ(endpoint::process_of_file_name(file), process) << file;
    EXPECT_EQ(endpoint::process_of_abstract_name(endpoint::abstract_name_of(process)), process);
  }
  for (const char* const none : {"", "process.", "process..sock", "process.sock", "process.x.sock", "process.0.sock",
                                 "process.-7.sock", "7.sock", ".process.7.sock.8", "process.99999999999.sock"}) {
    EXPECT_FALSE(endpoint::process_of_file_name(none)) << none;
  }
  EXPECT_EQ(endpoint::address_of_file("/tmp/" + endpoint::file_name_of({7, std::string(200, 'x')})), std::nullopt);
}

class OwnDirectory : public testing::Test {
 protected:
  OwnDirectory() : path_(testing::TempDir() + "own." + std::to_string(getpid())) {
    fs::create_directory(path_);
    chmod(path_.c_str(), 0700);
    setenv("XDG_RUNTIME_DIR", path_.c_str(), 1);
  }
  ~OwnDirectory() override {
    unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(path_);
  }

  std::string path_;
};

TEST_F(OwnDirectory, IsThisUsersAlone) {
  EXPECT_EQ(*endpoint::make_own_directory(), path_ + "/heaptap");
  EXPECT_EQ(endpoint::own_directories().front(), path_ + "/heaptap");
  ASSERT_EQ(chmod((path_ + "/heaptap").c_str(), 0750), 0);  // who may have put something there, or may look into it
  EXPECT_FALSE(endpoint::make_own_directory()->starts_with(path_));
  for (const std::string& each : endpoint::own_directories()) EXPECT_FALSE(each.starts_with(path_));
  fs::remove(path_ + "/heaptap");
  fs::create_directory(path_ + "/elsewhere");
  ASSERT_EQ(chmod((path_ + "/elsewhere").c_str(), 0700), 0);
  fs::create_directory_symlink("elsewhere", path_ + "/heaptap");
  EXPECT_FALSE(endpoint::make_own_directory()->starts_with(path_));
}

TEST_F(OwnDirectory, SocketsThatWereLeftBehindGiveWay) {
  const std::string directory = *endpoint::make_own_directory();
  std::string left = directory + "/process.7.sock";
  {
    const base::UniqueFd socket = endpoint::make_socket();
    ASSERT_TRUE(endpoint::listen_at(socket.get(), *endpoint::address_of_file(left)));
  }
  ASSERT_TRUE(fs::exists(left));
  {
    const auto file = endpoint::SocketFile::create(directory, "process.7.sock");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_TRUE(connect_in_time(*endpoint::address_of_file(left), {}));
    EXPECT_FALSE(endpoint::SocketFile::create(directory, "process.7.sock").has_value());  // one that lives doesn't
    EXPECT_TRUE(connect_in_time(*endpoint::address_of_file(left), {}));
    ASSERT_TRUE(endpoint::SocketFile::create(getpid()).has_value());  // which removes what was left behind
    EXPECT_TRUE(fs::exists(left));
  }
  EXPECT_FALSE(fs::exists(left));
  {
    const base::UniqueFd socket = endpoint::make_socket();
    ASSERT_TRUE(endpoint::listen_at(socket.get(), *endpoint::address_of_file(left)));
  }
  ASSERT_TRUE(endpoint::SocketFile::create(getpid()).has_value());
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(OwnDirectory, EitherOfTheTwoSocketsIsEnough) {
  const auto is_there = [](const endpoint::ProcessSocket& socket, size_t number) {
    return socket.descriptors()[number] >= 0;
  };
  const base::UniqueFd taken = endpoint::make_socket();
  ASSERT_TRUE(endpoint::listen_at(taken.get(), *endpoint::address_of_process(getpid())));
  const auto file_alone = endpoint::ProcessSocket::create(getpid());
  ASSERT_TRUE(file_alone.has_value());
  EXPECT_TRUE(is_there(*file_alone, 0));
  EXPECT_FALSE(is_there(*file_alone, 1));
  const auto none = endpoint::ProcessSocket::create(getpid());  // the file is taken, too
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find(endpoint::abstract_name_of(getpid())), std::string::npos) << none.error().message;
  const endpoint::ProcessName far(7, std::string(80, 'x'));  // too long in a directory
  const auto abstract_alone = endpoint::ProcessSocket::create(far);
  ASSERT_TRUE(abstract_alone.has_value()) << abstract_alone.error().message;
  EXPECT_FALSE(is_there(*abstract_alone, 0));
  EXPECT_TRUE(is_there(*abstract_alone, 1));
}

// Also where so many clients wait that it can't be asked who it is: its directory is this user's.
TEST_F(OwnDirectory, ARecorderThatAcceptsNobodyIsReachedWithoutAConnection) {
  const std::string path = *endpoint::make_own_directory() + "/process.7@board.sock";
  const endpoint::Address address = *endpoint::address_of_file(path);
  const base::UniqueFd silent = endpoint::make_socket();
  ASSERT_TRUE(endpoint::listen_at(silent.get(), address));
  const auto accepting = reach_recorder({7, "board"});
  ASSERT_TRUE(accepting.has_value());
  EXPECT_EQ(accepting->recorder, getpid());
  EXPECT_TRUE(accepting->connection);
  std::vector<base::UniqueFd> waiting;
  while (auto one = connect_in_time(address, {})) waiting.push_back(std::move(one));
  const auto full = reach_recorder({7, "board"});
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->recorder, 0);
  EXPECT_FALSE(full->connection);
  EXPECT_FALSE(reach_recorder({8, "board"}).has_value());
}

// As many wait as may, and nobody takes one.
TEST_F(OwnDirectory, WhoAcceptsNobodyIsNotWaitedForLonger) {
  const base::UniqueFd silent = endpoint::make_socket();
  const endpoint::Address address = *endpoint::address_of_process({getpid(), "silent"});
  ASSERT_TRUE(endpoint::listen_at(silent.get(), address));
  std::vector<base::UniqueFd> waiting;
  while (auto one = connect_in_time(address, {})) waiting.push_back(std::move(one));
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_FALSE(connect_in_time(address, milliseconds(10)));
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace heaptap::client
