#include "analysis/findings/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::findings {

using base::format_count;

std::string ending_text(const model::Capture& capture) {
  if (capture.exit.signal) {
    const char* const name = sigabbrev_np(*capture.exit.signal);
    return name == nullptr ? fmt::format("killed by signal {}", *capture.exit.signal)
                           : fmt::format("killed by SIG{}", name);
  }
  if (capture.exit.code) return fmt::format("exited with {}", *capture.exit.code);
  if (lost_sight_of(capture)) return "was out of reach";
  if (capture.executed) return "executed another program";
  if (capture.running) return "is still being recorded";
  if (capture.truncated) return "recording was interrupted";
  if (!capture.import.tool.empty()) return "ended, it is unknown how";
  if (capture.detached) return "detached, still running";
  return capture.ended ? "ended, exit status unknown" : "recording did not end";
}

std::string command_of(const model::Capture& capture) {
  constexpr size_t kMaxCommand = 32;
  const std::string& command = capture.command.empty() ? capture.executable : capture.command.front();
  return command.size() > kMaxCommand ? program_of(capture) : base::safe_text(command);
}

std::string exact_amount(const report::BlockCount& count) {
  return fmt::format("{} in {}", counted(count.bytes, "byte"), counted(count.blocks, "block"));
}

std::string leaks_text(const report::Leaks& leaks) {
  std::string text;
  const auto add = [&text](const char* first, const char* next, const std::string& amount) {
    text += (text.empty() ? first : next) + amount;
  };
  if (leaks.definite.blocks + leaks.indirect.blocks != 0) {
    report::BlockCount lost = leaks.definite;
    text = "LEAKED " + exact_amount(lost += leaks.indirect);
    if (leaks.indirect.blocks != 0) {
      text += fmt::format(" ({} definitely, {} indirectly lost)", format_count(leaks.definite.bytes),
                          format_count(leaks.indirect.bytes));
    }
  }
  if (const report::BlockCount lost = report::lost_in_pools(leaks); lost.blocks != 0) {
    add("LEAKED ", "; ",
        exact_amount(lost) + " of its pools" + (leaks.pools.lost_apart.blocks == 0 ? ", within that" : ""));
  }
  if (leaks.possible.blocks != 0) add("possibly leaked ", "; possibly ", exact_amount(leaks.possible));
  if (leaks.pools.possible.blocks != 0) {
    add("possibly leaked ", "; possibly ", exact_amount(leaks.pools.possible) + " of its pools");
  }
  return text;
}

std::string doubt_of_leaks(const report::Leaks& leaks) {
  const auto has = [&leaks](model::NoteKind kind) { return model::has_note(leaks.scan.notes, kind); };
  std::string text;
  if (has(model::NoteKind::kHeldByRing)) text = " (unless requests of its io_uring hold them)";
  if (has(model::NoteKind::kCoreWithoutKernel)) text = " (unless the kernel held them for it)";
  if (leaks.behind_tags.blocks != 0 && leaks.possible.blocks != 0) {
    text += fmt::format(" ({} of them reachable by tagged pointers or distances only: --tagged-pointers)",
                        base::format_bytes(leaks.behind_tags.bytes));
  }
  return text;
}

std::string variable_text(const report::NamedRoot& variable) {
  if (variable.name.empty()) return "";
  std::string text = "global " + short_name(variable.name, kNameWidth);
  if (!variable.file.empty()) {
    text += fmt::format(" ({}:{})", variable.file.substr(variable.file.rfind('/') + 1), variable.line);
  }
  return base::safe_text(text);
}

std::string moment_of_scan(const report::ScanFacts& scan) {
  if (scan.at_end) return "at the program's end";
  return scan.at_exit_start ? "as exit began" : "at " + base::format_duration(scan.time_ns);
}

std::string held_until_exit_text(const report::StackLeaks& leaks) {
  if (!leaks.exit_holder) return "";
  const std::string variable = variable_text(leaks.exit_holder->variable);
  const report::BlockCount& held = leaks.exit_holder->held;
  if (variable.empty() || held.bytes < leaks.lost().bytes / 2) return "";
  const std::string part = held.blocks == leaks.lost().blocks ? "" : base::format_bytes(held.bytes) + " of it ";
  return fmt::format("{}held by {} until its destructor or an exit handler ran", part, variable);
}

namespace {

// "several global variables together: first, index"
std::string together_text(const std::vector<report::NamedRoot>& variables) {
  constexpr size_t kMaxNames = 3;
  std::string text = "several global variables together: ";
  for (size_t i = 0; i < std::min(variables.size(), kMaxNames); ++i) {
    text += (i == 0 ? "" : ", ") + short_name(variables[i].name, kNameWidth);
  }
  return base::safe_text(text + (variables.size() > kMaxNames ? ", ..." : ""));
}

}  // namespace

std::string retained_text(const report::Report& report) {
  constexpr uint64_t kMinShare = 10;
  if (!report.globals) return "";
  const report::Globals& globals = *report.globals;
  const uint64_t least = report.leaks.reachable.bytes / kMinShare;
  const report::GlobalEntry* const largest = globals.largest();
  const uint64_t alone = largest != nullptr ? largest->retained.bytes : 0;
  const bool is_shared = globals.shared.bytes > alone && globals.shared_by.size() > 1;
  const uint64_t bytes = is_shared ? globals.shared.bytes : alone;
  // Blocks from before the recording are unknown, and so is what leads to them.
  const uint64_t beyond = report.capture.from_start ? 0 : globals.mappings.bytes;
  if (beyond > bytes && beyond >= least) {
    return fmt::format(
        "{} of them by blocks from before the recording or mapped memory, so that the variable is unknown",
        base::format_bytes(beyond));
  }
  if (bytes == 0 || bytes < least) return "";
  const std::string by = is_shared ? together_text(globals.shared_by) : variable_text(largest->variable);
  return by.empty() ? "" : fmt::format("{} of them by {}", base::format_bytes(bytes), by);
}

ErrorName name_of(const report::ErrorEntry& error) {
  if (error.kind == "double") return {"double free", ""};
  if (error.kind == "interior") return {"invalid free", " (inside a block)"};
  if (error.kind != "mismatched") return {"invalid free", ""};
  std::string rest = " (" + function_text(error.function, error.variant);
  if (error.allocated) rest += " of " + function_text(error.allocated->function, error.allocated->variant);
  return {"mismatched free", rest + ")"};
}

}  // namespace heaptap::findings
