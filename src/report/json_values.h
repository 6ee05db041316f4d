// The pieces that the JSON views are made of.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "report/render.h"
#include "report/report.h"

namespace heaptap::report {

using Json = nlohmann::ordered_json;

// One line of JSON; what isn't UTF-8 becomes the replacement character.
std::string to_text(const Json& value);

// The value, or null where it isn't known.
inline Json known(bool is_known, const Json& value) { return is_known ? value : Json(nullptr); }

Json json_of(const model::Frame& frame);
// One line of JSON; its frames are indices.
std::string text_of(const StackEntry& stack);
Json json_of(const LabelEntry& label);
Json json_of(const ErrorEntry& error);
Json json_of(const Totals& totals);
Json json_of(const ProcessEntry& process);
// What all of them did together.
Json sum_json(const std::vector<ProcessEntry>& processes);
Json json_of(const Leaks& leaks);
Json json_of(const Ignored& ignored, const Totals& totals);
Json count_json(const BlockCount& count);
Json scan_json(const ScanFacts& scan);
Json target_json(const model::Capture& capture);
Json capture_json(const Report& report);
// What could not be seen, of the capture and of the scan whose leaks the report has.
Json notes_json(const Report& report);

// A JSON object, written member by member and entry by entry, so that a long list is never in memory as a whole. An entry of a
// list is one line.
class JsonDocument {
 public:
  // Begins with what all views have. All references outlive the document.
  JsonDocument(const char* view, const Report& report, const Write& write);
  // Of another format: with its name and version alone.
  JsonDocument(const char* format, int version, const Write& write);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument();  // ends it

  void member(const char* name, const Json& value);
  template <typename Entries, typename ToJson>
  void list(const char* name, const Entries& entries, ToJson to_json) {
    begin_list(name);
    for (const auto& entry : entries) add(to_text(to_json(entry)));
    end_list();
  }
  // An entry as text.
  void begin_list(const char* name);
  void add(std::string_view entry);
  void end_list();
  // The table that the frames of stacks, errors and the like are indices into; where there are some.
  void frames(const Report& report);

 private:
  void begin(const char* name);
  void flush();

  const Write& write_;
  std::string text_ = "{";
  bool list_is_empty_ = true;
};

// The views of a leak scan, one each.
void json_holders(const Report& report, const Write& write);
void json_retained(const Report& report, const Write& write);
void json_globals(const Report& report, const Write& write);
void json_scans(const Report& report, const Write& write);
void json_scan_changes(const Report& report, const Write& write);

}  // namespace heaptap::report
