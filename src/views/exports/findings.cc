#include "views/exports/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/findings/words.h"
#include "analysis/report/certainty.h"

namespace heaptap::exports {
namespace {

report::BlockCount count_of(const report::StackLeaks& leaks, LeakKind kind) {
  switch (kind) {
    case LeakKind::kDefinite:
      return leaks.definite;
    case LeakKind::kIndirect:
      return leaks.indirect;
    case LeakKind::kPossible:
      break;
  }
  return leaks.possible;
}

std::string gaps_of(const report::Report& report) {
  std::string text;
  for (const report::Gap gap : report.known.gaps) text += (text.empty() ? "" : ", ") + findings::words_of(gap);
  return text;
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace

std::string_view words_of(LeakKind kind) {
  constexpr std::array<std::string_view, 3> kWords{"definitely lost", "indirectly lost", "possibly lost"};
  return kWords.at(static_cast<size_t>(kind));
}

std::vector<Leak> leaks_of(const report::Report& report) {
  std::vector<Leak> leaks;
  for (const LeakKind kind : {LeakKind::kDefinite, LeakKind::kIndirect, LeakKind::kPossible}) {
    const size_t first = leaks.size();
    for (const report::StackEntry& stack : report.stacks) {
      if (!stack.leaks) continue;
      const report::BlockCount count = count_of(*stack.leaks, kind);
      if (count.blocks != 0) leaks.push_back({&stack, kind, count});
    }
    std::stable_sort(leaks.begin() + static_cast<ptrdiff_t>(first), leaks.end(),
                     [](const Leak& one, const Leak& other) { return one.count.bytes > other.count.bytes; });
  }
  return leaks;
}

std::string sentence_of(const Leak& leak) {
  return fmt::format("{} in {} {} {}", counted(leak.count.bytes, "byte"), counted(leak.count.blocks, "block"),
                     leak.count.blocks == 1 ? "is" : "are", words_of(leak.kind));
}

std::string_view rule_of(const report::ErrorEntry& error) {
  if (error.kind == "mismatched") return "mismatched-free";
  return error.kind == "double" ? "double-free" : "invalid-free";
}

std::string sentence_of(const report::ErrorEntry& error) {
  std::string text = error.function;
  if (error.kind == "mismatched")
    text += " of a block of another family";
  else if (error.kind == "double")
    text += " of a block that was freed already";
  else if (error.kind == "interior")
    text += " of an address inside a block";
  else
    text += " of an address that was never allocated";
  if (error.allocated)
    text += fmt::format(", {} by {}", counted(error.allocated->size_bytes, "byte"), error.allocated->function);
  if (error.count > 1) text += fmt::format(", {} times", error.count);
  return text;
}

base::Result<> require_scan(const report::Report& report, std::string_view format) {
  if (report.leaks.scanned) return {};
  if (const std::string& tool = report.capture.import.tool; !tool.empty())
    return base::fail("{}'s file has no leak scan, nothing to write as {}", tool, format);
  return base::fail(
      "the trace has no leak scan, nothing to write as {}; record again without --no-leak-scan, --aggregate and "
      "--sample",
      format);
}

std::string doubt_about_leaks(const report::Report& report) {
  if (!report.leaks.scanned) return "no leak scan was made";
  const bool is_early = !report.leaks.scan.at_end && !report.capture.detached;
  if (report::certainty_of(report, report::LimitKind::kLeaked, is_early) == report::Certainty::kExact) return {};
  if (is_early) return "the leak scan was made before the end";
  if (const std::string gaps = gaps_of(report); !gaps.empty()) return gaps;
  if (report.capture.is_of_core()) return "of a core file only glibc's heaps are known";
  if (!report.capture.from_start) return "earlier allocations were not recorded";
  return "some blocks may have been released unseen";
}

std::string doubt_about_releases(const report::Report& report) {
  if (!report.capture.import.tool.empty()) return "bad releases are not in the file";
  if (report.capture.is_of_core()) return "a core file has no releases";
  if (!report.totals.double_releases.is_known()) return "double releases are not kept with --aggregate";
  if (report.known.releases && report.capture.ended && !report.capture.truncated) return {};
  const std::string gaps = gaps_of(report);
  return gaps.empty() ? "the trace is cut off" : gaps;
}

}  // namespace heaptap::exports
