#include "record/core_files/core_scan.h"

#include <csignal>
#include <utility>

#include "capture/scan/heap_scanner.h"
#include "capture/stream/mapped_ranges.h"
#include "capture/supervision/earlier_blocks.h"
#include "capture/supervision/scan_parts.h"
#include "common/base/clock.h"

namespace heaptap::core_files {

bool is_crash(int signal) { return signal != SIGTRAP && supervision::dumps_core(signal); }

CoreScan::CoreScan(const CoreFile& core, CoreMemory& memory) : core_(core), memory_(memory) {
  add_modules();
  add_threads();
}

model::HeapScan CoreScan::scan() {
  const uint64_t begun_ns = base::clock_ns(CLOCK_MONOTONIC);
  const process::StoppedProcess process = process::StoppedProcess::held(
      {.process = static_cast<pid_t>(core_.process_id), .architecture = core_.architecture, .threads = core_.threads},
      {});
  const stream::MappedRanges mapped;
  supervision::Recorded recorded{.blocks = {}, .pooled = {}, .mapped = mapped, .tables = tables_};
  const supervision::EarlierBlocks found = supervision::add_earlier_blocks(
      recorded, process, memory_, [this](uint64_t size_bytes) { return coder_.earlier_site(size_bytes); });
  scan::Roots roots = find_roots(process, recorded, found);
  if (found.note) roots.notes.push_back(*found.note);
  const size_t block_count = recorded.blocks.size();
  scan::ScanInput input = supervision::scan_input(std::move(recorded), roots);
  input.word_bytes = memory_.word_bytes();
  // What nothing holds may be held by what is missing.
  if (memory_.missing().bytes != 0) input.lives.assign(block_count, model::BlockLife::kUnknown);
  scan::HeapScanner scanner(std::move(input));
  scanner.collect(memory_);
  model::HeapScan scan = scanner.resolve();
  scan.number = 1;
  scan.reason = model::ScanReason::kEnd;
  scan.threads = static_cast<uint32_t>(core_.threads.size());
  scan.notes.insert(scan.notes.end(), roots.notes.begin(), roots.notes.end());
  add_notes(scan.notes);
  scan.total_ns = base::clock_ns(CLOCK_MONOTONIC) - begun_ns;
  if (roots.crash) note_crash(*roots.crash);
  return scan;
}

void CoreScan::add_modules() {
  const elf::MappedObject* const program = memory_.program();
  for (const elf::MappedObject& object : memory_.objects()) {
    model::Module module{.path = object.first.name,
                         .build_id = {object.build_id.begin(), object.build_id.end()},
                         .bias = object.bias,
                         .start = object.range.begin,
                         .end = object.range.end};
    if (&object == program) module.flags |= wire::kModuleIsMain;
    if (object.is_vdso) module.flags |= wire::kModuleIsVdso;
    tables_.modules.push_back(std::move(module));
  }
}

void CoreScan::add_threads() {
  for (const process::StoppedThread& thread : core_.threads) {
    const auto number = static_cast<model::ThreadId>(tables_.threads.size() + 1);
    tables_.threads.push_back({.number = number, .kernel_id = thread.thread_id, .name = {}});
  }
}

scan::Roots CoreScan::find_roots(const process::StoppedProcess& process, const supervision::Recorded& recorded,
                                 const supervision::EarlierBlocks& found) {
  const std::vector<base::AddressRange> heap = supervision::heap_ranges(recorded.blocks);
  scan::RootQuery query{.heap = heap,
                        .heap_is_complete = false,
                        .known_heaps = found.heaps,
                        .doubtful = found.doubtful,
                        .released = {},
                        .mapped = {},
                        .own = {},
                        .stacks = {},
                        .ending = {},
                        .has_kernel = false};
  if (is_crash(core_.signal)) {
    query.ending = scan::ExitingThread{
        .thread_id = core_.first_thread, .live_sp = 0, .registers_are_programs = true, .crash_signal = core_.signal};
  }
  return scan::find_roots(process, memory_, query);
}

void CoreScan::add_notes(std::vector<model::Note>& notes) const {
  using enum model::NoteKind;
  const MissingMemory& missing = memory_.missing();
  if (memory_.may_use_kernel_words()) notes.push_back({.kind = kCoreWithoutKernel});
  if (core_.is_truncated()) {
    notes.push_back({.kind = kCoreTruncated, .numbers = {core_.file_bytes, core_.wanted_bytes}});
  }
  if (missing.bytes != 0) notes.push_back({.kind = kCoreLacksMemory, .numbers = {missing.bytes, missing.mappings}});
  if (missing.of_files != 0) notes.push_back({.kind = kCoreLacksFiles, .numbers = {missing.of_files}});
  notes.insert(notes.end(), memory_.notes().begin(), memory_.notes().end());
}

void CoreScan::note_crash(const model::Crash& crash) {
  crash_ = model::CrashStack{.stack = coder_.add_stack(crash.codes, crash.end), .thread = 0};
  for (const model::Thread& thread : tables_.threads) {
    if (thread.kernel_id == crash.thread_id) crash_->thread = thread.number;
  }
}

}  // namespace heaptap::core_files
