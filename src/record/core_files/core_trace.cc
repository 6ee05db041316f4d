#include "record/core_files/core_trace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "capture/elf/elf_headers.h"
#include "capture/process/stopped_process.h"
#include "capture/scan/heap_scanner.h"
#include "capture/scan/root_finder.h"
#include "capture/stream/event_stream.h"
#include "capture/stream/mapped_ranges.h"
#include "capture/supervision/capture_facts.h"
#include "capture/supervision/earlier_blocks.h"
#include "capture/supervision/process_scan.h"
#include "capture/supervision/recording.h"
#include "capture/supervision/scan_parts.h"
#include "common/arch/cpu.h"
#include "common/base/clock.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/frames/table_frames.h"
#include "common/model/capture.h"
#include "common/model/heap_scan.h"
#include "common/model/tables.h"
#include "record/core_files/core_file.h"
#include "record/core_files/core_memory.h"
#include "record/ingest/event_coder.h"
#include "record/trace/trace_writer.h"

namespace heaptap::core_files {
namespace {

// No agent wrote tables for a core.
class NoTables final : public stream::AgentTables {
 public:
  [[nodiscard]] uint32_t node_count() const override { return 0; }
  [[nodiscard]] uint64_t node(uint32_t /*number*/) const override { return 0; }
  [[nodiscard]] uint32_t code_count() const override { return 0; }
  [[nodiscard]] uint64_t code(uint32_t /*index*/) const override { return 0; }
  [[nodiscard]] std::optional<model::Label> label(uint32_t /*number*/) const override { return std::nullopt; }
};

// Signals that end a process with a core dump; but for SIGTRAP, which a debugger names that writes a core at a breakpoint.
bool is_crash(int signal) {
  for (const int each : {SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS}) {
    if (signal == each) return true;
  }
  return false;
}

class CoreScan {
 public:
  CoreScan(const CoreFile& core, CoreMemory& memory) : core_(core), memory_(memory) {
    add_modules();
    add_threads();
  }

  model::HeapScan scan() {
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
    supervision::MemoryCounter reader(memory_);
    scanner.collect(reader);
    model::HeapScan scan = scanner.resolve();
    scan.number = 1;
    scan.reason = model::ScanReason::kEnd;
    scan.read_bytes = reader.read_bytes();
    scan.skipped_bytes = reader.skipped_bytes();
    scan.threads = static_cast<uint32_t>(core_.threads.size());
    scan.notes.insert(scan.notes.end(), roots.notes.begin(), roots.notes.end());
    add_notes(scan.notes);
    scan.total_ns = base::clock_ns(CLOCK_MONOTONIC) - begun_ns;
    if (roots.crash) note_crash(*roots.crash);
    return scan;
  }

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

model::Capture capture_of(const CoreFile& core, const CoreMemory& memory, const struct stat& status) {
  constexpr size_t kMaxCommand = 79;
  model::Capture capture;
  const elf::MappedObject* const program = memory.program();
  if (program != nullptr) capture.executable = program->first.name;
  capture.command = base::words_of(core.command);
  if (capture.command.empty() && !core.program_name.empty()) capture.command = {core.program_name};
  if (capture.command.empty() && capture.executable.empty()) capture.command = {"unknown program"};
  if (core.command.size() == kMaxCommand) capture.notes.push_back({model::NoteKind::kCommandCut});
  capture.pid = core.process_id;
  supervision::set_machines(capture, core.architecture);
  capture.time_resolution_ns = supervision::kTimeResolutionNs;
  capture.via = model::kViaCore;
  capture.start_unix_ns =
      static_cast<uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(status.st_mtim.tv_nsec);
  capture.from_start = false;
  capture.ended = true;
  if (is_crash(core.signal)) capture.exit.signal = core.signal;
  return capture;
}

base::Result<> write(const CoreRequest& request, model::Capture& capture, CoreScan& scan) {
  const auto writer = trace::TraceWriter::create(request.trace, request.overwrite);
  if (!writer) return std::unexpected(writer.error());
  HEAPTAP_TRY((*writer)->begin(capture));
  HEAPTAP_TRY((*writer)->write_scan(scan.scan(), scan.tables()));
  capture.crash = scan.crash();
  return (*writer)->finish(capture, scan.tables());
}

}  // namespace

base::Result<> write_core_trace(const CoreRequest& request) {
  const base::UniqueFd file(open(request.core.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return base::fail("can't read the core file '{}': {}", request.core, base::reason_of(errno));
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return base::fail("'{}' is not a core file", request.core);
  }
  const elf::FileBytes bytes(file.get());
  const auto core = read_core_file(bytes, static_cast<uint64_t>(status.st_size), request.core);
  if (!core) return std::unexpected(core.error());
  CoreMemory memory(bytes, *core, request.program);
  if (memory.has_other_program()) {
    return base::fail("'{}' is not the program of '{}': it can't be read, or has another build-id", request.program,
                      request.core);
  }
  model::Capture capture = capture_of(*core, memory, status);
  CoreScan scan(*core, memory);
  return write(request, capture, scan);
}

}  // namespace heaptap::core_files
