// Text in LeakSanitizer's format (compiler-rt/lib/lsan/lsan_common.cpp of LLVM): direct leaks are definitely lost, indirect leaks
// indirectly. Possibly lost blocks are left out. Frame 0 is the allocation function, whose address isn't recorded.
#include <fmt/format.h>

#include <string>

#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/findings.h"
#include "views/exports/frame_text.h"

namespace heaptap::exports {
namespace {

// "in f(int) /src/a.cc:12", "in f(int) (/lib/libf.so+0x12)", "(/lib/libf.so+0x12)"
std::string place_of(const model::Frame& frame) {
  std::string text = frame.function.empty() ? "" : "in " + base::safe_text(frame.function) + " ";
  if (frame.file.empty()) {
    return text + fmt::format("({}+{:#x})", frame.module.empty() ? "<unknown module>" : module_of(frame), frame.offset);
  }
  text += file_of(frame);
  return frame.line == 0 ? text : text + fmt::format(":{}", frame.line);
}

std::string leak_text(const report::Report& report, const Leak& leak) {
  std::string text = fmt::format("{} leak of {} byte(s) in {} object(s) allocated from:\n    #0 0x000000000000 in {}\n",
                                 leak.kind == LeakKind::kDefinite ? "Direct" : "Indirect", leak.count.bytes,
                                 leak.count.blocks, base::safe_text(leak.stack->function));
  size_t number = 1;
  for (const report::FrameIndex index : report.frames.indices(leak.stack->frames)) {
    const model::Frame& frame = report.frames[index];
    text += fmt::format("    #{} 0x{:012x} {}\n", number++, frame.address, place_of(frame));
  }
  return text + "\n";
}

}  // namespace

base::Result<> write_lsan(const report::Report& report, const report::Write& write) {
  HEAPTAP_TRY(require_scan(report, "lsan"));
  report::BlockCount lost;
  for (const Leak& leak : leaks_of(report)) {
    if (leak.kind == LeakKind::kPossible) break;
    if (lost.blocks == 0) {
      write(fmt::format("\n{}\n=={}==ERROR: LeakSanitizer: detected memory leaks\n\n", std::string(65, '='),
                        report.capture.pid));
    }
    write(leak_text(report, leak));
    lost += leak.count;
  }
  // Without leaks LeakSanitizer prints nothing; if some may have been missed, that would be misleading.
  if (const std::string doubt = doubt_about_leaks(report); !doubt.empty())
    write(fmt::format("=={}==WARNING: heaptap: not all leaks are known: {}\n", report.capture.pid, doubt));
  if (lost.blocks != 0) {
    write(fmt::format("SUMMARY: LeakSanitizer: {} byte(s) leaked in {} allocation(s).\n", lost.bytes, lost.blocks));
  }
  return {};
}

}  // namespace heaptap::exports
