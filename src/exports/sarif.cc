// SARIF 2.1.0 (OASIS): leaks and bad releases as results with their stacks. Fingerprints are of function names, so that they
// are the same in every run of a build.
#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "base/safe_text.h"
#include "exports/finding_writers.h"
#include "exports/findings.h"
#include "exports/frame_text.h"
#include "exports/source_place.h"
#include "report/json_values.h"
#include "report/telling_frame.h"

namespace heaptap::exports {
namespace {

using report::Json;

struct Rule {
  std::string_view id;
  const char* text;
  const char* level;
};
constexpr std::array kRules{Rule{"definitely-lost", "Nothing points to the block any more.", "error"},
                            Rule{"indirectly-lost", "Only lost blocks point to the block.", "error"},
                            Rule{"possibly-lost", "Only pointers into its inside lead to the block.", "warning"},
                            Rule{"double-free", "A block is freed that was freed already.", "error"},
                            Rule{"invalid-free", "An address is freed that is not the start of a block.", "error"},
                            Rule{"mismatched-free", "The freeing function doesn't fit the allocating one.", "error"}};

// One result, before it is JSON.
struct Finding {
  std::string_view rule;
  std::string message;
  struct Stack {
    std::string title;
    std::string called;
    const std::vector<report::FrameIndex>* frames;
  };
  std::vector<Stack> stacks;  // the first one has the place of the finding
};

class Writer {
 public:
  explicit Writer(const report::Report& report) : report_(report), root_(working_directory()) {}

  Json result(const Finding& finding) {
    size_t rule = 0;
    while (kRules.at(rule).id != finding.rule) ++rule;
    Json stacks = Json::array();
    Json flow = Json::array();
    for (const Finding::Stack& stack : finding.stacks) {
      stacks.push_back(stack_json(stack));
      // In the order of time: the finding's own stack comes last.
      flow.insert(flow.begin(), Json{{"location", location(stack, stack.title)}});
    }
    const Finding::Stack& first = finding.stacks.front();
    return {{"ruleId", finding.rule},
            {"ruleIndex", rule},
            {"level", kRules.at(rule).level},
            {"message", {{"text", finding.message}}},
            {"locations", Json::array({location(first, "")})},
            {"partialFingerprints", {{"heaptapStack/v1", fingerprint(finding)}}},
            {"stacks", std::move(stacks)},
            {"codeFlows", Json::array({{{"threadFlows", Json::array({{{"locations", std::move(flow)}}})}}})}};
  }

 private:
  // FNV-1a over the names; the same names again get the next number.
  std::string fingerprint(const Finding& finding) {
    uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&hash](std::string_view text) {
      for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
      hash *= 0x100000001b3;  // the end of a name
    };
    add(finding.rule);
    for (const Finding::Stack& stack : finding.stacks) {
      add(stack.called);
      for (const report::FrameIndex index : *stack.frames) add(name_of(report_.frames[index]));
    }
    return fmt::format("{:016x}:{}", hash, ++seen_[hash]);
  }

  Json physical(const model::Frame& frame) const {
    if (frame.file.empty()) return nullptr;
    Json artifact;
    if (const auto path = path_below(root_, frame.file)) {
      artifact = {{"uri", uri_of(*path)}, {"uriBaseId", "%SRCROOT%"}};
    } else {
      artifact = {{"uri", (frame.file.front() == '/' ? "file://" : "") + uri_of(frame.file)}};
    }
    Json place{{"artifactLocation", std::move(artifact)}};
    if (frame.line != 0) place["region"] = {{"startLine", frame.line}};
    return place;
  }

  Json frame_location(const model::Frame& frame) const {
    Json location{{"logicalLocations", Json::array({{{"fullyQualifiedName", name_of(frame)}, {"kind", "function"}}})}};
    if (Json place = physical(frame); !place.is_null()) location["physicalLocation"] = std::move(place);
    return location;
  }

  // Of the frame in the working tree, else of the one that tells most.
  Json location(const Finding::Stack& stack, const std::string& message) const {
    const report::FrameList frames = report_.list(*stack.frames);
    const auto own = place_below(root_, frames);
    const model::Frame* const frame = own ? own->frame : report::telling_frame(frames);
    Json location = frame == nullptr ? Json::object() : frame_location(*frame);
    if (!message.empty()) location["message"] = {{"text", message}};
    return location;
  }

