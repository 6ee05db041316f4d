// Telling frames of many of a report's stacks: what a frame is, is found out once, however many stacks have it.
#pragma once
#include <cstdint>
#include <vector>

#include "analysis/report/report.h"

namespace heaptap::findings {

class TellingFrames {
 public:
  // The report must outlive this, unchanged.
  explicit TellingFrames(const report::Report& report) : report_(report), passed_(report.frames.size()) {}

  // Same as telling_frame(), a frame of the report's table.
  const model::Frame* of(report::FramePath path);

 private:
  enum class Passed : uint8_t { kUnknown, kNo, kYes };

  const report::Report& report_;
  std::vector<Passed> passed_;  // by frame: whether a more telling one is further out
};

}  // namespace heaptap::findings
