#include "agent/line.h"

#include "agent/collector_socket.h"

namespace heaptap::agent {
namespace {

// Out of the way of what programs open, and of what shells keep for themselves. A program that is executed finds it there.
constexpr int kFirstNumber = 200;
constexpr int kNumbers = 8;

// The program may have closed the line, or have something of its own at its number: it is one only while it is connected to
// this session's collector.
bool is_line(int descriptor) {
  SocketAddress address{};
  int bytes = sizeof(address);
  const SocketAddress wanted = collectors_address();
  if (kernel::failed(kernel::system_call(__NR_getpeername, descriptor, reinterpret_cast<long>(&address),
                                         reinterpret_cast<long>(&bytes)))) {
    return false;
  }
  bool is_same = static_cast<size_t>(bytes) == collectors_address_bytes() && address.family == wanted.family;
  for (size_t i = 0; is_same && i <= g_session.socket_name_bytes; ++i) is_same = address.path[i] == wanted.path[i];
  return is_same;
}

int find_line() {
  for (int number = kFirstNumber; number < kFirstNumber + kNumbers; ++number) {
    if (is_line(number)) return number;
  }
  return -1;
}

}  // namespace

void keep_line() {
  const uint32_t flags = g_session.flags;
  if (!is_recording() || (flags & (wire::kFollowFork | wire::kFollowExec)) == 0 || find_line() >= 0) return;
  Socket socket;
  const wire::Hello hello = make_hello(wire::StartReason::kLine);
  if (!socket.connect_to_collector() || !socket.send(&hello, sizeof(hello))) return;
  constexpr long kDuplicate = 0;            // F_DUPFD
  constexpr long kDuplicateToClose = 1030;  // F_DUPFD_CLOEXEC
  const long command = (flags & wire::kFollowExec) != 0 ? kDuplicate : kDuplicateToClose;
  const long kept = kernel::system_call(__NR_fcntl, socket.descriptor(), command, kFirstNumber);
  if (kept >= kFirstNumber + kNumbers) kernel::close(static_cast<int>(kept));
}

bool ask_by_line(Socket& socket, const wire::Hello& hello) {
  const int line = find_line();
  Socket other;
  if (line < 0 || !socket.become_pair(other)) return false;
  wire::Hello text = hello;
  MessagePart part{&text, sizeof(text)};
  ControlMessage rights{sizeof(size_t) + 3 * sizeof(int), 1, 1, static_cast<int>(other.descriptor())};
  MessageHeader header{nullptr, 0, &part, 1, &rights, sizeof(rights), 0};
  constexpr long kDontWait = 0x40;
  return kernel::system_call(__NR_sendmsg, line, reinterpret_cast<long>(&header), kNoSignal | kDontWait) ==
         static_cast<long>(sizeof(text));
}

}  // namespace heaptap::agent
