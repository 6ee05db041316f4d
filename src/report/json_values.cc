#include "report/json_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <utility>

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
          {"frames", origin.frames}};
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
  const bool is_one = scan.number != 0;  // else the sums of several
  return {{"number", known(is_one, scan.number)},
          {"at_end", scan.at_end},
          {"time_ns", known(is_one, scan.time_ns)},
          {"stopped_ns", scan.stopped_ns},
          {"total_ns", scan.total_ns},
          {"read_bytes", scan.read_bytes},
          {"skipped_bytes", scan.skipped_bytes},
          {"threads", scan.threads},
          {"blocks", scan.blocks},
          {"pointers", scan.pointers},
          {"stored_bytes", scan.stored_bytes}};
}

std::string to_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const model::Frame& frame) {
  return {{"function", or_null(frame.function)},
          {"module", or_null(frame.module)},
          {"offset", frame.module.empty() ? Json(nullptr) : Json(hex(frame.offset))},
          {"address", frame.address == 0 ? Json(nullptr) : Json(hex(frame.address))},
          {"file", or_null(frame.file)},
          {"line", frame.file.empty() || frame.line == 0 ? Json(nullptr) : Json(frame.line)},
          {"inlined", frame.inlined}};
}

namespace {

// Writes the members of one object of numbers, which is many times faster than to make a tree of values of them.
class ObjectText {
 public:
  void number(const char* name, bool is_known, uint64_t value) {
    begin(name);
    if (is_known)
      fmt::format_to(std::back_inserter(text_), "{}", value);
    else
      text_ += "null";
  }
  void count(const char* name, const std::optional<BlockCount>& count) {
    begin(name);
    if (count)
      fmt::format_to(std::back_inserter(text_), R"({{"blocks":{},"bytes":{}}})", count->blocks, count->bytes);
    else
      text_ += R"({"blocks":null,"bytes":null})";
  }
  void numbers(const char* name, bool are_known, const std::vector<uint32_t>& values) {
    begin(name);
    if (are_known)
      fmt::format_to(std::back_inserter(text_), "[{}]", fmt::join(values, ","));
    else
      text_ += "null";
  }
  void text(const char* name, const std::string& value) {
    begin(name);
    text_ += to_text(Json(value));
  }
  void text_if_any(const char* name, const std::string& value) {
    if (!value.empty()) text(name, value);
  }
  void texts_if_any(const char* name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    begin(name);
    text_ += to_text(Json(values));
  }
  void raw(const char* name, std::string_view json) {
    begin(name);
    text_ += json;
  }
  std::string finish() { return std::move(text_) + "}"; }

 private:
  void begin(const char* name) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":", text_.empty() ? '{' : ',', name);
  }

  std::string text_;
};

std::string text_of(const std::optional<StackLeaks>& leaks) {
  ObjectText object;
  object.count("definite", leaks ? std::optional(leaks->definite) : std::nullopt);
  object.count("indirect", leaks ? std::optional(leaks->indirect) : std::nullopt);
  object.count("possible", leaks ? std::optional(leaks->possible) : std::nullopt);
  if (!leaks) return object.finish();
  const std::pair<const char*, const BlockCount&> rest[] = {
      {"reachable", leaks->reachable}, {"suppressed", leaks->suppressed},         {"ignored", leaks->ignored},
      {"unknown", leaks->unknown},     {"behind_headers", leaks->behind_headers}, {"below", leaks->below}};
  for (const auto& [name, count] : rest) {
    if (count.blocks != 0) object.count(name, count);
  }
  return object.finish();
}

}  // namespace

// There may be many: what is empty, or 0 for most, is left out.
std::string text_of(const StackEntry& stack) {
  ObjectText object;
  object.number("id", true, stack.id);
  object.text("function", stack.function);
  object.text_if_any("variant", stack.variant);
  object.texts_if_any("tags", stack.tags);
  if (stack.pooled) object.text("pool", stack.pool);
  object.number("allocations", stack.calls_known, stack.allocations);
  object.number("frees", stack.live_known && stack.calls_known, stack.releases);
  object.number("allocated_bytes", stack.calls_known, stack.allocated_bytes);
  object.number("live_blocks", stack.live_known && stack.blocks_known, stack.live_blocks);
  object.number("live_bytes", stack.live_known, stack.live_bytes);
  object.number("peak_bytes", stack.times_known, stack.peak_bytes);
  object.number("temporary_allocations", stack.temporary_known, stack.temporary_allocations);
  const bool mismatched_known = stack.calls_known && stack.mismatched_known;
  if (!mismatched_known || stack.mismatched_releases != 0)
    object.number("mismatched_frees", mismatched_known, stack.mismatched_releases);
  object.number("lifetime_ns", stack.times_known && stack.lifetime_known, stack.lifetime_ns);
  object.numbers("threads", stack.threads_known, stack.threads);
  object.raw("leaks", text_of(stack.leaks));
  object.numbers("frames", true, stack.frames);
  if (stack.growth) {
    object.raw("growth_bytes", std::to_string(stack.growth->bytes));
    object.raw("growth_blocks", std::to_string(stack.growth->blocks));
  }
  object.text_if_any("ends_early", ending_of(stack));
  object.text_if_any("purpose", words_of(stack.purpose));
  return object.finish();
}

