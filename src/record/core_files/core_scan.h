// Leak scan of a core file's memory, with the tables that it refers to.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/process/stopped_process.h"
#include "capture/scan/root_finder.h"
#include "capture/stream/event_stream.h"
#include "capture/supervision/process_scan.h"
#include "common/frames/table_frames.h"
#include "common/model/capture.h"
#include "common/model/heap_scan.h"
#include "common/model/note.h"
#include "common/model/tables.h"
#include "record/core_files/core_file.h"
#include "record/core_files/core_memory.h"
#include "record/ingest/event_coder.h"

namespace heaptap::core_files {

// No agent wrote tables for a core.
class NoTables final : public stream::AgentTables {
 public:
  [[nodiscard]] uint32_t node_count() const override { return 0; }
  [[nodiscard]] uint64_t node(uint32_t /*number*/) const override { return 0; }
  [[nodiscard]] uint32_t code_count() const override { return 0; }
  [[nodiscard]] uint64_t code(uint32_t /*index*/) const override { return 0; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }
};

// Whether the process ended by this signal. SIGTRAP is that of a debugger which writes a core at a breakpoint.
bool is_crash(int signal);

class CoreScan {
 public:
  // Both must outlive it.
  CoreScan(const CoreFile& core, CoreMemory& memory);

  model::HeapScan scan();

  [[nodiscard]] const model::Tables& tables() const { return tables_; }
  [[nodiscard]] const std::optional<model::CrashStack>& crash() const { return crash_; }

 private:
  void add_modules();
  void add_threads();
  void add_notes(std::vector<model::Note>& notes) const;
  void note_crash(const model::Crash& crash);
  [[nodiscard]] scan::Roots find_roots(const process::StoppedProcess& process, const supervision::Recorded& recorded,
                                       const supervision::EarlierBlocks& found);

  const CoreFile& core_;
  CoreMemory& memory_;
  model::Tables tables_ = frames::empty_tables();
  NoTables no_tables_;
  ingest::EventCoder coder_{no_tables_, tables_, 1, false};
  std::optional<model::CrashStack> crash_;
};

}  // namespace heaptap::core_files
