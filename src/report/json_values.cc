#include "report/json_values.h"

#include <fmt/format.h>

#include "report/note_text.h"
#include "report/process_sums.h"
#include "report/words.h"

namespace heaptap::report {

Json count_json(const BlockCount& count) { return {{"blocks", count.blocks}, {"bytes", count.bytes}}; }

namespace {

Json unknown_count() { return {{"blocks", nullptr}, {"bytes", nullptr}}; }

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json origin_json(const ErrorEntry::Origin& origin) {
  return {{"function", origin.function},
          {"variant", origin.variant},
          {"size", origin.size_bytes},
          {"frames", json_of(origin.frames)}};
}

Json leaks_json(const std::optional<StackLeaks>& leaks) {
  return {{"definite", leaks ? count_json(leaks->definite) : unknown_count()},
          {"indirect", leaks ? count_json(leaks->indirect) : unknown_count()},
          {"possible", leaks ? count_json(leaks->possible) : unknown_count()},
          {"reachable", leaks ? count_json(leaks->reachable) : unknown_count()},
          {"suppressed", leaks ? count_json(leaks->suppressed) : unknown_count()},
          {"unknown", leaks ? count_json(leaks->unknown) : unknown_count()},
          {"behind_headers", leaks ? count_json(leaks->behind_headers) : unknown_count()},
          {"below", leaks ? count_json(leaks->below) : unknown_count()}};
}

Json suppressions_json(const std::vector<SuppressionEntry>& suppressions) {
  Json list = Json::array();
  for (const SuppressionEntry& entry : suppressions) {
    list.push_back({{"place", entry.place}, {"text", entry.text}, {"hidden", count_json(entry.hidden)}});
  }
  return list;
}

}  // namespace

Json scan_json(const ScanFacts& scan) {
  return {{"number", scan.number},
          {"at_end", scan.at_end},
          {"time_ns", scan.time_ns},
          {"stopped_ns", scan.stopped_ns},
          {"total_ns", scan.total_ns},
          {"read_bytes", scan.read_bytes},
          {"skipped_bytes", scan.skipped_bytes},
          {"threads", scan.threads},
          {"blocks", scan.blocks},
          {"pointers", scan.pointers},
          {"stored_bytes", scan.stored_bytes},
          {"notes", sentences_of(scan.notes)}};
}

std::string to_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const model::Frame& frame) {
  return {{"function", or_null(frame.function)},
          {"module", or_null(frame.module)},
          {"offset", frame.module.empty() ? Json(nullptr) : Json(hex(frame.offset))},
          {"address", hex(frame.address)},
          {"file", or_null(frame.file)},
          {"line", frame.file.empty() || frame.line == 0 ? Json(nullptr) : Json(frame.line)},
          {"inlined", frame.inlined}};
}

Json json_of(const std::vector<model::Frame>& frames) {
  Json list = Json::array();
  for (const model::Frame& frame : frames) {
    list.push_back(json_of(frame));
  }
  return list;
}

Json json_of(const StackEntry& stack) {
  return {{"id", stack.id},
          {"function", stack.function},
          {"variant", stack.variant},
          {"allocations", known(stack.calls_known, stack.allocations)},
          {"frees", known(stack.live_known && stack.calls_known, stack.releases)},
          {"allocated_bytes", known(stack.calls_known, stack.allocated_bytes)},
          {"live_blocks", known(stack.live_known, stack.live_blocks)},
          {"live_bytes", known(stack.live_known, stack.live_bytes)},
          {"peak_bytes", known(stack.times_known, stack.peak_bytes)},
          {"temporary_allocations", known(stack.temporary_known, stack.temporary_allocations)},
          {"mismatched_frees", known(stack.calls_known, stack.mismatched_releases)},
          {"lifetime_ns", known(stack.times_known, stack.lifetime_ns)},
          {"threads", known(stack.threads_known, stack.threads)},
          {"leaks", leaks_json(stack.leaks)},
          {"frames", json_of(stack.frames)},
          {"ends_early", or_null(ending_of(stack))},
          {"purpose", or_null(words_of(stack.purpose))}};
}

Json json_of(const ErrorEntry& error) {
  Json released = nullptr;
  if (error.released) {
    released = origin_json(*error.released);
    released.erase("size");
  }
  return {{"kind", error.kind},
          {"function", error.function},
          {"variant", error.variant},
          {"address", error.address == 0 ? Json(nullptr) : Json(hex(error.address))},
          {"count", error.count},
          {"frames", json_of(error.frames)},
          {"allocated", error.allocated ? origin_json(*error.allocated) : Json(nullptr)},
          {"released", released}};
}

Json json_of(const Totals& totals) {
  return {{"allocations", known(totals.calls_known, totals.allocations)},
          {"frees", known(totals.live_known && totals.calls_known, totals.releases)},
          {"allocated_bytes", known(totals.calls_known, totals.allocated_bytes)},
          {"temporary_allocations", known(totals.temporary_known, totals.temporary_allocations)},
          {"live_blocks", known(totals.live_known, totals.live_blocks)},
          {"live_bytes", known(totals.live_known, totals.live_bytes)},
          {"peak_live_bytes", known(totals.peak_known, totals.peak_live_bytes)},
          {"peak_live_blocks", known(totals.peak_known, totals.peak_live_blocks)},
          {"peak_time_ns", known(totals.peak_time_known, totals.peak_time_ns)},
          {"mapped_live_bytes", known(totals.calls_known, totals.mapped_live_bytes)},
          {"peak_mapped_bytes", known(totals.calls_known, totals.peak_mapped_bytes)},
          {"bad_frees", known(totals.bad_frees_known, totals.bad_releases)},
          {"double_frees", known(totals.bad_frees_known, totals.double_releases)},
          {"mismatched_frees", known(totals.calls_known, totals.mismatched_releases)},
          {"unknown_frees", known(totals.calls_known, totals.unknown_releases)},
          {"unseen_frees", known(totals.calls_known, totals.unseen_releases)}};
}

