// Trace's half of a recording: on the machine where the trace is written. RecordedProcesses gives each trace its name, and
// passes marks from one program of a process to the next; report requests need the trace of a moment. The rest of
// capture has no use for it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "capture/supervision/black_box.h"
#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/model/mark.h"

namespace heaptap::supervision {

class TraceHalf {
 public:
  TraceHalf() = default;
  TraceHalf(const TraceHalf&) = delete;
  TraceHalf& operator=(const TraceHalf&) = delete;

  [[nodiscard]] virtual const std::string& path() const = 0;
  // The trace, for reading.
  [[nodiscard]] virtual base::UniqueFd open_trace() const = 0;
  [[nodiscard]] virtual const std::vector<model::Mark>& marks() const = 0;
  // Marks set during earlier programs of this process: numbering continues after them.
  virtual void begin_behind(const std::vector<model::Mark>& earlier) = 0;
  // Marks this moment, and writes the events up to it, but none after it.
  virtual base::Result<> write_up_to_mark(model::MarkKind kind, std::string name) = 0;
  // Null: all events are written to the trace.
  [[nodiscard]] virtual BlackBox* black_box() { return nullptr; }
  // Maximum frames per stack from now on; 0: all frames kept.
  virtual void set_depth(uint32_t frames) = 0;

 protected:
  ~TraceHalf() = default;  // owned as a Recording
};

}  // namespace heaptap::supervision
