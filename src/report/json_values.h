// The pieces that the JSON views are made of.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "report/report.h"

namespace heaptap::report {

using Json = nlohmann::ordered_json;

// One line of JSON; what isn't UTF-8 becomes the replacement character.
std::string to_text(const Json& value);

// The value, or null where it isn't known.
inline Json known(bool is_known, const Json& value) { return is_known ? value : Json(nullptr); }

Json json_of(const model::Frame& frame);
Json json_of(const std::vector<model::Frame>& frames);
Json json_of(const StackEntry& stack);
Json json_of(const ErrorEntry& error);
Json json_of(const Totals& totals);
Json json_of(const ProcessEntry& process);
// What all of them did together.
Json sum_json(const std::vector<ProcessEntry>& processes);
Json json_of(const Leaks& leaks);
Json count_json(const BlockCount& count);
Json scan_json(const ScanFacts& scan);
Json target_json(const model::Capture& capture);
Json capture_json(const Report& report);

// A JSON object, written member by member, so that a long list is never in memory as a tree of values. An entry of a list is
// one line.
class JsonDocument {
 public:
  JsonDocument(const char* view, const Report& report);

  void member(const char* name, const Json& value);
  template <typename Entries, typename ToJson>
  void list(const char* name, const Entries& entries, ToJson to_json) {
    begin(name);
    text_ += "[";
    const char* separator = "\n  ";
    for (const auto& entry : entries) {
      text_ += separator;
      text_ += to_text(to_json(entry));
      separator = ",\n  ";
    }
    text_ += entries.empty() ? "]" : "\n ]";
  }
  std::string finish() { return std::move(text_) + "\n}\n"; }

 private:
  void begin(const char* name);
  std::string text_ = "{";
};

// The views of a leak scan, one each.
std::string json_holders(const Report& report);
std::string json_retained(const Report& report);
std::string json_globals(const Report& report);
std::string json_scans(const Report& report);
std::string json_scan_changes(const Report& report);

}  // namespace heaptap::report
