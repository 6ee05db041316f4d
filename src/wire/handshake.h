// What an agent and its collector say to each other before the log's memory is shared: one message each way over a
// SEQPACKET socket; the answer carries the memory's file descriptor (SCM_RIGHTS). Freestanding, native byte order.
#pragma once
#include <stdint.h>

namespace heaptap::wire {

inline constexpr uint32_t kHelloMagic = 0x4f4c4548;  // "HELO"
inline constexpr uint32_t kHandshakeVersion = 3;

inline constexpr uint32_t kSecretBytes = 32;
inline constexpr char kSecretSeparator = ':';

enum class StartReason : uint32_t {
  kStart = 0,
  kFork = 1,
  kLine =
      2,  // no answer is asked for: by this connection others will say their Hello, each with a socket for the answer
};

struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t log_version;
  uint32_t word_bytes;    // 4 or 8
  uint32_t architecture;  // wire::Architecture
  StartReason reason;
  int32_t pid;  // as the target sees it; the collector trusts SCM_CREDENTIALS instead
  int32_t parent_pid;
  char secret[kSecretBytes];  // of the session: who was given it belongs to the program
};
static_assert(sizeof(Hello) == 64);

struct Welcome {
  uint32_t magic;
  uint32_t version;
  uint32_t accepted;  // 0: no session for this process; no descriptor comes with the message
  uint32_t reserved;
  uint64_t log_bytes;
};
static_assert(sizeof(Welcome) == 24);

// Environment of a program that is started with the agent.
inline constexpr char kSessionVariable[] =
    "HEAPTAP_SESSION";  // NAME:SECRET, the name of the abstract UNIX socket without its leading NUL
inline constexpr char kFiltersVariable[] =
    "HEAPTAP_FILTERS";  // how many filters of system calls heaptap itself is under; only if there are any
inline constexpr char kPreloadVariable[] = "LD_PRELOAD";  // the agent is its first entry
inline constexpr char kAgentFileName[] = "libheaptap_agent.so";

}  // namespace heaptap::wire
