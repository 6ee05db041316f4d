// Capture's half of a recording: on the machine where the process runs, with its log.
#pragma once
#include <cstdint>
#include <optional>

#include "capture/log/log_memory.h"
#include "capture/supervision/process_scan.h"
#include "common/base/result.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::supervision {

class LogHalf {
 public:
  LogHalf() = default;
  LogHalf(const LogHalf&) = delete;
  LogHalf& operator=(const LogHalf&) = delete;

  [[nodiscard]] virtual log::LogMemory& log() = 0;
  // Between these two the collector is idle, and the log may fill.
  virtual void rest() = 0;
  virtual void wake_up() = 0;
  // Leak scan: stops the process, takes its events so far, reads its memory, and writes the result to the trace. With
  // `ending` the process waits at its end, and continues when its memory has been read. Returns the number of the scan; 0:
  // where exit begins (exit_start.h), which may be left out.
  virtual base::Result<uint32_t> scan(const ScanAccess& access, const std::optional<wire::ExitNotice>& ending) = 0;
  // How long the tracer has paused threads of the program in all.
  virtual void set_paused_by_tracer(uint64_t total_ns) = 0;
  // Stops recording; the program never waits for the collector again.
  virtual void detach() = 0;

 protected:
  ~LogHalf() = default;  // owned as a Recording
};

}  // namespace heaptap::supervision
