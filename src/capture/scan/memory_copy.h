// Copy of a process's memory of one moment, of which most is made while the process runs:
//
//   begin()    it runs: each part of its private memory is watched for writes, then copied
//   finish()   it is stopped: what was written since, what is new or of another kind, and what others may write is read;
//              all else is known to be unchanged, page by page (copy_plan.h)
//   end()      it runs again: nothing is watched any more
//
// What isn't known to be unchanged is read at the moment of the stop. So races with the copying cost time, never truth.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "capture/process/process_memory.h"
#include "capture/process/stopped_process.h"
#include "capture/process/write_watch.h"
#include "capture/scan/copied_memory.h"
#include "capture/scan/module_files.h"
#include "capture/scan/page_store.h"
#include "common/base/result.h"

namespace heaptap::scan {

class MemoryCopy {
 public:
  struct Limits {
    uint64_t least_bytes = uint64_t{32} << 20;  // else it isn't worth it: a scan takes some milliseconds
    uint64_t most_bytes = UINT64_MAX;
    // Called for each part when it is watched, and before it is copied.
    std::function<void(base::AddressRange part)> is_watched_for_test = {};
  };

  // The process runs. Its userfaultfd is that of `watch`, which must outlive this object. None: its memory is so small
  // that no copy is needed. Error: why there can't be one.
  static base::Result<std::unique_ptr<MemoryCopy>> begin(process::WriteWatch& watch, pid_t process,
                                                         const Limits& limits);
  MemoryCopy(const MemoryCopy&) = delete;
  MemoryCopy& operator=(const MemoryCopy&) = delete;
  ~MemoryCopy() { end(); }

  // Once; the process is stopped. Error: it has changed so that there is no copy: scan it as it is. `has_given_up`: see
  // ProcessMemory.
  base::Result<std::unique_ptr<CopiedMemory>> finish(const process::StoppedProcess& process, bool& has_given_up);
  void end() { watch_.end(); }

 private:
  explicit MemoryCopy(process::WriteWatch& watch) : watch_(watch) {}

  bool copy_mapping(pid_t thread, int pagemap, const process::Mapping& mapping, const Limits& limits);
  bool copy_part(pid_t thread, std::span<const base::AddressRange> watched);
  bool read_again(const process::ProcessMemory& memory, pid_t thread, std::span<const base::AddressRange> ranges,
                  std::vector<CopiedRange>& result);
  bool place(base::AddressRange range, std::vector<CopiedRange>& places);

  process::WriteWatch& watch_;
  ModuleFiles files_;
  PageStore store_;
  std::vector<CopiedRange> copied_;  // while it ran; ascending
};

}  // namespace heaptap::scan