Json json_of(const LabelEntry& label) {
  const StackEntry& sum = label.sum;
  Json json = label.is_pool ? Json{{"pool", label.pool}} : Json{{"tags", label.tags}};
  json["allocations"] = known(sum.calls_known, sum.allocations);
  json["frees"] = known(sum.live_known && sum.calls_known, sum.releases);
  json["allocated_bytes"] = known(sum.calls_known, sum.allocated_bytes);
  json["live_blocks"] = known(sum.live_known && sum.blocks_known, sum.live_blocks);
  json["live_bytes"] = known(sum.live_known, sum.live_bytes);
  json["peak_bytes"] = known(sum.times_known, sum.peak_bytes);
  json["temporary_allocations"] = known(sum.temporary_known, sum.temporary_allocations);
  json["leaks"] = Json::parse(text_of(sum.leaks));
  return json;
}

Json json_of(const Window& window) {
  Json json = {{"from_ns", window.from_ns}, {"to_ns", known(window.to_ns != ~uint64_t{0}, window.to_ns)}};
  json["from"] = or_null(window.from);
  json["to"] = or_null(window.to);
  if (window.from_is_earlier) json["from_is_earlier"] = true;
  if (window.to_is_earlier) json["to_is_earlier"] = true;
  json["older_freed_blocks"] = known(window.has_older, window.older_released_blocks);
  json["older_freed_bytes"] = known(window.has_older, window.older_released_bytes);
  json["growth_blocks"] = window.growth.blocks;
  json["growth_bytes"] = window.growth.bytes;
  return json;
}

Json json_of(const model::Mark& mark) {
  return {{"number", mark.number},
          {"kind", words_of(mark.kind)},
          {"name", mark.name},
          {"time_ns", mark.time_ns},
          {"events_before", mark.events_before},
          {"thread", known(mark.thread != 0, mark.thread)}};
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
          {"frames", error.frames},
          {"allocated", error.allocated ? origin_json(*error.allocated) : Json(nullptr)},
          {"released", released}};
}

Json json_of(const Totals& totals) {
  return {{"allocations", known(totals.calls_known, totals.allocations)},
          {"frees", known(totals.live_known && totals.calls_known, totals.releases)},
          {"allocated_bytes", known(totals.calls_known, totals.allocated_bytes)},
          {"temporary_allocations", known(totals.temporary_known, totals.temporary_allocations)},
          {"live_blocks", known(totals.live_known && totals.blocks_known, totals.live_blocks)},
          {"live_bytes", known(totals.live_known, totals.live_bytes)},
          {"peak_live_bytes", known(totals.peak_known, totals.peak_live_bytes)},
          {"peak_live_blocks", known(totals.peak_known && totals.blocks_known, totals.peak_live_blocks)},
          {"peak_time_ns", known(totals.peak_time_known, totals.peak_time_ns)},
          {"mapped_live_bytes", known(totals.calls_known, totals.mapped_live_bytes)},
          {"peak_mapped_bytes", known(totals.calls_known && totals.mapped_peak_known, totals.peak_mapped_bytes)},
          {"pool_allocations", known(totals.calls_known, totals.pool_allocations)},
          {"pool_live_blocks", known(totals.calls_known, totals.pool_live_blocks)},
          {"pool_live_bytes", known(totals.calls_known, totals.pool_live_bytes)},
          {"open_resources", known(totals.calls_known, totals.open_resources)},
          {"unknown_pool_frees", known(totals.calls_known, totals.unknown_pool_releases)},
          {"bad_frees", known(totals.bad_frees_known, totals.bad_releases)},
          {"double_frees", known(totals.bad_frees_known, totals.double_releases)},
          {"mismatched_frees", known(totals.calls_known && totals.mismatched_known, totals.mismatched_releases)},
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
          {"ignored", count(leaks.ignored)},
          {"unknown", count(leaks.unknown)},
          {"behind_headers", count(leaks.behind_headers)},
          {"pools",
           {{"definite", count(leaks.pools.definite)},
            {"indirect", count(leaks.pools.indirect)},
            {"possible", count(leaks.pools.possible)},
            {"reachable", count(leaks.pools.reachable)},
            {"unknown", count(leaks.pools.unknown)}}},
          {"scan", leaks.scanned ? scan_json(leaks.scan) : Json(nullptr)},
          {"scan_count", leaks.scan_count},
          {"suppressions", suppressions_json(leaks.suppressions)},
          {"unused_suppressions", leaks.unused_suppressions},
          {"broad_suppressions", leaks.broad_suppressions}};
}

