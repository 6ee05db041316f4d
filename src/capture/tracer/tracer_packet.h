// Protocol between heaptap and its tracer: one packet a message over a SEQPACKET socket pair, between two parts of one
// program on one machine.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/tracer/tracer_client.h"
#include "common/base/unique_fd.h"

namespace heaptap::tracer {

enum class PacketKind : uint32_t {
  // To the tracer.
  kAttach,
  kAttachBeforeExec,
  kGiveLog,  // with the log's descriptor; value: its size
  kRefuseLog,
  kDetach,
  kDetachAll,
  kEndMayGoOn,
  kAnswer,  // to kAsked, for the same question; value: 0 or an errno value, with counts of a leak scan
  kHold,
  kRelease,
  // From the tracer.
  kReady,     // to kAttachBeforeExec
  kNotReady,  // to kAttachBeforeExec; text: the error's message
  kLogWanted,
  kAttached,
  kNotAttached,  // text: the error's message
  kEnding,
  kAsked,  // question; parent: the thread; reason: an Asked::Kind; text: a path
  kLeft,
  kNoted,       // text: the note, encoded by common/model/note_code.h
  kHeldThread,  // one per thread, before kHeld
  kHeld,
  kNotHeld,  // text: the error's message
  kPaused,   // value: ns in which threads were paused by the tracer, in all
};

struct PacketHeader {
  PacketKind kind{};
  pid_t process = 0;
  pid_t parent = 0;
  uint32_t reason = 0;  // for kLogWanted, kAsked, kLeft
  wire::Architecture architecture = wire::Architecture::kUnknown;
  uint32_t word_bytes = 0;
  uint64_t value = 0;
  uint64_t question = 0;     // for kAsked, kAnswer
  int32_t wait_status = -1;  // for kLeft: of waitpid; -1: unknown
  wire::ExitNotice notice{};
  Answer::Counts counts{};
};

struct Packet {
  PacketHeader header;
  std::string text;
  process::StoppedThread thread;  // for kHeldThread
  base::UniqueFd descriptor;      // received with the packet
};

// kLater: the other side must read first (with `wait` false). kNever: it is gone.
enum class Sent : uint8_t { kYes, kLater, kNever };
// `descriptor` is sent along unless negative.
Sent send_packet(int socket, const Packet& packet, bool wait, int descriptor = -1);
// None: none available (with `wait` false), or the other side is gone: then `closed` is set.
std::optional<Packet> receive_packet(int socket, bool wait, bool& closed);

}  // namespace heaptap::tracer
