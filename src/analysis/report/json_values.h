// Common parts of the JSON views.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/json_pieces.h"
#include "analysis/report/json_writer.h"
#include "analysis/report/render.h"
#include "analysis/report/report.h"

namespace heaptap::report {

// The value, or null if unknown.
template <typename Value>
std::optional<Value> known(bool is_known, const Value& value) {
  return is_known ? std::optional(value) : std::nullopt;
}
inline std::optional<std::string_view> or_null(std::string_view text) { return known(!text.empty(), text); }
inline std::optional<report::JsonHex> address_or_null(uint64_t address) {
  return known(address != 0, report::JsonHex{address});
}

// One value each. Frames of a stack and of an error are indexes.
void write_json(report::JsonWriter& json, const model::Frame& frame);
void write_json(report::JsonWriter& json, const StackEntry& stack);
void write_json(report::JsonWriter& json, const LabelEntry& label);
void write_json(report::JsonWriter& json, const ErrorEntry& error);
void write_json(report::JsonWriter& json, const Totals& totals);
void write_json(report::JsonWriter& json, const ProcessEntry& process);
void write_json(report::JsonWriter& json, const Leaks& leaks);
void write_json(report::JsonWriter& json, const BlockCount& count);
void write_json(report::JsonWriter& json, const ScanFacts& scan);
void write_ignored(report::JsonWriter& json, const Ignored& ignored, const Totals& totals);
// Sums over all processes.
void write_sum(report::JsonWriter& json, const std::vector<ProcessEntry>& processes);
void write_target(report::JsonWriter& json, const model::Capture& capture);
void write_capture(report::JsonWriter& json, const Report& report);
void write_frames(report::JsonWriter& json, const std::vector<model::Frame>& frames);

// Members of an object that has others too.
void write_members(report::JsonWriter& json, const ScanFacts& scan);
// Entries of a list that may have others too: notes of the capture, and of the scan behind the report's leaks.
void write_notes(report::JsonWriter& json, const Report& report);

// JSON object written in pieces. A member is one line, and so is each entry of a list.
class JsonDocument {
 public:
  // Starts with the members that all views share. All references must outlive the document.
  JsonDocument(const char* view, const Report& report, const Write& write);
  // Document of another format: only its name and version.
  JsonDocument(const char* format, int version, const Write& write);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;
  ~JsonDocument();  // writes the end

  // Starts a member: the next value written is its value.
  report::JsonWriter& key(const char* name);
  template <typename Value>
  void member(const char* name, const Value& value) {
    key(name).value(value);
  }
  template <typename Entries, typename WriteEntry>
  void list(const char* name, const Entries& entries, WriteEntry write_entry) {
    report::JsonWriter& json = key(name);
    json.begin_array(report::JsonLayout::kLinePerEntry);
    for (const auto& entry : entries) {
      write_entry(json, entry);
      pieces_.flush();
    }
    json.end_array();
  }
  template <typename Entries>
  void list(const char* name, const Entries& entries) {
    list(name, entries, [](report::JsonWriter& json, const auto& entry) { write_json(json, entry); });
  }

 private:
  JsonPieces pieces_;
};

// Leak scan views, one each.
void json_holders(const Report& report, const Write& write);
void json_retained(const Report& report, const Write& write);
void json_globals(const Report& report, const Write& write);
void json_scans(const Report& report, const Write& write);
void json_scan_changes(const Report& report, const Write& write);

}  // namespace heaptap::report
