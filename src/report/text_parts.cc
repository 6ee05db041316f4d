#include "report/text_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/safe_text.h"
#include "base/units.h"
#include "report/note_text.h"
#include "report/text_safe.h"
#include "report/words.h"

namespace heaptap::report {

std::string program_of(const model::Capture& capture) {
  const std::string& command = capture.command.empty() ? capture.executable : capture.command.front();
  return base::safe_text(command.substr(command.rfind('/') + 1));
}

std::string exit_text(const model::Capture& capture) {
  if (capture.running) return "still running";
  if (capture.truncated) {
    return "the trace is cut off";
  }
  if (capture.exit.signal) {
    const char* const name = sigabbrev_np(*capture.exit.signal);
    return fmt::format("killed by signal {}{}", *capture.exit.signal,
                       name != nullptr ? fmt::format(" (SIG{})", name) : "");
  }
  if (capture.exit.code) {
    return fmt::format("exit code {}", *capture.exit.code);
  }
  if (capture.executed) return "went on as another program";
  if (capture.detached) return "let go of";
  return capture.ended ? "exit status not known" : "the capture did not end";
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
  std::string text = context.ink.bold(base::safe_text(command)) + fmt::format(" (pid {}", capture.pid);
  if (!capture.architecture.empty()) text += ", " + base::safe_text(capture.architecture);
  if (!capture.via.empty()) text += ", by " + base::safe_text(capture.via);
  text += "): " + exit_text(capture);
  text += capture.ended ? " after " + base::format_duration(capture.duration_ns) + "\n" : "\n";
  if (!context.report.filter.empty()) {
    text += context.ink.yellow("only: " + base::safe_text(context.report.filter)) + "\n";
  }
  return text;
}

std::string uncertainty_of(const Report& report) {
  const Known& known = report.known;
  if (known.gaps.empty()) return {};
  std::vector<std::string> unknown;
  if (!known.leaks && report.leaks.scanned) unknown.emplace_back("which blocks are lost");
  if (!known.releases) unknown.emplace_back("which releases are bad");
  std::vector<std::string> gaps;
  for (const Gap gap : known.gaps) gaps.push_back(words_of(gap));
  return fmt::format("not known for certain: {} ({})", fmt::join(unknown, ", "), fmt::join(gaps, ", "));
}

std::string remarks_of(const TextContext& context) {
  const model::Capture& capture = context.report.capture;
  std::string text;
  const auto warn = [&](const std::string& line) { text += context.ink.yellow("! " + base::safe_text(line)) + "\n"; };
  if (capture.lost_events != 0) {
    warn(fmt::format("{} were lost: the numbers are not exact", counted(capture.lost_events, "event")));
  }
  if (const std::string uncertainty = uncertainty_of(context.report); !uncertainty.empty()) warn(uncertainty);
  if (capture.running && capture.truncated) {
    warn(capture.damage);
  } else if (capture.truncated) {
    warn("the trace is cut off or damaged, what stands before that is shown: " + capture.damage);
  }
  if (!capture.from_start) {
    warn("the capture began while the program ran: earlier allocations are not in it");
  }
  if (context.report.errors_dropped != 0) {
    warn(fmt::format("{} counted but not listed: too many different ones",
                     counted(context.report.errors_dropped, "bad release")));
  }
  if (!context.report.totals.bad_frees_known && context.report.totals.calls_known && context.report.filter.empty()) {
    warn("of some bad releases it is not known whether they were double: --aggregate forgets released blocks");
  }
  for (const std::string& note : sentences_of(capture.notes)) {
    warn(note);
  }
  for (const std::string& hint : context.report.hints) {
    text += context.ink.dim("hint: " + base::safe_text(hint)) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

std::string frames_text(const TextContext& context, const std::vector<model::Frame>& frames) {
  std::string text;
  for (size_t index = 0; index < std::min(frames.size(), kMaxFrames); ++index) {
    const model::Frame& frame = frames[index];
    const std::string inlined = frame.inlined ? " (inlined)" : "";
    text += "      " + base::safe_text(function_of(frame, kNameWidth)) + "  " +
            context.ink.dim(base::safe_text(location_of(frame)) + inlined) + "\n";
  }
  if (frames.size() > kMaxFrames) {
    text += "      " + context.ink.dim(fmt::format("({} more)", frames.size() - kMaxFrames)) + "\n";
  }
  return text;
}

std::string frames_text(const TextContext& context, const StackEntry& stack) {
  std::string text = frames_text(context, stack.frames);
  if (const std::string purpose = words_of(stack.purpose); !purpose.empty()) {
    text += "      " + context.ink.dim("(" + purpose + ")") + "\n";
  }
  if (const std::string ending = ending_of(stack); !ending.empty()) {
    text += "      " + context.ink.dim("(no further: " + ending + ")") + "\n";
  }
  return text;
}

std::string function_text(const std::string& function, const std::string& variant) {
  return variant.empty() ? function : fmt::format("{} ({})", function, variant);
}

std::string text_not_kept(const TextContext& context, const char* what) {
  return title_of(context) + "\n" +
         context.ink.yellow(fmt::format("{}: not kept with --aggregate (`heaptap run` without it keeps them)", what)) +
         "\n" + remarks_of(context);
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
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