namespace {

Json count_json(const IgnoredCount& count, const Totals& totals) {
  return {{"stacks", count.stacks},
          {"allocations", known(totals.calls_known, count.allocations)},
          {"allocated_bytes", known(totals.calls_known, count.allocated_bytes)},
          {"live_blocks", known(totals.live_known && totals.blocks_known, count.live_blocks)},
          {"live_bytes", known(totals.live_known, count.live_bytes)},
          {"mapped_live_bytes", known(totals.calls_known, count.mapped_live_bytes)}};
}

}  // namespace

Json json_of(const Ignored& ignored, const Totals& totals) {
  Json json = count_json(ignored.sum(), totals);
  json["rules"] = Json::array();
  for (const IgnoreRule& rule : ignored.rules) {
    Json& entry = json["rules"].emplace_back(count_json(rule.count, totals));
    entry["place"] = rule.place;
    entry["pattern"] = rule.text;
  }
  return json;
}

Json target_json(const model::Capture& capture) {
  Json exit = nullptr;
  if (capture.exit.code) {
    exit = {{"code", *capture.exit.code}};
  } else if (capture.exit.signal) {
    exit = {{"signal", *capture.exit.signal}};
  }
  const bool is_own = capture.import.tool.empty();
  return {{"command", capture.command},
          {"executable", or_null(capture.executable)},
          {"pid", known(is_own, capture.pid)},
          {"parent_pid", known(is_own, capture.parent_pid)},
          {"host", or_null(capture.host_name)},
          {"arch", capture.architecture},
          {"exit", exit}};
}

Json json_of(const ProcessEntry& process) {
  const bool is_read = process.failure.empty();
  return {{"target", target_json(process.capture)},
          {"executed", process.capture.executed},
          {"image", known(process.image != 0, process.image)},
          {"trace", process.trace_path},
          {"failure", or_null(process.failure)},
          {"lost_events", known(is_read, process.capture.lost_events)},
          {"truncated", process.capture.truncated},
          {"totals", is_read ? json_of(process.totals) : Json(nullptr)},
          {"leaks", is_read ? json_of(process.leaks) : Json(nullptr)},
          {"leaks_known", is_read && process.leaks.scanned && process.leaks_known}};
}

