#include "views/text/text_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <ranges>
#include <set>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/ignored_text.h"
#include "analysis/findings/label_text.h"
#include "analysis/findings/note_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/tracer_pauses.h"
#include "analysis/findings/words.h"
#include "analysis/report/process_sums.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"

namespace heaptap::text {

namespace {

std::string run_text(const report::Report& report) {
  std::set<uint32_t> ids;
  for (const report::ProcessEntry& process : report.processes) ids.insert(process.capture.pid);
  if (ids.size() == 1)
    return fmt::format("with its earlier programs: all {} programs of this process", report.processes.size());
  return fmt::format("and {}: all {} processes together", findings::counted(ids.size() - 1, "other"), ids.size());
}

std::string filter_text(const TextContext& context) {
  const std::string& filter = context.report.filter;
  return filter.empty() ? "" : context.ink.yellow("only: " + base::safe_text(filter)) + "\n";
}

// A moment of another program that the process executed earlier.
std::string earlier_text(const report::Window& window) {
  constexpr const char* kWhen = "was set before the process executed this program: ";
  if (window.to_is_earlier)
    return fmt::format("mark {} {}nothing of this program was recorded before it\n", base::safe_text(window.to), kWhen);
  if (!window.from_is_earlier) return "";
  return fmt::format("mark {} {}everything from this program's start counts\n", base::safe_text(window.from), kWhen);
}

// What became of a window's blocks, and of older ones freed in it.
std::string window_text(const TextContext& context) {
  const std::optional<report::Window>& window = context.report.window;
  if (window && (window->from_is_earlier || window->to_is_earlier)) return earlier_text(*window);
  if (!window || !window->has_older || !context.report.totals.live_bytes.is_known()) return "";
  return fmt::format(
      "in this window: {} ({})\n  {} in {} allocated and not freed, less {} in {} from before that {} freed\n",
      findings::signed_bytes(window->growth.bytes), findings::signed_count(window->growth.blocks, "block"),
      base::format_bytes(context.report.totals.live_bytes.counted()),
      findings::counted(context.report.totals.live_blocks.counted(), "block"),
      base::format_bytes(window->older_released_bytes), findings::counted(window->older_released_blocks, "block"),
      window->older_released_blocks == 1 ? "was" : "were");
}

std::string title_of_import(const TextContext& context, const std::string& command) {
  const model::Capture& capture = context.report.capture;
  std::string text = command.empty() ? "" : context.ink.bold(base::safe_text(command)) + ": ";
  text += fmt::format("{} file, imported: {}", capture.import.tool, findings::exit_text(capture));
  if (capture.duration_ns != 0) text += ", after " + findings::moment_text(capture, capture.duration_ns);
  return text + "\n" + filter_text(context) + window_text(context);
}

}  // namespace

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
  std::string text = context.ink.bold(base::safe_text(command)) + ": " + findings::exit_text(capture);
  const bool is_core = capture.is_of_core();
  if (capture.ended && !is_core) text += " after " + base::format_duration(capture.duration_ns);
  if (capture.detached && capture.ended) text += ", still running";
  if (is_core) {
    text += ", from a core file";
  } else if (!capture.via.empty()) {
    text += fmt::format("{}with {}", capture.running ? " " : ", recorded ",
                        capture.via == "agent" ? "the agent" : base::safe_text(capture.via));
  }
  text += fmt::format(" (pid {}", capture.pid);
  if (!capture.architecture.empty()) text += ", " + base::safe_text(capture.architecture);
  text += ")\n";
  if (context.report.of_run) text += run_text(context.report) + "\n";
  return text + filter_text(context) + window_text(context);
}

std::string peak_process_line(const TextContext& context) {
  const std::string process = findings::peak_process_text(context.report);
  if (process.empty()) return "";
  return "\n" +
         context.ink.dim(fmt::format("(AT PEAK: of {} alone, the process with the largest peak, {})", process,
                                     base::format_bytes(report::peak_of(context.report).counted()))) +
         "\n";
}

