// Unwind rows that the agent of a local process can't find: of objects that have them in .debug_frame, which isn't
// loaded. Written to the log (common/wire/late_rows.h): for initially loaded objects before the first stack walk; for later
// ones as soon as they are known; and from the debug file when a walk lacks one.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "capture/log/late_rows.h"
#include "common/model/tables.h"

namespace heaptap::recordings {

// Address space in the program; takes memory as rows are added.
inline constexpr uint64_t kOwnRowsBytes = uint64_t{8} << 20;

class OwnRows {
 public:
  // Adds the rows of the objects loaded by now. The log must outlive it.
  OwnRows(const log::LogParts& log, pid_t process);

  // Adds rows of new objects, and rows missed by walks. `modules`: all modules of the log, including earlier ones.
  void serve(std::span<const model::Module> modules);

 private:
  const pid_t process_;
  log::LateRowsWriter writer_;
  size_t seen_modules_ = 0;
  std::vector<uint64_t> misses_;  // of unknown modules
};

}  // namespace heaptap::recordings
