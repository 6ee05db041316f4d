// What becomes of a line to another machine, for whoever waits there.
#pragma once
#include <cstdint>
#include <string>

namespace heaptap::remote {

struct LineNews {
  enum class Kind : uint8_t {
    kLost,  // the connection; another one is tried. text: why
    kBack,
    kRefused,      // somebody who isn't the other end. peer; text: why
    kOver,         // the recording there, before its end. text: why
    kNotRecorded,  // a process. text: the other side's error
    kSaid,         // what else there is to know. text: that
  };
  Kind kind = Kind::kLost;
  std::string text = {};
  std::string peer = {};
  uint64_t others = 0;  // kRefused: that were refused since the one before, of whom nothing else is said
};

}  // namespace heaptap::remote
