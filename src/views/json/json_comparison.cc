// JSON of a comparison: docs/json.md.
#include "views/json/json_comparison.h"

#include "views/json/json_values.h"

namespace heaptap::json {
namespace {

// Value of each figure; null if unknown.
template <typename ValueOf>
void write_figures(JsonWriter& json, const ValueOf& value_of) {
  for (const report::FigureFacts& facts : report::figures()) json.member(facts.key, value_of(facts.figure));
}

void write_side(JsonWriter& json, const report::Recording& recording) {
  const JsonObject object(json);
  write_figures(json, [&](report::Figure figure) { return recording.totals[figure]; });
}

void write_side(JsonWriter& json, const report::StackSide& side) {
  const JsonObject object(json);
  json.key("ids").values(side.ids);
  write_figures(json, [&](report::Figure figure) { return side.figures[figure]; });
}

// `before` and `after` are the first and the last recording; with more than two, all are in `values`.
template <typename Sides, typename Compared>
void write_sides(JsonWriter& json, const Sides& sides, const Compared& compared) {
  write_side(json.key("before"), sides.front());
  write_side(json.key("after"), sides.back());
  {
    const JsonObject change(json.key("change"));
    write_figures(json, [&](report::Figure figure) { return compared.change(figure); });
  }
  if (sides.size() <= 2) return;
  json.key("values").begin_array();
  for (const auto& side : sides) write_side(json, side);
  json.end_array();
}

void write_stack(JsonWriter& json, const JsonStacks& stacks, const report::ComparedStack& stack) {
  const JsonObject object(json);
  json.member("function", stack.function);
  json.member("variant", stack.variant);
  json.member("mapping", stack.mapping);
  json.member("state", report::name_of(stack.state));
  json.member("moved", stack.moved);
  if (stack.sides.size() > 2) json.member("growing", stack.growing);
  write_sides(json, stack.sides, stack);
  stacks.write(json, stack.frames);
  if (stack.moved) stacks.write_before(json, stack.frames_before);
}

void write_recording(JsonWriter& json, const report::Recording& recording) {
  const report::Report& report = recording.report;
  const JsonObject object(json);
  json.member("trace", report.trace_path);
  json.member("at_ns", recording.at_ns);
  write_target(json.key("target"), report.capture);
  write_capture(json.key("capture"), report);
  json.member("filter", or_null(report.filter));
  const report::Totals& totals = report.totals;
  json.member("peak_error_bytes", known(totals.peak_live_bytes.is_known(), totals.peak_error_bytes));
  json.member("scanned", recording.totals[report::Figure::kLeakedBytes].has_value());
  if (!report.ignored.rules.empty()) write_ignored(json.key("ignored"), report.ignored, report.totals);
}

void write_counts(JsonWriter& json, const report::Comparison& comparison) {
  const JsonObject object(json);
  json.member("all", comparison.stack_count);
  for (size_t state = 0; state < report::kStackStateCount; ++state)
    json.member(report::name_of(static_cast<report::StackState>(state)), comparison.states[state]);
  json.member("moved", comparison.moved_count);
  json.member("listed", comparison.stacks.size());
  json.member("unchanged", comparison.unchanged);
  json.member("below_floor", comparison.below_floor);
}

}  // namespace

void write_comparison_json(const report::Comparison& comparison, Version version, const report::Write& write) {
  JsonStacks stacks(comparison.frames, version);
  for (const report::ComparedStack& stack : comparison.stacks) {
    stacks.announce(stack.frames);
    if (stack.moved) stacks.announce(stack.frames_before);
  }
  stacks.all_announced();
  JsonDocument document("diff", version == Version::kLists ? 1 : static_cast<int>(version), write);
  document.list("recordings", comparison.recordings, write_recording);
  {
    JsonWriter& json = document.key("totals");
    const JsonObject totals(json);
    write_sides(json, comparison.recordings, comparison);
  }
  document.member("sort", report::facts_of(comparison.sort).word);
  write_counts(document.key("stack_count"), comparison);
  document.key("unmatched_modules").values(comparison.unmatched_modules);
  document.list("stacks", comparison.stacks,
                [&](JsonWriter& json, const report::ComparedStack& stack) { write_stack(json, stacks, stack); });
  document.tables(stacks);
}

}  // namespace heaptap::json
