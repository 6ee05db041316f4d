// The comparison as JSON: docs/json.md.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/comparison.h"
#include "report/json_values.h"

namespace heaptap::report {
namespace {

// The value of each figure, as text that is known or null.
template <typename ValueOf>
std::string figures_text(std::string begin, const ValueOf& value_of) {
  for (const FigureFacts& facts : figures()) {
    const auto value = value_of(facts.figure);
    begin += fmt::format(R"({}"{}":{})", begin.ends_with('{') ? "" : ",", facts.key,
                         value ? fmt::format("{}", *value) : "null");
  }
  begin += '}';
  return begin;
}

std::string text_of(const Figures& values) {
  return figures_text("{", [&](Figure figure) { return values[figure]; });
}

std::string text_of(const StackSide& side) {
  return figures_text(fmt::format(R"({{"ids":[{}])", fmt::join(side.ids, ",")),
                      [&](Figure figure) { return side.figures[figure]; });
}

// `before` and `after` are the first and the last one; of more than two recordings all are in `values`.
template <typename Sides, typename Compared>
std::string sides_text(const Sides& texts, const Compared& compared) {
  std::string text = fmt::format(R"("before":{},"after":{},"change":{})", texts.front(), texts.back(),
                                 figures_text("{", [&](Figure figure) { return compared.change(figure); }));
  if (texts.size() > 2) text += fmt::format(R"(,"values":[{}])", fmt::join(texts, ","));
  return text;
}

std::string text_of(const ComparedStack& stack) {
  std::vector<std::string> sides;
  for (const StackSide& side : stack.sides) sides.push_back(text_of(side));
  std::string text =
      fmt::format(R"({{"function":{},"variant":{},"mapping":{},"state":"{}","moved":{},)", to_text(stack.function),
                  to_text(stack.variant), stack.mapping, name_of(stack.state), stack.moved);
  if (sides.size() > 2) text += fmt::format(R"("growing":{},)", stack.growing);
  text += sides_text(sides, stack);
  text += fmt::format(R"(,"frames":[{}])", fmt::join(stack.frames, ","));
  if (stack.moved) text += fmt::format(R"(,"frames_before":[{}])", fmt::join(stack.frames_before, ","));
  text += '}';
  return text;
}

Json recording_json(const Recording& recording) {
  Json json{{"trace", recording.report.trace_path},
            {"at_ns", recording.at_ns ? Json(*recording.at_ns) : Json(nullptr)},
            {"target", target_json(recording.report.capture)},
            {"capture", capture_json(recording.report)},
            {"filter", recording.report.filter.empty() ? Json(nullptr) : Json(recording.report.filter)},
            {"scanned", recording.totals[Figure::kLeakedBytes].has_value()}};
  if (!recording.report.ignored.rules.empty())
    json["ignored"] = json_of(recording.report.ignored, recording.report.totals);
  return json;
}

Json counts_json(const Comparison& comparison) {
  Json counts{{"all", comparison.stack_count}};
  for (size_t state = 0; state < kStackStateCount; ++state) {
    counts[std::string(name_of(static_cast<StackState>(state)))] = comparison.states[state];
  }
  counts["moved"] = comparison.moved_count;
  counts["listed"] = comparison.stacks.size();
  counts["unchanged"] = comparison.unchanged;
  counts["below_floor"] = comparison.below_floor;
  return counts;
}

}  // namespace

void write_comparison_json(const Comparison& comparison, const Write& write) {
  JsonDocument document("diff", 1, write);
  document.list("recordings", comparison.recordings, recording_json);
  std::vector<std::string> totals;
  for (const Recording& recording : comparison.recordings) totals.push_back(text_of(recording.totals));
  document.member("totals", Json::parse(fmt::format("{{{}}}", sides_text(totals, comparison))));
  document.member("sort", facts_of(comparison.sort).word);
  document.member("stack_count", counts_json(comparison));
  document.member("unmatched_modules", comparison.unmatched_modules);
  document.begin_list("stacks");
  for (const ComparedStack& stack : comparison.stacks) document.add(text_of(stack));
  document.end_list();
  document.list("frames", comparison.frames, [](const model::Frame& frame) { return json_of(frame); });
}

}  // namespace heaptap::report