std::string remarks_of(const TextContext& context) {
  const model::Capture& capture = context.report.capture;
  std::string text;
  const auto warn = [&](const std::string& line) { text += context.ink.yellow("! " + base::safe_text(line)) + "\n"; };
  if (const std::string ignored = findings::ignored_text(context.report); !ignored.empty())
    text += context.ink.dim(ignored) + "\n";
  if (capture.lost_events != 0) {
    warn(fmt::format("{} were lost: the numbers are not exact", findings::counted(capture.lost_events, "event")));
  }
  if (const std::string sampling = findings::sampling_sentence(context.report); !sampling.empty()) warn(sampling);
  if (const std::string pauses = findings::pauses_sentence(capture); !pauses.empty()) warn(pauses);
  if (const std::string uncertainty = findings::uncertainty_of(context.report); !uncertainty.empty()) warn(uncertainty);
  if (capture.truncated) warn(findings::incomplete_text(capture));
  if (const std::string late = findings::late_start_of(context.report); !late.empty()) warn(late);
  if (context.report.errors_dropped != 0) {
    warn(fmt::format("{} counted but not listed: too many different ones",
                     findings::counted(context.report.errors_dropped, "bad release")));
  }
  const bool is_own = capture.import.tool.empty();
  if (is_own && !context.report.totals.bad_releases.is_known() && context.report.totals.allocations.is_known() &&
      context.report.filter.empty() && capture.sample_interval == 0) {
    warn("some bad releases may be double frees: --aggregate doesn't keep released blocks");
  }
  for (const std::string& note : findings::sentences_of(capture.notes)) {
    warn(note);
  }
  for (const std::string& hint : findings::hints_of(context.report)) {
    text += context.ink.dim("hint: " + base::safe_text(hint)) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

std::string frame_line(const TextContext& context, const model::Frame& frame, size_t indent) {
  constexpr size_t kLeastName = 24;
  constexpr size_t kAnyLength = size_t{1} << 20;
  const std::string place = context.text.place(frame) + (frame.inlined ? " (inlined)" : "");
  const size_t taken = indent + 2 + findings::shown_width(place);
  const size_t width = context.options.width;
  const size_t most = width == 0 ? kAnyLength : std::max(kLeastName, width - std::min(width, taken));
  return context.text.function(frame, most) + "  " + context.ink.dim(place);
}

std::string frames_text(const TextContext& context, const report::FrameList& frames) {
  constexpr size_t kIndent = 6;
  const std::string indent(kIndent, ' ');
  std::string text;
  const std::vector<findings::ListedFrame> listed = context.text.listed_frames(frames);
  for (const findings::ListedFrame& each : listed | std::views::take(kMaxFrames)) {
    text += indent;
    text += each.frame != nullptr ? frame_line(context, *each.frame, kIndent)
                                  : context.ink.dim(fmt::format("({} library frames)", each.run));
    text += "\n";
  }
  if (listed.size() > kMaxFrames)
    text += indent + context.ink.dim(fmt::format("({} more)", listed.size() - kMaxFrames)) + "\n";
  return text;
}

std::string frames_text(const TextContext& context, const report::StackEntry& stack) {
  const std::string labels = findings::labels_of(stack);
  std::string text = labels.empty() ? "" : fmt::format("      {}\n", context.ink.dim(labels));
  text += frames_text(context, context.report.list(stack.frames));
  if (const std::string purpose = findings::words_of(stack.purpose); !purpose.empty()) {
    text += "      " + context.ink.dim("(" + purpose + ")") + "\n";
  }
  if (const std::string ending = findings::ending_of(stack); !ending.empty() && stack.rare->earlier.empty()) {
    text += "      " + context.ink.dim("(stack ends here: " + ending + ")") + "\n";
  }
  return text;
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

std::string row_text(const char* name, const std::string& value, const std::string& rest) {
  std::string line = fmt::format("  {:<16}{:>15}   {}", name, value, rest);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string more_rows(const TextContext& context, uint64_t shown, uint64_t all, const char* noun) {
  if (shown >= all) return "";
  return context.ink.dim(fmt::format("  ({} more: -n N shows more)", findings::counted(all - shown, noun))) + "\n";
}

std::string stack_below(const TextContext& context, const report::StackKeep& stack) {
  const std::string id = fmt::format("#{}  ", stack.stack_id);
  const size_t below = TextTable::room_below(context.options.width);
  const size_t room = below == 0 ? 0 : below - std::min(below - 1, id.size());
  return id + context.text.describe_site(context.report.list(stack.frames), room);
}

std::string stacks_text(const TextContext& context, std::span<const report::StackEntry> stacks, size_t apart,
                        std::string (*text_of)(const TextContext&, const report::StackEntry&)) {
  std::string text;
  for (const report::StackEntry& stack : stacks) {
    text += '\n';
    text += text_of(context, stack);
  }
  const size_t told = stacks.size() + apart;
  if (told < context.report.stack_count) {
    text += context.ink.dim(fmt::format("\n({} more: -n N shows more)",
                                        findings::counted(context.report.stack_count - told, "stack"))) +
            "\n";
  }
  return text;
}

namespace {

template <typename Stack>
struct Divided {
  std::vector<Stack> of_program;    // or all
  std::vector<Stack> of_libraries;  // those before the last one of the program
};

template <typename Stack>
Divided<Stack> divided(const report::Report& report, const std::vector<Stack>& stacks, size_t most) {
  const auto is_programs = [](const Stack& stack) { return stack.purpose == report::Purpose::kProgram; };
  const bool all = !report.filter.empty() || std::ranges::none_of(stacks, is_programs);
  Divided<Stack> parts;
  for (const Stack& stack : stacks) {
    if (parts.of_program.size() == most) break;
    (all || is_programs(stack) ? parts.of_program : parts.of_libraries).push_back(stack);
  }
  return parts;
}

// "libstdc++'s emergency pool for exceptions, glibc's buffers of files"
template <typename Stack>
std::string purposes_of(const std::vector<Stack>& stacks) {
  std::set<std::string> purposes;
  for (const Stack& stack : stacks) purposes.insert(findings::words_of(stack.purpose));
  return fmt::format("{}", fmt::join(purposes, ", "));
}

}  // namespace

ListedStacks listed_stacks(const TextContext& context, size_t most) {
  auto parts = divided(context.report, context.report.stacks, most);
  ListedStacks listed{.stacks = std::move(parts.of_program), .folded = parts.of_libraries.size(), .of_libraries = {}};
  if (listed.folded == 0) return listed;
  report::BlockCount kept;
  for (const report::StackEntry& stack : parts.of_libraries)
    kept += {stack.live_blocks.counted(), stack.live_bytes.counted()};
  listed.of_libraries =
      fmt::format("({} not freed, of system libraries: {})", findings::amount(kept), purposes_of(parts.of_libraries));
  return listed;
}

ListedKeeps listed_keeps(const TextContext& context, const std::vector<report::StackKeep>& stacks, size_t most) {
  auto parts = divided(context.report, stacks, most);
  ListedKeeps listed{.stacks = std::move(parts.of_program), .folded = parts.of_libraries.size()};
  if (listed.folded == 0) return listed;
  for (const report::StackKeep& stack : parts.of_libraries) {
    listed.sum.live += stack.live;
    listed.sum.unplaced += stack.unplaced;
    listed.sum.kept_bytes += stack.kept_bytes;
  }
  const report::BlockCount blocks = report::BlockCount(listed.sum.live) += listed.sum.unplaced;
  listed.of_libraries =
      fmt::format("{} of system libraries: {}", findings::amount(blocks), purposes_of(parts.of_libraries));
  return listed;
}

std::string libraries_line(const TextContext& context, const ListedKeeps& listed, const std::string& kept) {
  return listed.folded == 0 ? ""
                            : fmt::format("\n{}\n", context.ink.dim(fmt::format("({}{})", kept, listed.of_libraries)));
}

}  // namespace heaptap::text
