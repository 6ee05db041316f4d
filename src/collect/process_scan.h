// A look at the memory of a recorded process, for leaks: from a process that is stopped to a scan as data.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/mapped_ranges.h"
#include "collect/pool_cut.h"
#include "collect/scan_bytes.h"
#include "log/log_parts.h"
#include "model/heap_scan.h"
#include "model/tables.h"
#include "process/stopped_process.h"
#include "scan/heap_scanner.h"
#include "wire/exit_handshake.h"

namespace heaptap::collect {

// How a process is stopped, and released at its end: that depends on who records it.
struct ScanAccess {
  std::function<base::Result<process::StoppedProcess>()> stop;
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
  scan::ScanLimits limits = {};
};

// What the recording knows once all that the process did up to the stop has been taken from its log.
struct Recorded {
  bool saw_all_releases = true;  // of these blocks
  std::vector<model::ScannedBlock> blocks;
  std::vector<model::ScannedBlock> pooled;  // that lie in these, or in mappings
  std::vector<base::AddressRange> released =
      {};  // ascending; where earlier blocks aren't known: those that were seen to be released
  const MappedRanges& mapped;
  const model::Tables& tables;
};

// Of a look at a process, and of the process at it.
struct ScanFacts {
  uint64_t stopped_ns = 0;
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;
  uint32_t threads = 0;
  std::vector<model::Note> notes;
};

// The steps of one look, in this order. Between stop() and let_go() the process is stopped.
class ProcessScan {
 public:
  // The target's parts outlive it.
  static base::Result<ProcessScan> stop(const ScanTarget& target);
  // Reads its memory. `recorded`: up to the stop.
  void collect(Recorded recorded);
  // It goes on, or ends. An error: it did before, so that what was read is worth nothing.
  base::Result<> let_go();
  // What was read, without number, time and reason.
  model::HeapScan resolve();
  // Or: what was read, for another machine, where it is resolved.
  ScanAnswer hand_over();
  [[nodiscard]] const ScanFacts& facts() const { return facts_; }

 private:
  ProcessScan(const ScanTarget& target, uint64_t begun_ns, process::StoppedProcess stopped)
      : target_(target), begun_ns_(begun_ns), stopped_(std::move(stopped)) {}

  ScanTarget target_;
  uint64_t begun_ns_;  // monotonic
  process::StoppedProcess stopped_;
  std::optional<scan::HeapScanner> scanner_;
  ScanAnswer answer_;  // as far as it is known before the memory was read
  ScanFacts facts_;
  std::optional<PoolCut> cut_;
  bool has_given_up_ = false;  // something that its memory needs didn't come
};

// What was handed over elsewhere. `recorded`: what the other side had, as this one knows it. An error: they don't fit.
base::Result<model::HeapScan> resolve_elsewhere(ScanAnswer answer, const ScanFacts& facts, Recorded recorded);

}  // namespace heaptap::collect