  Json stack_json(const Finding::Stack& stack) const {
    Json frames = Json::array();
    for (const model::Frame& frame : report_.list(*stack.frames)) {
      Json entry{{"location", frame_location(frame)}};
      if (!frame.module.empty()) entry["module"] = module_of(frame);
      frames.push_back(std::move(entry));
    }
    return {{"message", {{"text", stack.title}}}, {"frames", std::move(frames)}};
  }

  // What RFC 3986 doesn't let stand in a path becomes %XX.
  static std::string uri_of(std::string_view path) {
    std::string uri;
    for (const char character : path) {
      const auto byte = static_cast<unsigned char>(character);
      const bool plain = (byte >= '0' && byte <= '9') || ((byte | 0x20U) >= 'a' && (byte | 0x20U) <= 'z') ||
                         std::string_view("-._~/+@").contains(character);
      uri += plain ? std::string(1, character) : fmt::format("%{:02X}", byte);
    }
    return uri;
  }

  const report::Report& report_;
  std::string root_;
  std::map<uint64_t, size_t> seen_;
};

Finding finding_of(const Leak& leak) {
  constexpr std::array<std::string_view, 3> kIds{"definitely-lost", "indirectly-lost", "possibly-lost"};
  return {.rule = kIds.at(static_cast<size_t>(leak.kind)),
          .message = sentence_of(leak) + ", by " + base::safe_text(leak.stack->function),
          .stacks = {{"allocated by " + leak.stack->function, leak.stack->function, &leak.stack->frames}}};
}

Finding finding_of(const report::ErrorEntry& error) {
  Finding finding{.rule = rule_of(error),
                  .message = sentence_of(error),
                  .stacks = {{"freed by " + error.function, error.function, &error.frames}}};
  if (error.released)
    finding.stacks.push_back(
        {"first freed by " + error.released->function, error.released->function, &error.released->frames});
  if (error.allocated)
    finding.stacks.push_back(
        {"allocated by " + error.allocated->function, error.allocated->function, &error.allocated->frames});
  return finding;
}

Json rules_json() {
  Json rules = Json::array();
  for (const Rule& rule : kRules) {
    rules.push_back({{"id", rule.id},
                     {"shortDescription", {{"text", rule.text}}},
                     {"defaultConfiguration", {{"level", rule.level}}}});
  }
  return rules;
}

// What isn't known of the run, so that no result isn't taken for none.
Json notifications_json(const report::Report& report) {
  Json list = Json::array();
  const auto add = [&list](const char* what, const std::string& doubt) {
    if (!doubt.empty())
      list.push_back({{"level", "error"}, {"message", {{"text", fmt::format("{}: {}", what, doubt)}}}});
  };
  add("not all leaks are known", doubt_about_leaks(report));
  add("not all bad releases are known", doubt_about_releases(report));
  if (report.errors_dropped != 0)
    add("not all bad releases are listed", fmt::format("{} are missing", report.errors_dropped));
  return list;
}

}  // namespace

base::Result<> write_sarif(const report::Report& report, const report::Write& write) {
  Json notifications = notifications_json(report);
  const Json tool{
      {"driver", {{"name", "heaptap"}, {"semanticVersion", report.capture.heaptap_version}, {"rules", rules_json()}}}};
  const Json invocation{{"commandLine", command_of(report.capture)},
                        {"executionSuccessful", notifications.empty()},
                        {"toolExecutionNotifications", notifications}};
  write("{\n\"$schema\": \"https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json\",\n");
  write("\"version\": \"2.1.0\",\n\"runs\": [{\n\"tool\": " + report::to_text(tool));
  write(",\n\"invocations\": [" + report::to_text(invocation) + "],\n\"results\": [");
  Writer writer(report);
  const char* separator = "\n";
  const auto add = [&](const Finding& finding) {
    write(separator + report::to_text(writer.result(finding)));
    separator = ",\n";
  };
  for (const report::ErrorEntry& error : report.errors) add(finding_of(error));
  for (const Leak& leak : leaks_of(report)) add(finding_of(leak));
  write("]\n}]\n}\n");
  return {};
}

}  // namespace heaptap::exports
