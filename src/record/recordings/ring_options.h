// Settings of recordings that keep their last events in memory, record/ring.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/capture.h"
#include "record/ring/live_rule.h"

namespace heaptap::recordings {

// A part of a recording that was to be written to a file.
struct KeptPart {
  const model::Capture& capture;
  std::string why;
  std::string path;   // empty: it is worth no file
  uint64_t since_ns;  // from when on everything is in it
  base::Result<> written;
};

// Recordings that keep their last events in memory (--ring).
struct RingOptions {
  uint64_t max_bytes = 0;             // 0: there is none
  std::vector<ring::LiveRule> rules;  // when to write them
  std::function<void(const KeptPart& part)> tell;
};

}  // namespace heaptap::recordings
