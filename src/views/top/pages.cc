#include "views/top/pages.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "common/base/units.h"
#include "views/top/key_help.h"
#include "views/top/short_text.h"

namespace heaptap::top {
namespace {

constexpr std::array kColumnHelp{
    "Columns",
    "  LIVE      live bytes, in this number of BLOCKS",
    "  GROWTH    change of the live bytes since the mark, or the start",
    "  LEAKED    bytes that the last scan found definitely or indirectly lost",
    "  BYTES/S   allocated bytes a second, in this number of CALLS/S",
    "  AGE       average age of its live blocks",
    "  LIFETIME  average lifetime of its released blocks",
    "  TEMP      temporary allocations: released before the thread's next allocation",
    "  TOTAL     bytes allocated in total",
    "  [mapped]  by mmap: LIVE is memory without a file; BYTES/S and TOTAL count addresses",
    "  [+64.0G]  mapped: so much beyond LIVE is only reserved (no access)",
    "",
    "-  unknown. Sizes are in powers of 1024, counts in powers of 1000.",
};

std::string row_text(const std::string& name, const std::string& value) {
  return fmt::format("  {:<14}{}", name, value);
}

std::string bytes_text(double bytes) { return base::format_bytes(whole(bytes)); }
std::string count_text(double count) { return base::format_count(whole(count)); }
std::string number_of(const std::optional<double>& count, const char* what) {
  return count ? counted(whole(*count), what) : fmt::format("- {}s", what);
}
std::string rate_text(double bytes) { return bytes_text(bytes) + "/s"; }

void add_figures(std::vector<StyledText>& lines, const History& history, uint64_t id) {
  const State stacks;
  const TableRow row = row_of(history, {}, stacks, id);
  const auto add = [&](const char* name, const std::string& value, Style style = Style::kPlain) {
    lines.push_back({row_text(name, value), style});
  };
  add("live", fmt::format("{} in {}", known_text(row.of(Figure::kLive), bytes_text),
                          number_of(row.of(Figure::kBlocks), "block")));
  add("growth", known_text(row.of(Figure::kGrowth), short_change));
  add("allocated", fmt::format("{} in {}", known_text(row.of(Figure::kAllocated), bytes_text),
                               number_of(row.of(Figure::kAllocations), "call")));
  add("rate", fmt::format("{}, {} calls/s", known_text(row.of(Figure::kRate), rate_text),
                          known_text(row.of(Figure::kCalls), short_count)));
  add("age",
      fmt::format("{} on average; released blocks lived for {}", known_text(row.of(Figure::kAge), short_duration),
                  known_text(row.of(Figure::kLifetime), short_duration)));
  add("temporary", known_text(row.of(Figure::kTemporary), count_text));
  const auto& leaked = row.of(Figure::kLeaked);
  add("leaked",
      leaked            ? bytes_text(*leaked)
      : history.leaks() ? "-"
                        : "- (no scan yet)",
      leaked && *leaked > 0 ? Style::kBad : Style::kPlain);
}

void add_list(std::vector<StyledText>& lines, const char* title, const std::vector<std::string>& entries) {
  lines.push_back({});
  lines.push_back({title, Style::kBold});
  for (const std::string& entry : entries) lines.push_back({"  " + entry});
}

std::string joined(const std::vector<std::string>& words) {
  constexpr size_t kMaxWords = 20;
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), kMaxWords); ++i) text += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > kMaxWords) text += fmt::format(" and {} more", words.size() - kMaxWords);
  return text.empty() ? "-" : text;
}

}  // namespace

std::vector<StyledText> help_lines() {
  std::vector<StyledText> lines{{"Keys", Style::kBold}};
  for (const KeyHelp& key : kKeyHelp) lines.push_back({fmt::format("  {:<25}{}", key.keys, key.what)});
  lines.push_back({});
  for (const std::string_view line : kColumnHelp) {
    const bool is_title = !line.empty() && line.front() != ' ' && line.front() != '-';
    lines.push_back({std::string(line), is_title ? Style::kBold : Style::kPlain});
  }
  return lines;
}

std::vector<StyledText> stack_lines(const History& history, const NameBook& names, const State& state,
                                    const StackPage* page) {
  const NamedStack* const name = names.find(state.opened);
  std::vector<StyledText> lines;
  const std::string function = page != nullptr ? page->function : name != nullptr ? name->function : "";
  lines.push_back({fmt::format("Stack #{}  {}", state.opened, function), Style::kBold});
  if (history.now() != nullptr) add_figures(lines, history, state.opened);
  if (page == nullptr) {
    lines.push_back({"  …", Style::kDim});
    return lines;
  }
  lines.push_back({row_text("threads", joined(page->threads))});
  add_list(lines, "Frames, innermost first", page->frames);
  if (!page->holders.empty()) {
    add_list(lines, "What points to its largest block", page->holders);
  } else {
    add_list(lines, "What points to it",
             {page->why_no_holders.empty() ? "- (s scans for leaks)" : page->why_no_holders});
  }
  return lines;
}

}  // namespace heaptap::top
