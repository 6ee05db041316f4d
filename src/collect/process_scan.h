// A look at the memory of a recorded process, for leaks: from a process that stands still to a scan as data.
#pragma once
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "collect/mapped_ranges.h"
#include "log/log_parts.h"
#include "model/heap_scan.h"
#include "model/tables.h"
#include "process/stopped_process.h"
#include "wire/exit_handshake.h"

namespace heaptap::collect {

// How a process is made to stand still, and let go at its end: that depends on who records it.
struct ScanAccess {
  std::function<std::expected<process::StoppedProcess, std::string>()> stop;
  // Lets it end. False: it did without waiting, so that what was read of its memory can't be relied on.
  std::function<bool()> finish_exit;
  // Of the thread that ends it the registers are those of the program's call for its end.
  bool knows_exit_registers = false;
};

struct ScanTarget {
  const ScanAccess& access;
  std::optional<wire::ExitNotice> ending;  // it waits at its end
  const log::LogParts& log;
  bool heap_is_complete = true;      // all of its blocks were recorded
  bool tells_other_numbers = false;  // of threads: those of its own pid namespace
};

// What the recording knows once all that the process did up to the stop has been taken from its log.
struct Recorded {
  bool saw_all_releases = true;  // of these blocks
  std::vector<model::ScannedBlock> blocks;
  const MappedRanges& mapped;
  const model::Tables& tables;
};

// Stops the process, calls `take_records` and looks. The process goes on, or ends, as soon as its memory is read. The caller
// fills in number, time and reason.
base::Result<model::HeapScan> scan_process(const ScanTarget& target, const std::function<Recorded()>& take_records);

}  // namespace heaptap::collect
