// Common parts of the JSON views.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/view.h"
#include "views/json/json_pieces.h"
#include "views/json/json_stacks.h"
#include "views/json/json_version.h"
#include "views/json/json_writer.h"

namespace heaptap::json {

// The value, or null if unknown.
template <typename Value>
std::optional<Value> known(bool is_known, const Value& value) {
  return is_known ? std::optional(value) : std::nullopt;
}
inline std::optional<std::string_view> or_null(std::string_view text) { return known(!text.empty(), text); }
inline std::optional<JsonHex> address_or_null(uint64_t address) { return known(address != 0, JsonHex{address}); }

// One value each. `stacks` has the call stacks of stacks and errors.
void write_json(JsonWriter& json, const model::Frame& frame);
void write_stack(JsonWriter& json, const JsonStacks& stacks, const report::StackEntry& stack);
void write_label(JsonWriter& json, const report::LabelEntry& label, Version version);
void write_error(JsonWriter& json, JsonStacks& stacks, const report::ErrorEntry& error);
void write_json(JsonWriter& json, const report::Totals& totals);
void write_json(JsonWriter& json, const report::ProcessEntry& process);
void write_json(JsonWriter& json, const report::Leaks& leaks);
void write_json(JsonWriter& json, const report::BlockCount& count);
void write_json(JsonWriter& json, const report::ScanFacts& scan);
void write_ignored(JsonWriter& json, const report::Ignored& ignored, const report::Totals& totals);
// Sums over all processes.
void write_sum(JsonWriter& json, const std::vector<report::ProcessEntry>& processes);
void write_target(JsonWriter& json, const model::Capture& capture);
void write_capture(JsonWriter& json, const report::Report& report);

// Members of an object that has others too.
// The tables that its call stacks refer to.
void write_tables(JsonWriter& json, const JsonStacks& stacks);
void write_members(JsonWriter& json, const report::ScanFacts& scan);
// Entries of a list that may have others too: notes of the capture, and of the scan behind the report's leaks.
void write_notes(JsonWriter& json, const report::Report& report);

// JSON object written in pieces. A member is one line, and so is each entry of a list.
class JsonDocument {
 public:
  // Starts with the members that all views share. All references must outlive the document.
  JsonDocument(const char* view, const report::Report& report, Version version, const report::Write& write);
  // Document of another format: only its name and version.
  JsonDocument(const char* format, int version, const report::Write& write);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument();  // writes the end

  // Starts a member: the next value written is its value.
  JsonWriter& key(const char* name);
  template <typename Value>
  void member(const char* name, const Value& value) {
    key(name).value(value);
  }
  template <typename Entries, typename WriteEntry>
  void list(const char* name, const Entries& entries, WriteEntry write_entry) {
    JsonWriter& json = key(name);
    json.begin_array(JsonLayout::kLinePerEntry);
    for (const auto& entry : entries) {
      write_entry(json, entry);
      pieces_.flush();
    }
    json.end_array();
  }
  template <typename Entries>
  void list(const char* name, const Entries& entries) {
    list(name, entries, [](JsonWriter& json, const auto& entry) { write_json(json, entry); });
  }
  // The tables that its call stacks refer to, as its last members.
  void tables(const JsonStacks& stacks);

 private:
  JsonPieces pieces_;
};

// Leak scan views, one each.
void json_holders(const report::Report& report, Version version, const report::Write& write);
void json_retained(const report::Report& report, Version version, const report::Write& write);
void json_globals(const report::Report& report, Version version, const report::Write& write);
void json_scans(const report::Report& report, Version version, const report::Write& write);
void json_scan_changes(const report::Report& report, Version version, const report::Write& write);
void json_fragmentation(const report::Report& report, Version version, const report::Write& write);

}  // namespace heaptap::json
