// Rows for unwinding that the agent of a process on this machine doesn't find: of objects that have them in .debug_frame, which isn't
// loaded. They go into the log (wire/late_rows.h): of what is loaded before the first stack is walked; of what is loaded later as soon
// as it is known; and when a walk lacks one, of the debug file.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "log/late_rows.h"
#include "model/tables.h"

namespace heaptap::collect {

// Address space in the program: memory as far as rows come.
inline constexpr uint64_t kOwnRowsBytes = uint64_t{8} << 20;

class OwnRows {
 public:
  // Puts in those of what the process has loaded by now. The log outlives it.
  OwnRows(const log::LogParts& log, pid_t process);

  // Puts in what is new since the last call, and what walks lacked. `modules`: all that the log told, those before with them.
  void serve(std::span<const model::Module> modules);

 private:
  const pid_t process_;
  log::LateRowsWriter writer_;
  size_t seen_modules_ = 0;
  std::vector<uint64_t> misses_;  // whose module isn't known yet
};

}  // namespace heaptap::collect
