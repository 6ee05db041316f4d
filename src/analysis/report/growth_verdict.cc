#include "analysis/report/growth_verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/report/json_values.h"
#include "analysis/report/telling_frame.h"
#include "analysis/report/text_parts.h"
#include "analysis/report/text_safe.h"
#include "common/base/units.h"

namespace heaptap::report {
namespace {

Figure figure_of(LimitKind kind) {
  switch (kind) {
    case LimitKind::kLeaked:
      return Figure::kLeakedBytes;
    case LimitKind::kPeak:
      return Figure::kPeakBytes;
    case LimitKind::kLive:
      return Figure::kLiveBytes;
    case LimitKind::kAllocations:
      break;
  }
  return Figure::kAllocations;
}

// In whole bytes, rounded down: half a byte more is beyond the limit.
uint64_t most_of(const GrowthLimit& limit, const std::optional<uint64_t>& before) {
  if (!limit.percent) return limit.most;
  const double most = static_cast<double>(before.value_or(0)) * *limit.percent / 100;
  constexpr double kEnd = 18446744073709551616.0;  // 2^64
  return most < kEnd ? static_cast<uint64_t>(most) : ~uint64_t{0};
}

// The stacks that grew most.
std::vector<const ComparedStack*> grown_stacks(const Comparison& comparison, Figure figure) {
  std::vector<const ComparedStack*> grown;
  for (const ComparedStack& stack : comparison.stacks) {
    if (!stack.mapping && stack.change(figure).value_or(0) > 0) grown.push_back(&stack);
  }
  std::ranges::stable_sort(grown, std::greater<>(),
                           [figure](const ComparedStack* stack) { return *stack->change(figure); });
  return grown;
}

// Whether no stack may have grown unseen.
bool is_known_of_all(const Comparison& comparison, Figure figure) {
  return std::ranges::all_of(comparison.stacks, [figure](const ComparedStack& stack) {
    return stack.mapping || stack.change(figure).has_value();
  });
}

std::string signed_text(LimitKind kind, int64_t growth) {
  const uint64_t size = growth < 0 ? 0 - static_cast<uint64_t>(growth) : static_cast<uint64_t>(growth);
  return fmt::format("{}{}", growth < 0 ? "-" : "+", figure_text(kind, size));
}

std::string short_text(LimitKind kind, const std::optional<uint64_t>& value) {
  if (!value) return "unknown";
  return kind == LimitKind::kAllocations ? base::format_count(*value) : base::format_bytes(*value);
}

std::string limit_text(const GrowthEntry& entry) {
  const std::string most = figure_text(entry.limit.kind, entry.most);
  if (!entry.limit.percent) return fmt::format("+{}", most);
  if (!entry.before) return fmt::format("+{}%", *entry.limit.percent);
  return fmt::format("+{}% of it: +{}", *entry.limit.percent, most);
}

std::string limit_name(const GrowthLimit& limit) {
  return limit.each_stack ? fmt::format("{} of each stack", name_of(limit.kind)) : name_of(limit.kind);
}

// "grew by at least 5 B", "is smaller by 2 B".
std::string growth_text(const GrowthEntry& entry) {
  if (entry.certainty == Certainty::kNone) return "growth not known";
  const char* least = entry.certainty == Certainty::kAtLeast ? "at least " : "";
  const char* doubt = entry.certainty == Certainty::kUnknown ? " or more or less" : "";
  if (entry.growth == 0) return fmt::format("{}no growth{}", least, doubt);
  return fmt::format("{}{}{}", least, signed_text(entry.limit.kind, entry.growth), doubt);
}

}  // namespace

bool GrowthEntry::broken() const {
  const bool counts = certainty == Certainty::kExact || certainty == Certainty::kAtLeast || allow_incomplete;
  return counts && certainty != Certainty::kNone && growth > 0 && static_cast<uint64_t>(growth) > most;
}

Certainty growth_certainty(Certainty before, Certainty after) {
  if (before == Certainty::kNone || after == Certainty::kNone) return Certainty::kNone;
  if (before != Certainty::kExact) return Certainty::kUnknown;
  return after;
}

GrowthEntry judge_growth(const Comparison& comparison, const GrowthLimit& limit, Certainty certainty,
                         bool allow_incomplete, size_t stacks) {
  const Figure figure = figure_of(limit.kind);
  GrowthEntry entry{.limit = limit,
                    .before = comparison.recordings.front().totals[figure],
                    .after = comparison.recordings.back().totals[figure],
                    .stacks = {},
                    .frames = {},
                    .certainty = certainty,
                    .allow_incomplete = allow_incomplete};
  entry.most = most_of(limit, entry.before);
  const auto change = comparison.change(figure);
  if (!change) entry.certainty = Certainty::kNone;
  const std::vector<const ComparedStack*> grown = grown_stacks(comparison, figure);
  if (limit.each_stack) {
    if (!is_known_of_all(comparison, figure)) entry.certainty = Certainty::kNone;
    entry.growth = grown.empty() ? 0 : *grown.front()->change(figure);
    // What couldn't be matched looks as if it were new.
    const bool is_doubtful = !comparison.unmatched_modules.empty() && entry.certainty != Certainty::kNone;
    if (is_doubtful) entry.certainty = Certainty::kUnknown;
  } else {
    entry.growth = change.value_or(0);
  }
  if (!entry.broken()) return entry;
  for (size_t i = 0; i < std::min(stacks, grown.size()); ++i) {
    const bool is_within = static_cast<uint64_t>(*grown[i]->change(figure)) <= entry.most;
    if (limit.each_stack && is_within) break;
    entry.stacks.push_back(*grown[i]);
    for (std::vector<FrameIndex>* frames : {&entry.stacks.back().frames, &entry.stacks.back().frames_before}) {
      for (FrameIndex& index : *frames) {
        entry.frames.push_back(comparison.frames[index]);
        index = static_cast<FrameIndex>(entry.frames.size() - 1);
      }
    }
  }
  return entry;
}

std::string render_growth(const GrowthEntry& entry, const Ink& ink) {
  const LimitKind kind = entry.limit.kind;
  const char* outcome = entry.broken() ? "FAIL" : entry.unknown() ? "UNKNOWN" : "ok";
  std::string totals;
  if (!entry.limit.each_stack)
    totals = fmt::format(" ({} -> {})", short_text(kind, entry.before), short_text(kind, entry.after));
  const std::string line = fmt::format("{}: {}: {}{}, limit {}", outcome, limit_name(entry.limit), growth_text(entry),
                                       totals, limit_text(entry));
  std::string text = (entry.broken() ? ink.red(line) : entry.unknown() ? ink.yellow(line) : line) + "\n";
  for (const ComparedStack& stack : entry.stacks) {
    const Figure figure = figure_of(kind);
    const model::Frame* frame = telling_frame({entry.frames, stack.frames});
    text +=
        fmt::format("  {}  {} -> {} by {} from {}\n", stack.sides.front().ids.empty() ? "new" : "grown",
                    short_text(kind, stack.sides.front().figures[figure]),
                    short_text(kind, stack.sides.back().figures[figure]), function_text(stack.function, stack.variant),
                    frame == nullptr ? "an unknown caller" : describe(*frame, kNameWidth));
  }
  return text;
}

void write_json(report::JsonWriter& json, const GrowthEntry& entry) {
  const Figure figure = figure_of(entry.limit.kind);
  const report::JsonObject object(json);
  json.member("limit", report::name_of(entry.limit.kind));
  json.member("each_stack", entry.limit.each_stack);
  json.member("before", entry.before);
  json.member("after", entry.after);
  json.member("growth", known(entry.certainty != Certainty::kNone, entry.growth));
  json.member("certainty", report::name_of(entry.certainty));
  json.member("most", known(!entry.limit.percent || entry.before, entry.most));
  json.member("most_percent", entry.limit.percent);
  json.member("broken", entry.broken());
  json.member("judged", !entry.unknown());
  json.key("stacks").begin_array();
  for (const ComparedStack& stack : entry.stacks) {
    const report::JsonObject stack_object(json);
    json.member("function", stack.function);
    json.member("variant", stack.variant);
    json.member("state", name_of(stack.state));
    json.member("moved", stack.moved);
    json.member("before", stack.sides.front().figures[figure]);
    json.member("after", stack.sides.back().figures[figure]);
    json.key("frames").values(stack.frames);
  }
  json.end_array();
  write_frames(json.key("frames"), entry.frames);
}

}  // namespace heaptap::report
