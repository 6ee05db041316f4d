// What heaptap and its tracer say to each other: one packet a message over a SEQPACKET socket pair, between two parts of one
// program on one machine.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "tracer/tracer_client.h"

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
  kAnswer,  // to kAsked, of the same question; value: 0 or an errno value, with counts of a leak scan
  kHold,
  kRelease,
  // From the tracer.
  kReady,     // to kAttachBeforeExec
  kNotReady,  // the same; text: the error's message
  kLogWanted,
  kAttached,
  kNotAttached,  // text: the error's message
  kEnding,
  kAsked,  // question; parent: the thread; reason: an Asked::Kind; text: a path
  kLeft,
  kNoted,       // text: the note, as model/note_code.h has it
  kHeldThread,  // one for each thread, then kHeld
  kHeld,
  kNotHeld,  // text: the error's message
};

struct PacketHeader {
  PacketKind kind{};
  pid_t process = 0;
  pid_t parent = 0;
  uint32_t reason = 0;  // of kLogWanted, kAsked, kLeft
  wire::Architecture architecture = wire::Architecture::kUnknown;
  uint32_t word_bytes = 0;
  uint64_t value = 0;
  uint64_t question = 0;     // of kAsked, kAnswer
  int32_t wait_status = -1;  // of kLeft; -1: not known
  wire::ExitNotice notice{};
  Answer::Counts counts{};
};

struct Packet {
  PacketHeader header;
  std::string text;
  process::StoppedThread thread;  // of kHeldThread
  base::UniqueFd descriptor;      // that came along with one that was received
};

// kLater: the other side has to read first (with `wait` false). kNever: it is gone.
enum class Sent : uint8_t { kYes, kLater, kNever };
// `descriptor` goes along, where it isn't negative.
Sent send_packet(int socket, const Packet& packet, bool wait, int descriptor = -1);
// None: none waits (with `wait` false), or the other side is gone: then `closed` is set.
std::optional<Packet> receive_packet(int socket, bool wait, bool& closed);

}  // namespace heaptap::tracer
