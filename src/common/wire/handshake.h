// Handshake between an agent and its collector, before the log's memory is shared: one message each way over a
// SEQPACKET socket; the answer carries the memory's file descriptor (SCM_RIGHTS). Freestanding, native byte order.
#pragma once
#include <stdint.h>

namespace heaptap::wire {

inline constexpr uint32_t kHelloMagic = 0x4f4c4548;  // "HELO"
inline constexpr uint32_t kHandshakeVersion = 4;

inline constexpr uint32_t kSecretBytes = 32;
inline constexpr char kSecretSeparator = ':';
inline constexpr int kAnswerSeconds = 5;  // an agent waits no longer for its answer; the program then runs unrecorded

enum class StartReason : uint32_t {
  kStart = 0,
  kFork = 1,
  // From a program that is being recorded, with an answer of its own (Reported):
  kReport = 3,  // writes what changed to the descriptor sent with it
  kScan = 4,    // a leak scan
  kLine = 2,    // no answer expected: more Hellos follow on this connection, each with a socket for its answer
};

constexpr bool is_asked_by_program(StartReason reason) {
  return reason == StartReason::kReport || reason == StartReason::kScan;
}
enum HelloFlag : uint16_t {
  kBeginsOff = 1u << 0,  // begins switched off, unless recording was already switched on or off for the whole session
};

struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t log_version;
  uint16_t word_bytes;    // 4 or 8
  uint16_t flags;         // HelloFlag
  uint32_t architecture;  // wire::Architecture
  StartReason reason;
  int32_t pid;  // as the target sees it; the collector uses SCM_CREDENTIALS instead
  int32_t parent_pid;
  char secret[kSecretBytes];  // of the session: proves that the sender belongs to the program
};
static_assert(sizeof(Hello) == 64);

enum WelcomeFlag : uint32_t {
  kIsNoAncestor = 1u << 0,  // Yama permits reading the memory only if the process names the collector (PR_SET_PTRACER)
};

struct Welcome {
  uint32_t magic;
  uint32_t version;
  uint32_t accepted;  // 0: this process isn't recorded; no descriptor comes with the message
  uint32_t flags;     // WelcomeFlag
  uint64_t log_bytes;
};
static_assert(sizeof(Welcome) == 24);

// Answer to kReport and kScan.
struct Reported {
  uint32_t magic;
  uint32_t version;
  uint32_t error;  // 0: success; else an errno value
  uint32_t reserved;
  // For a scan, blocks and bytes each: definite, indirect, possible, reachable, unknown.
  uint64_t counts[10];
};
static_assert(sizeof(Reported) == 96);

// Environment of a program that heaptap starts with the agent.
inline constexpr char kSessionVariable[] =
    "HEAPTAP_SESSION";  // NAME:SECRET, NAME of the abstract UNIX socket without its leading NUL
inline constexpr char kFiltersVariable[] =
    "HEAPTAP_FILTERS";  // number of system call filters that heaptap itself is under; only if there are any
inline constexpr char kPreloadVariable[] = "LD_PRELOAD";       // the agent is its first entry
inline constexpr char kEnabledVariable[] = "HEAPTAP_ENABLED";  // 0: it begins switched off

// Environment of a program that runs with the agent but wasn't started by heaptap: the agent starts a collector itself.
inline constexpr char kOutputVariable[] = "HEAPTAP_OUTPUT";        // path of the trace, as with -o
inline constexpr char kCollectorVariable[] = "HEAPTAP_COLLECTOR";  // path of heaptap, where it isn't beside the agent
inline constexpr char kOptionsVariable[] = "HEAPTAP_OPTIONS";      // read by the collector
// The collector is started as `heaptap --collect PID`, with kSessionVariable and kOutputVariable, and with a listening
// socket for the agents.
inline constexpr char kCollectOption[] = "--collect";
inline constexpr int kListenerDescriptor = 3;
inline constexpr char kAgentFileName[] = "libheaptap_agent.so";

}  // namespace heaptap::wire
