// News on a line to another machine, for the waiting user.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::line {

struct LineNews {
  enum class Kind : uint8_t {
    kLost,  // connection lost; reconnecting. text: why
    kBack,
    kRefused,      // rejected peer. peer; text: why
    kOver,         // the remote recording is over, before its end. text: why
    kAttached,     // to a running process, which is recorded from now on. process; text: its program, if known
    kNotRecorded,  // a process isn't recorded. text: the other side's error
    kTracerWaits,  // the tracer there is blocked in the kernel. process: the tracer; text: its place, or empty
    kTracerLooks,  // the same, until it gives up soon
    kSaid,         // other information. text
  };
  Kind kind = Kind::kLost;
  std::string text = {};
  std::string peer = {};
  uint64_t others = 0;   // kRefused: number of peers rejected since the last report and not reported
  uint64_t process = 0;  // of the other machine
};

}  // namespace heaptap::line