Json sum_json(const std::vector<ProcessEntry>& processes) {
  const ProcessSums sums = sum_of(processes);
  return {{"count", processes.size()},
          {"largest_peak_live_bytes", known(sums.largest_peak.has_value(), sums.largest_peak.value_or(0))},
          {"failed", sums.failed},
          {"unscanned", sums.unscanned},
          {"uncertain", sums.uncertain},
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
  Json json = {{"kind", name_of(note.kind)},     {"scan", scan},
               {"module", or_null(note.module)}, {"name", or_null(note.name)},
               {"count", count_of(note)},        {"numbers", note.numbers},
               {"text", sentence_of(note)}};
  if (note.pid != 0) json["pid"] = note.pid;
  return json;
}

Json notes_json(const Report& report) {
  Json list = Json::array();
  for (const model::Note& note : report.capture.notes) list.push_back(note_json(note, nullptr));
  if (!report.leaks.scanned) return list;
  for (const model::Note& note : report.leaks.scan.notes)
    list.push_back(note_json(note, known(report.leaks.scan.number != 0, report.leaks.scan.number)));
  return list;
}

const char* name_of(model::SymbolHint::Lack lack) {
  using Lack = model::SymbolHint::Lack;
  switch (lack) {
    case Lack::kFile:
      return "file";
    case Lack::kSameFile:
      return "same_file";
    case Lack::kSymbols:
      return "symbols";
    case Lack::kLines:
      break;
  }
  return "lines";
}

// What the reader of the report could do better; what the recording couldn't see is in the notes.
Json warnings_json(const Report& report) {
  Json list = Json::array();
  if (report.unmatched) list.push_back({{"kind", "unmatched_filter"}, {"filter", report.filter}});
  for (const model::SymbolHint& hint : report.symbol_hints) {
    Json warning = {{"kind", "symbols"},
                    {"module", hint.path},
                    {"lacks", name_of(hint.lack)},
                    {"functions_without_names", hint.without_names},
                    {"asked_debuginfod", hint.asked_servers}};
    if (!hint.other_path.empty()) {
      warning["build_id"] = hint.build_id;
      warning["other_file"] = hint.other_path;
      warning["other_build_id"] = hint.other_build_id;
    }
    list.push_back(std::move(warning));
  }
  return list;
}

namespace {

// Where another tool counted something else in place of time; else null.
const char* unit_of(const model::Capture& capture) {
  switch (capture.import.unit) {
    case model::TimeUnit::kInstructions:
      return "instructions";
    case model::TimeUnit::kAllocatedBytes:
      return "allocated_bytes";
    case model::TimeUnit::kNanoseconds:
      break;
  }
  return nullptr;
}

}  // namespace

Json capture_json(const Report& report) {
  const model::Capture& capture = report.capture;
  const bool is_own = capture.import.tool.empty();
  Json json{{"via", capture.via},
            {"complete", capture.ended && !capture.truncated && capture.lost_events == 0 && capture.gaps == 0 &&
                             capture.from_start},
            {"known", {{"leaks", report.known.leaks}, {"releases", report.known.releases}}},
            {"from_start", capture.from_start},
            {"start_unix_ns", known(is_own, capture.start_unix_ns)},
            {"duration_ns", known(capture.ended && capture.import.has_times(), capture.duration_ns)},
            {"known_until_ns", known(capture.known_until_ns.has_value(), capture.known_until_ns.value_or(0))},
            {"time_resolution_ns", known(capture.import.has_times(), capture.time_resolution_ns)},
            {"events", known(capture.ended && capture.import.tells(model::kUntoldCounts), capture.event_count)},
            {"events_kept", report.has_events},
            {"lost_events", capture.lost_events},
            {"truncated", capture.truncated},
            {"running", capture.running},
            {"damage", or_null(capture.damage)},
            {"heaptap_version", capture.heaptap_version}};
  if (!is_own) json["imported_from"] = capture.import.tool;
  if (const char* const unit = unit_of(capture)) json["unit_of_times"] = unit;
  return json;
}

JsonDocument::JsonDocument(const char* format, int version, const Write& write) : write_(write) {
  member("format", std::string("heaptap-") + format);
  member("version", version);
}

JsonDocument::JsonDocument(const char* view, const Report& report, const Write& write) : JsonDocument(view, 2, write) {
  member("target", target_json(report.capture));
  member("capture", capture_json(report));
  member("notes", notes_json(report));
  member("warnings", warnings_json(report));
  member("filter", or_null(report.filter));
  if (report.window) member("window", json_of(*report.window));
  if (!report.marks.empty()) list("marks", report.marks, [](const model::Mark& mark) { return json_of(mark); });
  if (!report.ignored.rules.empty()) member("ignored", json_of(report.ignored, report.totals));
}

JsonDocument::~JsonDocument() {
  text_ += "\n}\n";
  write_(text_);
}

void JsonDocument::begin(const char* name) {
  text_ += text_.ends_with('{') ? "\n " : ",\n ";
  text_ += to_text(Json(name)) + ": ";
}

void JsonDocument::member(const char* name, const Json& value) {
  begin(name);
  text_ += to_text(value);
  flush();
}

void JsonDocument::begin_list(const char* name) {
  begin(name);
  text_ += "[";
  list_is_empty_ = true;
}

void JsonDocument::add(std::string_view entry) {
  text_ += list_is_empty_ ? "\n  " : ",\n  ";
  text_ += entry;
  list_is_empty_ = false;
  flush();
}

void JsonDocument::end_list() { text_ += list_is_empty_ ? "]" : "\n ]"; }

void JsonDocument::frames(const Report& report) {
  list("frames", report.frames, [](const model::Frame& frame) { return json_of(frame); });
}

// In large pieces. What `begin` looks at stays.
void JsonDocument::flush() {
  constexpr size_t kPieceBytes = size_t{1} << 18;
  if (text_.size() < kPieceBytes) return;
  write_(std::string_view(text_).substr(0, text_.size() - 1));
  text_.erase(0, text_.size() - 1);
}

}  // namespace heaptap::report
