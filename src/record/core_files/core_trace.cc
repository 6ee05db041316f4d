#include "record/core_files/core_trace.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "capture/elf/elf_headers.h"
#include "capture/supervision/capture_facts.h"
#include "capture/supervision/recording.h"
#include "common/base/small_file.h"
#include "common/base/unique_fd.h"
#include "common/model/capture.h"
#include "record/core_files/core_file.h"
#include "record/core_files/core_memory.h"
#include "record/core_files/core_scan.h"
#include "record/trace/trace_writer.h"

namespace heaptap::core_files {
namespace {

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
