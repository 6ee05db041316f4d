// Leak scan of a recorded process: from stopping it to the scan as data.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capture/log/log_parts.h"
#include "capture/process/process_memory.h"
#include "capture/process/stopped_process.h"
#include "capture/scan/heap_scanner.h"
#include "capture/scan/kernel_words.h"
#include "capture/scan/memory_copy.h"
#include "capture/scan/resident_regions.h"
#include "capture/stream/mapped_ranges.h"
#include "capture/stream/scan_bytes.h"
#include "capture/supervision/pool_cut.h"
#include "common/base/result.h"
#include "common/model/crash.h"
#include "common/model/heap_scan.h"
#include "common/model/tables.h"
#include "common/wire/exit_handshake.h"

namespace heaptap::supervision {

// Method of stopping a process, and releasing it at its end: depends on the recorder.
struct ScanAccess {
  std::function<base::Result<process::StoppedProcess>()> stop;
  // Lets it end. False: it ended without waiting, so that the memory read can't be relied on.
  std::function<bool()> finish_exit;
  // The ending thread's registers are those at the program's call of exit.
  bool knows_exit_registers = false;
};

struct ScanTarget {
  const ScanAccess& access;
  std::optional<wire::ExitNotice> ending;  // set: it waits at its end
  const log::LogParts& log;
  bool heap_is_complete = true;      // all of its blocks were recorded
  bool tells_other_numbers = false;  // of threads: those of its own PID namespace
  scan::ScanLimits limits = {};
};

struct EarlierBlocks {
  std::vector<base::AddressRange> heaps;     // of which all blocks are known now; ascending
  std::vector<base::AddressRange> doubtful;  // but for these, which may be none; ascending
  std::optional<model::Note> note;           // how many were found
};

// State of the recording, with all events up to the stop taken from the log.
struct Recorded {
  bool saw_all_releases = true;  // of the blocks below
  std::vector<model::ScannedBlock> blocks;
  std::vector<model::ScannedBlock> pooled;  // within the blocks above, or in mappings
  std::vector<base::AddressRange> released =
      {};  // ascending; where earlier blocks are unknown: those whose release was seen
  // Adds blocks from before the recording (earlier_blocks.h) to `blocks`, which ascend. Null: they aren't looked for.
  std::function<EarlierBlocks(Recorded&, const process::StoppedProcess&, process::ProgramMemory&)> add_earlier =
      nullptr;
  const stream::MappedRanges& mapped;
  const model::Tables& tables;
};

// Facts of a scan, and of the process during it.
struct ScanFacts {
  uint64_t stopped_ns = 0;
  uint64_t read_bytes = 0;
  uint64_t skipped_bytes = 0;
  uint32_t threads = 0;
  std::vector<model::Note> notes;
  std::optional<model::ResidentRegions> resident = {};  // none: unknown
  std::optional<model::Crash> crash = {};               // none: no crash, or unknown
};

// What was read of a process while it was stopped, for a scan of it when it runs again (scan/memory_copy.h).
struct CopiedProcess {
  std::unique_ptr<scan::CopiedMemory> memory;
  scan::KernelFacts kernel;
  std::map<uint32_t, uint32_t> thread_numbers;  // see process::read_thread_numbers()
};

// Steps of one scan, in this order. The process is stopped from stop() to release().
class ProcessScan {
 public:
  // The members of `target` must outlive it.
  static base::Result<ProcessScan> stop(const ScanTarget& target);
  // Reads its memory. `recorded`: up to the stop.
  void collect(Recorded recorded);
  // Alternatively: keeps what the copy, begun before, says of it now. Then it may be released at once. Error: scan it as it is.
  base::Result<CopiedProcess> copy(scan::MemoryCopy& copy);
  void collect_copied(Recorded recorded, CopiedProcess& copied);
  // Releases the process, or lets it end. Error: it ran before, so that the result is worthless.
  base::Result<> release();
  // Result without number, time and reason.
  model::HeapScan resolve();
  // Alternatively: the result for another machine, which resolves it.
  stream::ScanAnswer hand_over();
  [[nodiscard]] const ScanFacts& facts() const { return facts_; }

 private:
  ProcessScan(const ScanTarget& target, uint64_t begun_ns, process::StoppedProcess stopped)
      : target_(target), begun_ns_(begun_ns), stopped_(std::move(stopped)) {}

  // The same of both: all but the resident pages.
  std::vector<model::Region> collect_from(Recorded recorded, process::ProgramMemory& memory,
                                          const CopiedProcess* copied);
  void note_layout();

  ScanTarget target_;
  uint64_t begun_ns_;  // monotonic
  process::StoppedProcess stopped_;
  std::optional<scan::HeapScanner> scanner_;
  stream::ScanAnswer answer_;  // the part known before the memory was read
  ScanFacts facts_;
  std::optional<PoolCut> cut_;
  bool has_given_up_ = false;  // some required memory could not be read in time
};

// Resolves a result handed over elsewhere. `recorded`: the other side's state as known here. Error: they don't match.
base::Result<model::HeapScan> resolve_elsewhere(stream::ScanAnswer answer, const ScanFacts& facts, Recorded recorded);

}  // namespace heaptap::supervision
