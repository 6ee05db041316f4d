// SARIF 2.1.0 (OASIS): leaks and bad releases as results with their stacks. Fingerprints are made from function names, so they are
// the same in every run of a build.
#include <fmt/format.h>

#include <array>
#include <map>
#include <string>

#include "analysis/findings/telling_frame.h"
#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "views/exports/finding_writers.h"
#include "views/exports/findings.h"
#include "views/exports/frame_text.h"
#include "views/exports/source_place.h"
#include "views/json/json_writer.h"

namespace heaptap::exports {
namespace {

using json::JsonObject;
using json::JsonWriter;

struct Rule {
  std::string_view id;
  const char* text;
  const char* level;
};
constexpr std::array kRules{Rule{"definitely-lost", "Nothing points to the block any more.", "error"},
                            Rule{"indirectly-lost", "Only lost blocks point to the block.", "error"},
                            Rule{"possibly-lost", "Only pointers into its inside lead to the block.", "warning"},
                            Rule{"double-free", "A block is freed twice.", "error"},
                            Rule{"invalid-free", "The freed address is not the start of a block.", "error"},
                            Rule{"mismatched-free", "The freeing function doesn't match the allocating one.", "error"}};

// One result, before JSON encoding.
struct Finding {
  std::string_view rule;
  std::string message;
  struct Stack {
    std::string title;
    std::string called;
    report::FrameList frames;
  };
  std::vector<Stack> stacks;  // the first one has the place of the finding
};

void write_text(JsonWriter& json, std::string_view text) {
  const JsonObject object(json);
  json.member("text", text);
}

class Writer {
 public:
  explicit Writer(const report::Report& report) : report_(report), root_(working_directory()) {}

  void write_result(JsonWriter& json, const Finding& finding) {
    size_t rule = 0;
    while (kRules.at(rule).id != finding.rule) ++rule;
    const JsonObject result(json);
    json.member("ruleId", finding.rule);
    json.member("ruleIndex", rule);
    json.member("level", kRules.at(rule).level);
    write_text(json.key("message"), finding.message);
    json.key("locations").begin_array();
    write_location(json, finding.stacks.front(), "");
    json.end_array();
    {
      const JsonObject fingerprints(json.key("partialFingerprints"));
      json.member("heaptapStack/v1", fingerprint(finding));
    }
    json.key("stacks").begin_array();
    for (const Finding::Stack& stack : finding.stacks) write_stack(json, stack);
    json.end_array();
    write_flow(json.key("codeFlows"), finding);
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
      for (const model::Frame& frame : stack.frames) add(name_of(frame));
    }
    return fmt::format("{:016x}:{}", hash, ++seen_[hash]);
  }

  void write_place(JsonWriter& json, const model::Frame& frame) const {
    const JsonObject place(json);
    {
      const JsonObject artifact(json.key("artifactLocation"));
      if (const auto path = path_below(root_, frame.file)) {
        json.member("uri", uri_of(*path));
        json.member("uriBaseId", "%SRCROOT%");
      } else {
        json.member("uri", (frame.file.front() == '/' ? "file://" : "") + uri_of(frame.file));
      }
    }
    if (frame.line == 0) return;
    const JsonObject region(json.key("region"));
    json.member("startLine", frame.line);
  }

  // The members of a location.
  void write_frame(JsonWriter& json, const model::Frame& frame) const {
    json.key("logicalLocations").begin_array();
    {
      const JsonObject location(json);
      json.member("fullyQualifiedName", name_of(frame));
      json.member("kind", "function");
    }
    json.end_array();
    if (!frame.file.empty()) write_place(json.key("physicalLocation"), frame);
  }

  // By the frame in the working tree, else by the most informative one.
  void write_location(JsonWriter& json, const Finding::Stack& stack, const std::string& message) const {
    const report::FrameList& frames = stack.frames;
    const auto own = place_below(root_, frames);
    const model::Frame* const frame = own ? own->frame : findings::telling_frame(frames);
    const JsonObject location(json);
    if (frame != nullptr) write_frame(json, *frame);
    if (!message.empty()) write_text(json.key("message"), message);
  }

  void write_stack(JsonWriter& json, const Finding::Stack& stack) const {
    const JsonObject object(json);
    write_text(json.key("message"), stack.title);
    json.key("frames").begin_array();
    for (const model::Frame& frame : stack.frames) {
      const JsonObject entry(json);
      {
        const JsonObject location(json.key("location"));
        write_frame(json, frame);
      }
      if (!frame.module.empty()) json.member("module", module_of(frame));
    }
    json.end_array();
  }