Json json_of(const Leaks& leaks) {
  const auto count = [&](const BlockCount& value) { return leaks.scanned ? count_json(value) : unknown_count(); };
  return {{"scanned", leaks.scanned},
          {"definite", count(leaks.definite)},
          {"indirect", count(leaks.indirect)},
          {"possible", count(leaks.possible)},
          {"reachable", count(leaks.reachable)},
          {"suppressed", count(leaks.suppressed)},
          {"unknown", count(leaks.unknown)},
          {"behind_headers", count(leaks.behind_headers)},
          {"scan", leaks.scanned ? scan_json(leaks.scan) : Json(nullptr)},
          {"scan_count", leaks.scan_count},
          {"suppressions", suppressions_json(leaks.suppressions)},
          {"unused_suppressions", leaks.unused_suppressions},
          {"broad_suppressions", leaks.broad_suppressions}};
}

Json target_json(const model::Capture& capture) {
  Json exit = nullptr;
  if (capture.exit.code) {
    exit = {{"code", *capture.exit.code}};
  } else if (capture.exit.signal) {
    exit = {{"signal", *capture.exit.signal}};
  }
  return {{"command", capture.command},
          {"executable", or_null(capture.executable)},
          {"pid", capture.pid},
          {"parent_pid", capture.parent_pid},
          {"host", or_null(capture.host_name)},
          {"arch", capture.architecture},
          {"exit", exit}};
}

Json json_of(const ProcessEntry& process) {
  const bool is_read = process.failure.empty();
  return {{"target", target_json(process.capture)},
          {"executed", process.capture.executed},
          {"trace", process.trace_path},
          {"failure", or_null(process.failure)},
          {"lost_events", known(is_read, process.capture.lost_events)},
          {"truncated", process.capture.truncated},
          {"totals", is_read ? json_of(process.totals) : Json(nullptr)},
          {"leaks", is_read ? json_of(process.leaks) : Json(nullptr)}};
}

Json sum_json(const std::vector<ProcessEntry>& processes) {
  const ProcessSums sums = sum_of(processes);
  return {{"count", processes.size()},
          {"failed", sums.failed},
          {"unscanned", sums.unscanned},
          {"allocations", sums.allocations},
          {"allocated_bytes", sums.allocated_bytes},
          {"definite", count_json(sums.definite)},
          {"indirect", count_json(sums.indirect)},
          {"possible", count_json(sums.possible)},
          {"bad_frees", sums.bad_releases},
          {"double_frees", sums.double_releases},
          {"mismatched_frees", sums.mismatched_releases},
          {"lost_events", sums.lost_events}};
}

Json note_json(const model::Note& note, const Json& scan) {
  return {{"kind", name_of(note.kind)},     {"scan", scan},
          {"module", or_null(note.module)}, {"name", or_null(note.name)},
          {"count", count_of(note)},        {"numbers", note.numbers},
          {"text", sentence_of(note)}};
}

// What could not be seen, of the capture and of the scan whose leaks the report has.
Json notes_json(const Report& report) {
  Json list = Json::array();
  for (const model::Note& note : report.capture.notes) list.push_back(note_json(note, nullptr));
  if (!report.leaks.scanned) return list;
  for (const model::Note& note : report.leaks.scan.notes) list.push_back(note_json(note, report.leaks.scan.number));
  return list;
}

Json capture_json(const Report& report) {
  const model::Capture& capture = report.capture;
  return {{"via", capture.via},
          {"complete",
           capture.ended && !capture.truncated && capture.lost_events == 0 && capture.gaps == 0 && capture.from_start},
          {"known", {{"leaks", report.known.leaks}, {"releases", report.known.releases}}},
          {"from_start", capture.from_start},
          {"start_unix_ns", capture.start_unix_ns},
          {"duration_ns", capture.ended ? Json(capture.duration_ns) : Json(nullptr)},
          {"time_resolution_ns", capture.time_resolution_ns},
          {"events", capture.ended ? Json(capture.event_count) : Json(nullptr)},
          {"events_kept", report.has_events},
          {"lost_events", capture.lost_events},
          {"truncated", capture.truncated},
          {"damage", or_null(capture.damage)},
          {"notes", sentences_of(capture.notes)},
          {"heaptap_version", capture.heaptap_version}};
}

JsonDocument::JsonDocument(const char* view, const Report& report) {
  member("format", std::string("heaptap-") + view);
  member("version", 1);
  member("target", target_json(report.capture));
  member("capture", capture_json(report));
  member("notes", notes_json(report));
  member("filter", or_null(report.filter));
}

void JsonDocument::begin(const char* name) {
  text_ += text_.size() == 1 ? "\n " : ",\n ";
  text_ += to_text(Json(name)) + ": ";
}

void JsonDocument::member(const char* name, const Json& value) {
  begin(name);
  text_ += to_text(value);
}

}  // namespace heaptap::report
