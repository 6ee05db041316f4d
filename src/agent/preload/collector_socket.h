// A socket to the collector, without libc.
#pragma once
#include <asm/socket.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/kernel.h"
#include "agent/core/session.h"
#include "agent/core/string.h"
#include "agent/preload/log_request.h"

namespace heaptap::agent {

inline constexpr long kUnixFamily = 1;
inline constexpr long kSeqPacket = 5;
inline constexpr long kCloseOnExec = 02000000;
inline constexpr long kNoSignal = 0x4000;
inline constexpr long kSocketLevel = SOL_SOCKET;
inline constexpr long kPeerCredentials = SO_PEERCRED;
inline constexpr long kReceiveTimeout = SO_RCVTIMEO_OLD;
inline constexpr long kSendTimeout = SO_SNDTIMEO_OLD;

struct SocketAddress {
  uint16_t family;
  char path[108];
};

// Abstract address: begins with a NUL.
inline SocketAddress collectors_address() {
  SocketAddress address{static_cast<uint16_t>(kUnixFamily), {}};
  copy_bytes(address.path + 1, g_log_request.socket_name, g_log_request.socket_name_bytes);
  return address;
}
inline size_t collectors_address_bytes() { return offsetof(SocketAddress, path) + 1 + g_log_request.socket_name_bytes; }

// Layouts of the kernel's struct msghdr and cmsghdr.
struct MessagePart {
  void* base;
  size_t bytes;
};
struct MessageHeader {
  void* name;
  int name_bytes;
  MessagePart* vector;
  size_t vector_count;
  void* control;
  size_t control_bytes;
  unsigned flags;
};
struct ControlMessage {
  size_t bytes;
  int level;
  int type;
  int descriptor;
};

// Sends a message with a descriptor of this process.
inline bool send_descriptor(long socket, const void* message, size_t bytes, long descriptor, long flags) {
  MessagePart part{const_cast<void*>(message), bytes};
  ControlMessage rights{sizeof(size_t) + 3 * sizeof(int), 1, 1, static_cast<int>(descriptor)};
  MessageHeader header{nullptr, 0, &part, 1, &rights, sizeof(rights), 0};
  return kernel::system_call(__NR_sendmsg, socket, reinterpret_cast<long>(&header), flags) == static_cast<long>(bytes);
}

// Socket owner: closes it when destroyed.
class Socket {
 public:
  Socket() : descriptor_(kernel::system_call(__NR_socket, kUnixFamily, kSeqPacket | kCloseOnExec, 0)) {}
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connect_to_collector() {
    if (descriptor_ < 0) return false;
    set_patience(wire::kAnswerSeconds);
    const SocketAddress address = collectors_address();
    return !kernel::failed(kernel::system_call(__NR_connect, descriptor_, reinterpret_cast<long>(&address),
                                               static_cast<long>(collectors_address_bytes())));
  }

  // Becomes one end of a pair; `other` is the other one.
  bool become_pair(Socket& other) {
    int ends[2];
    if (kernel::failed(kernel::system_call(__NR_socketpair, kUnixFamily, kSeqPacket | kCloseOnExec, 0,
                                           reinterpret_cast<long>(ends)))) {
      return false;
    }
    close();
    other.close();
    descriptor_ = ends[0];
    other.descriptor_ = ends[1];
    set_patience(wire::kAnswerSeconds);
    return true;
  }

  bool send(const void* message, size_t bytes) {
    return kernel::system_call(__NR_sendto, descriptor_, reinterpret_cast<long>(message), static_cast<long>(bytes),
                               kNoSignal) == static_cast<long>(bytes);
  }

  // Receives a message of exactly that size and the descriptor that comes with it; -1: none.
  bool receive(void* message, size_t bytes, int& descriptor) {
    alignas(8) uint8_t control[32] = {};
    MessagePart part{message, bytes};
    MessageHeader header{nullptr, 0, &part, 1, control, sizeof(control), 0};
    long received;
    do {
      received =
          kernel::system_call(__NR_recvmsg, descriptor_, reinterpret_cast<long>(&header), 0x40000000 /* CLOEXEC */);
    } while (received == kernel::kInterrupted);
    descriptor = -1;
    const auto* rights = reinterpret_cast<const ControlMessage*>(control);
    if (received > 0 && header.control_bytes >= sizeof(size_t) + 12 && rights->level == 1 && rights->type == 1) {
      descriptor = rights->descriptor;
    }
    return received == static_cast<long>(bytes);
  }

  // As send(), with a descriptor of this process.
  bool send_with(const void* message, size_t bytes, int descriptor) {
    return send_descriptor(descriptor_, message, bytes, descriptor, kNoSignal);
  }

  // Timeout of a message in either direction.
  void set_patience(int seconds) const {
    struct {
      long seconds;
      long microseconds;
    } const limit{seconds, 0};
    for (const long option : {kReceiveTimeout, kSendTimeout}) {
      kernel::system_call(__NR_setsockopt, descriptor_, kSocketLevel, option, reinterpret_cast<long>(&limit),
                          sizeof(limit));
    }
  }

  // PID of the listening process at the other end, as this one sees it; 0: unknown.
  [[nodiscard]] int peer() const {
    struct {
      int process;
      uint32_t user, group;
    } credentials{};
    int bytes = sizeof(credentials);
    kernel::system_call(__NR_getsockopt, descriptor_, kSocketLevel, kPeerCredentials,
                        reinterpret_cast<long>(&credentials), reinterpret_cast<long>(&bytes));
    return credentials.process;
  }

  [[nodiscard]] long descriptor() const { return descriptor_; }

 private:
  void close() {
    if (descriptor_ >= 0) kernel::close(static_cast<int>(descriptor_));
    descriptor_ = -1;
  }

  long descriptor_;
};

}  // namespace heaptap::agent
