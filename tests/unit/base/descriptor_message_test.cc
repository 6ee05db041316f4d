// A descriptor comes with the message that it was sent with; none is left over.
#include "common/base/descriptor_message.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string>

#include "no_more_files.h"

namespace heaptap::base {
namespace {

class DescriptorMessageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> pair{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    one_.reset(pair[0]);
    other_.reset(pair[1]);
    ASSERT_EQ(pipe2(pair.data(), O_CLOEXEC), 0);
    reader_.reset(pair[0]);
    writer_.reset(pair[1]);
  }

  std::string receive(UniqueFd& descriptor) {
    std::array<char, 16> room{};
    const ssize_t got = receive_message(other_.get(), room, descriptor, MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(room.data(), static_cast<size_t>(got));
  }

  UniqueFd one_;
  UniqueFd other_;
  UniqueFd reader_;
  UniqueFd writer_;
};

TEST_F(DescriptorMessageTest, BringsTheOneThatWasSent) {
  ASSERT_EQ(send_message(one_.get(), "with", writer_.get()), 4);
  ASSERT_EQ(send_message(one_.get(), "without", -1), 7);
  UniqueFd descriptor;
  EXPECT_EQ(receive(descriptor), "with");
  ASSERT_TRUE(descriptor);
  EXPECT_NE(fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_EQ(write(descriptor.get(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(read(reader_.get(), &byte, 1), 1);
  EXPECT_EQ(receive(descriptor), "without");
  EXPECT_FALSE(descriptor) << "that of the message before";
  EXPECT_EQ(receive(descriptor), "nothing");
}

TEST_F(DescriptorMessageTest, OfSeveralTheOthersAreClosed) {
  const std::array<int, 3> sent{writer_.get(), writer_.get(), writer_.get()};
  char text = 'x';
  iovec part{&text, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(sent))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(sent));
  std::memcpy(CMSG_DATA(head), sent.data(), sizeof(sent));
  ASSERT_EQ(sendmsg(one_.get(), &message, 0), 1);
  UniqueFd descriptor;
  EXPECT_EQ(receive(descriptor), "x");
  EXPECT_TRUE(descriptor);
  descriptor.reset();
  writer_.reset();
  char byte = 0;
  EXPECT_EQ(read(reader_.get(), &byte, 1), 0) << "nobody can write any more";
}

TEST_F(DescriptorMessageTest, OneThatCantBeTakenIsLost) {
  ASSERT_EQ(send_message(one_.get(), "with", writer_.get()), 4);
  ASSERT_EQ(send_message(one_.get(), "without", -1), 7);
  std::array<char, 16> room{};
  UniqueFd descriptor;
  bool is_lost = false;
  {
    const test::NoMoreFiles no_more;
    EXPECT_EQ(receive_message(other_.get(), room, descriptor, MSG_DONTWAIT, &is_lost), 4);
  }
  EXPECT_FALSE(descriptor);
  EXPECT_TRUE(is_lost);
  EXPECT_EQ(receive_message(other_.get(), room, descriptor, MSG_DONTWAIT, &is_lost), 7);
  EXPECT_FALSE(is_lost);
}

}  // namespace
}  // namespace heaptap::base
