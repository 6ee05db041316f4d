#include "common/base/descriptor_message.h"

#include <sys/socket.h>

#include <array>
#include <cstring>
#include <utility>

namespace heaptap::base {
namespace {

// The kernel closes descriptors without room.
constexpr size_t kMaxDescriptors = 4;

void take_descriptors(cmsghdr* head, UniqueFd& first) {
  const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head) + i * sizeof(int), sizeof(int));
    UniqueFd taken(descriptor);
    if (!first) first = std::move(taken);
  }
}

}  // namespace

ssize_t send_message(int socket, std::string_view bytes, int descriptor, int flags) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | flags);
}

ssize_t receive_message(int socket, std::span<char> room, UniqueFd& descriptor, int flags, bool* is_lost) {
  descriptor.reset();
  iovec part{room.data(), room.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  for (cmsghdr* head = got >= 0 ? CMSG_FIRSTHDR(&message) : nullptr; head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) take_descriptors(head, descriptor);
  }
  if (is_lost != nullptr) *is_lost = got >= 0 && !descriptor && (message.msg_flags & MSG_CTRUNC) != 0;
  return got;
}

}  // namespace heaptap::base
