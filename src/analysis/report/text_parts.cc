#include "analysis/report/text_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "analysis/report/function_name.h"
#include "analysis/report/label_sums.h"
#include "analysis/report/note_text.h"
#include "analysis/report/words.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::report {

std::string program_of(const model::Capture& capture) {
  const std::string& command = capture.command.empty() ? capture.executable : capture.command.front();
  return base::safe_text(command.substr(command.rfind('/') + 1));
}

bool lost_sight_of(const model::Capture& capture) {
  return std::ranges::find(capture.notes, model::NoteKind::kConnectionLost, &model::Note::kind) != capture.notes.end();
}

std::string exit_text(const model::Capture& capture) {
  if (capture.running) return "still being recorded";
  if (capture.truncated) return "incomplete";
  if (!capture.import.tool.empty()) return "how it ended is not known";
  if (capture.exit.signal) {
    const char* const name = sigabbrev_np(*capture.exit.signal);
    return fmt::format("killed by signal {}{}", *capture.exit.signal,
                       name != nullptr ? fmt::format(" (SIG{})", name) : "");
  }
  if (capture.exit.code) {
    return fmt::format("exited with {}", *capture.exit.code);
  }
  if (lost_sight_of(capture)) return "out of reach";
  if (capture.executed) return "executed another program";
  if (capture.detached) return "detached";
  return capture.ended ? "exit status unknown" : "the recording did not end";
}

namespace {

std::string run_text(const Report& report) {
  std::set<uint32_t> ids;
  for (const ProcessEntry& process : report.processes) ids.insert(process.capture.pid);
  if (ids.size() == 1)
    return fmt::format("with its earlier programs: all {} programs of this process", report.processes.size());
  return fmt::format("and {}: all {} processes together", counted(ids.size() - 1, "other"), ids.size());
}

std::string filter_text(const TextContext& context) {
  const std::string& filter = context.report.filter;
  return filter.empty() ? "" : context.ink.yellow("only: " + base::safe_text(filter)) + "\n";
}

// A moment of another program that the process ran before.
std::string earlier_text(const Window& window) {
  constexpr const char* kWhen = "was set before the process executed this program: ";
  if (window.to_is_earlier)
    return fmt::format("mark {} {}nothing of this program was recorded before it\n", base::safe_text(window.to), kWhen);
  if (!window.from_is_earlier) return "";
  return fmt::format("mark {} {}everything from this program's start counts\n", base::safe_text(window.from), kWhen);
}

// What became of a window's blocks, and of older ones in it.
std::string window_text(const TextContext& context) {
  const std::optional<Window>& window = context.report.window;
  if (window && (window->from_is_earlier || window->to_is_earlier)) return earlier_text(*window);
  if (!window || !window->has_older || !context.report.totals.live_known) return "";
  return fmt::format(
      "in this window: {} ({})\n  {} in {} allocated and not freed, less {} in {} from before that {} freed\n",
      signed_bytes(window->growth.bytes), signed_count(window->growth.blocks, "block"),
      base::format_bytes(context.report.totals.live_bytes), counted(context.report.totals.live_blocks, "block"),
      base::format_bytes(window->older_released_bytes), counted(window->older_released_blocks, "block"),
      window->older_released_blocks == 1 ? "was" : "were");
}

std::string title_of_import(const TextContext& context, const std::string& command) {
  const model::Capture& capture = context.report.capture;
  std::string text = command.empty() ? "" : context.ink.bold(base::safe_text(command)) + ": ";
  text += fmt::format("{} file, imported: {}", capture.import.tool, exit_text(capture));
  if (capture.duration_ns != 0) text += ", after " + moment_text(capture, capture.duration_ns);
  return text + "\n" + filter_text(context) + window_text(context);
}

}  // namespace

std::string late_start_of(const Report& report) {
  if (report.capture.from_start) return "";
  return report.of_run ? "some processes inherited blocks from their parent, or were attached to: these earlier blocks "
                         "are not in their traces"
                       : "recording began while the program ran: earlier allocations are not in it";
}

