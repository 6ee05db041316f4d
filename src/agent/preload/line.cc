#include "agent/preload/line.h"
#include "agent/preload/log_request.h"

#include "agent/preload/collector_socket.h"

namespace heaptap::agent {
namespace {

// A number not used by programs and shells. An executed program finds the descriptor there.
constexpr int kFirstNumber = 200;
constexpr int kNumbers = 8;

constexpr long kDuplicate = 1030;  // F_DUPFD_CLOEXEC
constexpr long kGetFlags = 1;      // F_GETFD
constexpr long kSetFlags = 2;      // F_SETFD
constexpr long kClosesOnExec = 1;  // FD_CLOEXEC

// The program may have closed the descriptor, or have its own at this number: it is valid only while it is connected to
// this session's collector.
bool is_line(int descriptor) {
  if (kernel::failed(kernel::system_call(__NR_fcntl, descriptor, kGetFlags))) return false;  // nobody's
  SocketAddress address{};
  int bytes = sizeof(address);
  const SocketAddress wanted = collectors_address();
  if (kernel::failed(kernel::system_call(__NR_getpeername, descriptor, reinterpret_cast<long>(&address),
                                         reinterpret_cast<long>(&bytes)))) {
    return false;
  }
  bool is_same = static_cast<size_t>(bytes) == collectors_address_bytes() && address.family == wanted.family;
  for (size_t i = 0; is_same && i <= g_log_request.socket_name_bytes; ++i) is_same = address.path[i] == wanted.path[i];
  return is_same;
}

int find_line() {
  for (int number = kFirstNumber; number < kFirstNumber + kNumbers; ++number) {
    if (is_line(number)) return number;
  }
  return -1;
}

bool is_known_by_name() {
  Socket socket;
  return socket.connect_to_collector();
}

}  // namespace

void keep_line() {
  const uint32_t flags = g_session.flags;
  if (!is_recording() || (flags & (wire::kFollowFork | wire::kFollowExec)) == 0) return;
  g_log_request.may_need_line = true;
  if (find_line() >= 0) return;
  Socket socket;
  const wire::Hello hello = make_hello(wire::StartReason::kLine);
  if (!socket.connect_to_collector() || !socket.send(&hello, sizeof(hello))) return;
  const long kept = kernel::system_call(__NR_fcntl, socket.descriptor(), kDuplicate, kFirstNumber);
  if (kept >= kFirstNumber + kNumbers) kernel::close(static_cast<int>(kept));
}

void settle_line(bool is_recorded) {
  const int line = find_line();
  if (line < 0) return;
  if (is_recorded && g_log_request.may_need_line) {
    kernel::system_call(__NR_fcntl, line, kSetFlags, kClosesOnExec);
  } else {
    kernel::close(line);
  }
}

bool is_line_needed() { return g_log_request.may_need_line && !is_known_by_name(); }

bool is_collector_in_reach() { return !g_log_request.may_need_line || find_line() >= 0 || is_known_by_name(); }

HandedLine::HandedLine() {
  if (!is_line_needed()) return;
  line_ = find_line();
  if (line_ >= 0) kernel::system_call(__NR_fcntl, line_, kSetFlags, 0);
}

HandedLine::~HandedLine() {
  if (line_ >= 0) kernel::system_call(__NR_fcntl, line_, kSetFlags, kClosesOnExec);
}

bool ask_by_line(Socket& socket, const wire::Hello& hello) {
  const int line = find_line();
  Socket other;
  if (line < 0 || !socket.become_pair(other)) return false;
  constexpr long kDontWait = 0x40;
  return send_descriptor(line, &hello, sizeof(hello), other.descriptor(), kNoSignal | kDontWait);
}

}  // namespace heaptap::agent