  // One flow of one thread, in the order of time: the finding's own stack comes last.
  void write_flow(JsonWriter& json, const Finding& finding) const {
    json.begin_array();
    json.begin_object();
    json.key("threadFlows").begin_array();
    json.begin_object();
    json.key("locations").begin_array();
    for (auto stack = finding.stacks.rbegin(); stack != finding.stacks.rend(); ++stack) {
      const JsonObject entry(json);
      write_location(json.key("location"), *stack, stack->title);
    }
    json.end_array();
    json.end_object();
    json.end_array();
    json.end_object();
    json.end_array();
  }

  // Characters that RFC 3986 forbids in a path become %XX.
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

Finding finding_of(const report::Report& report, const Leak& leak) {
  constexpr std::array<std::string_view, 3> kIds{"definitely-lost", "indirectly-lost", "possibly-lost"};
  return {.rule = kIds.at(static_cast<size_t>(leak.kind)),
          .message = sentence_of(leak) + ", by " + base::safe_text(leak.stack->function),
          .stacks = {{"allocated by " + leak.stack->function, leak.stack->function, report.list(leak.stack->frames)}}};
}

Finding finding_of(const report::Report& report, const report::ErrorEntry& error) {
  Finding finding{.rule = rule_of(error),
                  .message = sentence_of(error),
                  .stacks = {{"freed by " + error.function, error.function, report.list(error.frames)}}};
  if (error.released)
    finding.stacks.push_back(
        {"first freed by " + error.released->function, error.released->function, report.list(error.released->frames)});
  if (error.allocated)
    finding.stacks.push_back(
        {"allocated by " + error.allocated->function, error.allocated->function, report.list(error.allocated->frames)});
  return finding;
}

void write_tool(JsonWriter& json, const report::Report& report) {
  const JsonObject tool(json);
  const JsonObject driver(json.key("driver"));
  json.member("name", "heaptap");
  json.member("semanticVersion", report.capture.heaptap_version);
  json.key("rules").begin_array();
  for (const Rule& rule : kRules) {
    const JsonObject entry(json);
    json.member("id", rule.id);
    write_text(json.key("shortDescription"), rule.text);
    const JsonObject configuration(json.key("defaultConfiguration"));
    json.member("level", rule.level);
  }
  json.end_array();
}

// Unknown parts of the run, so that a missing result isn't read as no result.
std::vector<std::string> doubts_about(const report::Report& report) {
  std::vector<std::string> doubts;
  const auto add = [&doubts](const char* what, const std::string& doubt) {
    if (!doubt.empty()) doubts.push_back(fmt::format("{}: {}", what, doubt));
  };
  add("not all leaks are known", doubt_about_leaks(report));
  add("not all bad releases are known", doubt_about_releases(report));
  if (report.errors_dropped != 0)
    add("not all bad releases are listed", fmt::format("{} are missing", report.errors_dropped));
  return doubts;
}

void write_invocation(JsonWriter& json, const report::Report& report) {
  const std::vector<std::string> doubts = doubts_about(report);
  const JsonObject invocation(json);
  json.member("commandLine", command_of(report.capture));
  json.member("executionSuccessful", doubts.empty());
  json.key("toolExecutionNotifications").begin_array();
  for (const std::string& doubt : doubts) {
    const JsonObject notification(json);
    json.member("level", "error");
    write_text(json.key("message"), doubt);
  }
  json.end_array();
}

}  // namespace

base::Result<> write_sarif(const report::Report& report, const report::Write& write) {
  const auto write_value = [&write](const auto& write_it) {
    std::string text;
    JsonWriter json(text);
    write_it(json);
    write(text);
  };
  write("{\n\"$schema\": \"https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json\",\n");
  write("\"version\": \"2.1.0\",\n\"runs\": [{\n\"tool\": ");
  write_value([&](JsonWriter& json) { write_tool(json, report); });
  write(",\n\"invocations\": [");
  write_value([&](JsonWriter& json) { write_invocation(json, report); });
  write("],\n\"results\": [");
  Writer writer(report);
  const char* separator = "\n";
  const auto add = [&](const Finding& finding) {
    write(separator);
    write_value([&](JsonWriter& json) { writer.write_result(json, finding); });
    separator = ",\n";
  };
  for (const report::ErrorEntry& error : report.errors) add(finding_of(report, error));
  for (const Leak& leak : leaks_of(report)) add(finding_of(report, leak));
  write("]\n}]\n}\n");
  return {};
}

}  // namespace heaptap::exports