std::string moment_text(const model::Capture& capture, uint64_t time_ns) {
  switch (capture.import.unit) {
    case model::TimeUnit::kInstructions:
      return counted(time_ns, "instruction");
    case model::TimeUnit::kAllocatedBytes:
      return base::format_bytes(time_ns) + " allocated";
    case model::TimeUnit::kNanoseconds:
      break;
  }
  return base::format_duration(time_ns);
}

bool is_peak_placed(const Report& report) {
  return report.totals.peak_time_known || !report.capture.import.has_times();
}

std::string process_of(const model::Capture& capture) {
  return capture.import.tool.empty() ? fmt::format(" (pid {})", capture.pid) : "";
}

std::string title_of(const TextContext& context) {
  const model::Capture& capture = context.report.capture;
  std::string command;
  for (const std::string& argument : capture.command) {
    command += (command.empty() ? "" : " ") + argument;
  }
  if (command.empty()) {
    command = capture.executable;
  }
  constexpr size_t kLongestCommand = 100;
  if (command.size() > kLongestCommand) {
    command = command.substr(0, kLongestCommand) + "...";
  }
  if (!capture.import.tool.empty()) return title_of_import(context, command);
  std::string text = context.ink.bold(base::safe_text(command)) + ": " + exit_text(capture);
  if (capture.ended) text += " after " + base::format_duration(capture.duration_ns);
  if (capture.detached && capture.ended) text += ", still running";
  if (!capture.via.empty()) {
    text += fmt::format("{}with {}", capture.running ? " " : ", recorded ",
                        capture.via == "agent" ? "the agent" : base::safe_text(capture.via));
  }
  text += fmt::format(" (pid {}", capture.pid);
  if (!capture.architecture.empty()) text += ", " + base::safe_text(capture.architecture);
  text += ")\n";
  if (context.report.of_run) text += run_text(context.report) + "\n";
  return text + filter_text(context) + window_text(context);
}

std::string uncertainty_of(const Report& report) {
  const Known& known = report.known;
  if (known.gaps.empty()) return {};
  std::vector<std::string> unknown;
  if (!known.leaks && report.leaks.scanned) unknown.emplace_back("which blocks are lost");
  if (!known.releases) unknown.emplace_back("which releases are bad");
  std::vector<std::string> gaps;
  for (const Gap gap : known.gaps) {
    if (gap != Gap::kUnrecordedChildren) gaps.push_back(words_of(gap));  // a note says how many there were
  }
  if (unknown.empty() || gaps.empty()) return {};
  return fmt::format("uncertain: {} ({})", fmt::join(unknown, ", "), fmt::join(gaps, ", "));
}

std::string incomplete_text(const model::Capture& capture) {
  return capture.running ? capture.damage : "incomplete: " + capture.damage;
}

