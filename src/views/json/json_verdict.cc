#include "views/json/json_verdict.h"

#include <algorithm>

#include "analysis/findings/growth_verdict.h"
#include "analysis/report/comparison.h"
#include "views/json/json_values.h"

namespace heaptap::json {

namespace {

void write_growth(JsonWriter& json, const findings::GrowthEntry& entry, Version version) {
  const JsonStacks stacks(entry.frames, version, entry.stacks);
  const report::Figure figure = findings::figure_of(entry.limit.kind);
  const JsonObject object(json);
  json.member("limit", report::name_of(entry.limit.kind));
  json.member("each_stack", entry.limit.each_stack);
  json.member("before", entry.before);
  json.member("after", entry.after);
  json.member("growth", known(entry.certainty != report::Certainty::kNone, entry.growth));
  json.member("certainty", report::name_of(entry.certainty));
  json.member("most", known(!entry.limit.percent || entry.before, entry.most));
  json.member("most_percent", entry.limit.percent);
  json.member("broken", entry.broken());
  json.member("judged", !entry.unknown());
  json.key("stacks").begin_array();
  for (const report::ComparedStack& stack : entry.stacks) {
    const JsonObject stack_object(json);
    json.member("function", stack.function);
    json.member("variant", stack.variant);
    json.member("state", report::name_of(stack.state));
    json.member("moved", stack.moved);
    json.member("before", stack.sides.front().figures[figure]);
    json.member("after", stack.sides.back().figures[figure]);
    stacks.write(json, stack.frames);
  }
  json.end_array();
  write_tables(json, stacks);
}

void write_limit(JsonWriter& json, const findings::LimitEntry& limit, Version version) {
  const JsonStacks stacks(limit.frames, version, limit.stacks);
  const JsonObject object(json);
  json.member("limit", report::name_of(limit.kind));
  json.member("figure", limit.figure.if_known());
  json.member("certainty", report::name_of(limit.certainty));
  json.member("most", limit.limit);
  json.member("broken", limit.broken());
  json.member("judged", !limit.unknown());
  json.key("stacks").begin_array();
  for (const report::StackEntry& stack : limit.stacks) write_stack(json, stacks, stack);
  json.end_array();
  write_tables(json, stacks);
}

void write_verdict(JsonWriter& json, const findings::Verdict& verdict, Version version) {
  const JsonObject object(json);
  json.member("format", "heaptap-check");
  json.member("version", static_cast<int>(version));
  json.member("trace", verdict.trace_path);
  json.member("passed", verdict.passed());
  json.member("possible_counts", verdict.possible_counts);
  json.key("limits").begin_array();
  for (const findings::LimitEntry& limit : verdict.limits) write_limit(json, limit, version);
  json.end_array();
  json.key("remarks").values(verdict.remarks);
  if (verdict.baseline_path.empty()) return;
  json.member("baseline", verdict.baseline_path);
  json.key("growth").begin_array();
  for (const findings::GrowthEntry& entry : verdict.growth) write_growth(json, entry, version);
  json.end_array();
}

}  // namespace

std::string render_verdict_json(const findings::Verdict& verdict, Version version) {
  std::string text;
  JsonWriter json(text);
  write_verdict(json, verdict, version);
  return text += '\n';
}

std::string render_verdicts_json(const std::vector<findings::Verdict>& verdicts,
                                 const std::vector<findings::FailedTrace>& failures, Version version) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("format", "heaptap-checks");
  json.member("version", static_cast<int>(version));
  json.member("passed", failures.empty() && std::ranges::all_of(verdicts, &findings::Verdict::passed));
  json.key("traces").begin_array();
  for (const findings::Verdict& verdict : verdicts) write_verdict(json, verdict, version);
  json.end_array();
  json.key("failed").begin_array();
  for (const findings::FailedTrace& failure : failures) {
    const JsonObject object(json);
    json.member("trace", failure.trace_path);
    json.member("reason", failure.reason);
  }
  json.end_array();
  json.end_object();
  return text += '\n';
}

}  // namespace heaptap::json
