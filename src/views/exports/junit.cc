// JUnit XML for CI servers: a failed test case for each leaking stack and each bad release; a passed one if there are certainly none;
// an error if that is unknown.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/findings/function_name.h"
#include "analysis/findings/text_safe.h"
#include "analysis/report/view.h"
#include "views/exports/finding_writers.h"
#include "views/exports/findings.h"
#include "views/exports/frame_text.h"
#include "views/exports/xml_text.h"

namespace heaptap::exports {
namespace {

enum class Outcome : uint8_t { kPassed, kFailed, kError, kSkipped };

struct TestCase {
  std::string class_name;
  std::string name;
  Outcome outcome = Outcome::kPassed;
  std::string type;
  std::string message;
  std::string lines;  // the stacks
};

std::string stack_lines(const std::string& called, const report::FrameList& frames) {
  std::string text = "  by " + called + "\n";
  for (const model::Frame& frame : frames) {
    text += "  from " + name_of(frame);
    if (!frame.file.empty()) text += fmt::format(" at {}:{}", file_of(frame), frame.line);
    if (frame.file.empty() && !frame.module.empty()) text += " in " + module_of(frame);
    text += "\n";
  }
  return text;
}

// "malloc < make < main", short enough for a list of test cases.
std::string path_of(const std::string& called, const report::FrameList& frames) {
  constexpr size_t kMaxFrames = 4;
  constexpr size_t kMaxName = 80;
  std::string name = called;
  size_t count = 0;
  for (const model::Frame& frame : frames) {
    if (count++ == kMaxFrames) return name + " < ...";
    name += " < " + findings::short_name(name_of(frame), kMaxName);
  }
  return name;
}

TestCase case_of(const report::Report& report, const Leak& leak) {
  const report::FrameList frames = report.list(leak.stack->frames);
  return {
      .class_name = "heaptap.leaks",
      .name = fmt::format("{}: {} (#{})", words_of(leak.kind), path_of(leak.stack->function, frames), leak.stack->id),
      .outcome = leak.kind == LeakKind::kPossible ? Outcome::kSkipped : Outcome::kFailed,
      .type = std::string(words_of(leak.kind)),
      .message = sentence_of(leak),
      .lines = stack_lines(leak.stack->function, frames)};
}

TestCase case_of(const report::Report& report, const report::ErrorEntry& error, size_t number) {
  const report::FrameList frames = report.list(error.frames);
  std::string lines = stack_lines(error.function, frames);
  if (error.allocated)
    lines += "allocated\n" + stack_lines(error.allocated->function, report.list(error.allocated->frames));
  if (error.released)
    lines += "first released\n" + stack_lines(error.released->function, report.list(error.released->frames));
  return {.class_name = "heaptap.releases",
          .name = fmt::format("{}: {} ({})", rule_of(error), path_of(error.function, frames), number),
          .outcome = Outcome::kFailed,
          .type = std::string(rule_of(error)),
          .message = sentence_of(error),
          .lines = std::move(lines)};
}

// Test case of a class of findings without a finding, or with possibly missed ones.
void add_verdict(std::vector<TestCase>& cases, const char* class_name, const char* name, bool any,
                 const std::string& doubt) {
  if (!doubt.empty())
    cases.push_back({class_name, name, Outcome::kError, "unknown", "not known: " + doubt, ""});
  else if (!any)
    cases.push_back({class_name, name, Outcome::kPassed, "", "", ""});
}

std::vector<TestCase> cases_of(const report::Report& report) {
  std::vector<TestCase> cases;
  const std::vector<Leak> leaks = leaks_of(report);
  bool any_lost = false;
  for (const Leak& leak : leaks) {
    cases.push_back(case_of(report, leak));
    any_lost = any_lost || leak.kind != LeakKind::kPossible;
  }
  add_verdict(cases, "heaptap.leaks", "no leaks", any_lost, doubt_about_leaks(report));
  for (size_t number = 0; number < report.errors.size(); ++number)
    cases.push_back(case_of(report, report.errors[number], number + 1));
  if (report.errors_dropped != 0) {
    cases.push_back({"heaptap.releases", "others", Outcome::kFailed, "bad-free",
                     fmt::format("{} more bad releases", report.errors_dropped), ""});
  }
  add_verdict(cases, "heaptap.releases", "no bad releases", !report.errors.empty() || report.errors_dropped != 0,
              doubt_about_releases(report));
  return cases;
}

std::string case_xml(const TestCase& test) {
  const std::string begin =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\"", test.class_name, xml_text(test.name));
  if (test.outcome == Outcome::kPassed) return begin + "/>\n";
  const char* const element = test.outcome == Outcome::kFailed  ? "failure"
                              : test.outcome == Outcome::kError ? "error"
                                                                : "skipped";
  return fmt::format("{}>\n      <{} type=\"{}\" message=\"{}\">{}</{}>\n    </testcase>\n", begin, element,
                     xml_text(test.type), xml_text(test.message), xml_lines(test.lines), element);
}

std::string counts_of(const std::vector<TestCase>& cases) {
  const auto count = [&](Outcome outcome) { return std::ranges::count(cases, outcome, &TestCase::outcome); };
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", cases.size(), count(Outcome::kFailed),
                     count(Outcome::kError), count(Outcome::kSkipped));
}

}  // namespace

base::Result<> write_junit(const report::Report& report, const report::Write& write) {
  const std::vector<TestCase> cases = cases_of(report);
  const std::string counts = counts_of(cases);
  const double seconds = static_cast<double>(report.capture.duration_ns) / 1e9;
  write("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  write(fmt::format("<testsuites name=\"heaptap\" {} time=\"{:.3f}\">\n", counts, seconds));
  write(fmt::format("  <testsuite name=\"{}\" {} time=\"{:.3f}\">\n", xml_text(report.trace_path), counts, seconds));
  write(fmt::format("    <properties>\n      <property name=\"command\" value=\"{}\"/>\n    </properties>\n",
                    xml_text(command_of(report.capture))));
  for (const TestCase& test : cases) write(case_xml(test));
  write("  </testsuite>\n</testsuites>\n");
  return {};
}

}  // namespace heaptap::exports