std::string remarks_of(const TextContext& context) {
  const model::Capture& capture = context.report.capture;
  std::string text;
  const auto warn = [&](const std::string& line) { text += context.ink.yellow("! " + base::safe_text(line)) + "\n"; };
  if (const std::string ignored = ignored_text(context.report); !ignored.empty())
    text += context.ink.dim(ignored) + "\n";
  if (capture.lost_events != 0) {
    warn(fmt::format("{} were lost: the numbers are not exact", counted(capture.lost_events, "event")));
  }
  if (const std::string uncertainty = uncertainty_of(context.report); !uncertainty.empty()) warn(uncertainty);
  if (capture.truncated) warn(incomplete_text(capture));
  if (const std::string late = late_start_of(context.report); !late.empty()) warn(late);
  if (context.report.errors_dropped != 0) {
    warn(fmt::format("{} counted but not listed: too many different ones",
                     counted(context.report.errors_dropped, "bad release")));
  }
  const bool is_own = capture.import.tool.empty();
  if (is_own && !context.report.totals.bad_frees_known && context.report.totals.calls_known &&
      context.report.filter.empty()) {
    warn("some bad releases may be double frees: --aggregate doesn't keep released blocks");
  }
  for (const std::string& note : sentences_of(capture.notes)) {
    warn(note);
  }
  for (const std::string& hint : hints_of(context.report)) {
    text += context.ink.dim("hint: " + base::safe_text(hint)) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

std::string frame_line(const TextContext& context, const model::Frame& frame, size_t indent) {
  constexpr size_t kLeastName = 24;
  constexpr size_t kAnyLength = size_t{1} << 20;
  const std::string place = context.text.place(frame) + (frame.inlined ? " (inlined)" : "");
  const size_t taken = indent + 2 + shown_width(place);
  const size_t width = context.options.width;
  const size_t most = width == 0 ? kAnyLength : std::max(kLeastName, width - std::min(width, taken));
  return context.text.function(frame, most) + "  " + context.ink.dim(place);
}

std::string frames_text(const TextContext& context, const FrameList& frames) {
  constexpr size_t kIndent = 6;
  const std::string indent(kIndent, ' ');
  std::string text;
  const size_t listed = context.text.listed(frames);
  for (size_t index = 0; index < std::min(listed, kMaxFrames); ++index) {
    text += indent + frame_line(context, frames[index], kIndent) + "\n";
  }
  if (listed > kMaxFrames) text += indent + context.ink.dim(fmt::format("({} more)", listed - kMaxFrames)) + "\n";
  return text;
}

std::string frames_text(const TextContext& context, const StackEntry& stack) {
  const std::string labels = labels_of(stack);
  std::string text = labels.empty() ? "" : fmt::format("      {}\n", context.ink.dim(labels));
  text += frames_text(context, context.report.list(stack.frames));
  if (const std::string purpose = words_of(stack.purpose); !purpose.empty()) {
    text += "      " + context.ink.dim("(" + purpose + ")") + "\n";
  }
  if (const std::string ending = ending_of(stack); !ending.empty()) {
    text += "      " + context.ink.dim("(stack ends here: " + ending + ")") + "\n";
  }
  return text;
}

std::string function_text(const std::string& function, const std::string& variant) {
  return variant.empty() ? function : fmt::format("{} ({})", function, variant);
}

std::string text_not_kept(const TextContext& context, const char* what) {
  const std::string& tool = context.report.capture.import.tool;
  const std::string why =
      tool.empty() ? "not recorded with --aggregate (record again without it)" : fmt::format("not in {}'s file", tool);
  return title_of(context) + "\n" + context.ink.yellow(fmt::format("{}: {}", what, why)) + "\n" + remarks_of(context);
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string signed_bytes(int64_t bytes) {
  const uint64_t size = bytes < 0 ? uint64_t{0} - static_cast<uint64_t>(bytes) : static_cast<uint64_t>(bytes);
  return fmt::format("{}{}", bytes < 0 ? "-" : bytes > 0 ? "+" : "", base::format_bytes(size));
}

std::string signed_count(int64_t count, const char* noun) {
  const uint64_t number = count < 0 ? uint64_t{0} - static_cast<uint64_t>(count) : static_cast<uint64_t>(count);
  return fmt::format("{}{}", count < 0 ? "-" : count > 0 ? "+" : "", counted(number, noun));
}

std::string counted(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", base::format_count(count), noun, count == 1 ? "" : "s");
}

std::string row_text(const char* name, const std::string& value, const std::string& rest) {
  std::string line = fmt::format("  {:<16}{:>15}   {}", name, value, rest);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string stacks_text(const TextContext& context, size_t most,
                        std::string (*text_of)(const TextContext&, const StackEntry&)) {
  const Report& report = context.report;
  const size_t shown = std::min(report.stacks.size(), most);
  std::string text;
  for (size_t index = 0; index < shown; ++index) {
    text += '\n';
    text += text_of(context, report.stacks[index]);
  }
  if (shown < report.stack_count) {
    text += context.ink.dim(fmt::format("\n({} more: -n N shows more)", counted(report.stack_count - shown, "stack"))) +
            "\n";
  }
  return text;
}

}  // namespace heaptap::report
