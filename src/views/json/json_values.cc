#include "views/json/json_values.h"

#include "analysis/findings/note_text.h"
#include "analysis/findings/words.h"
#include "analysis/report/process_sums.h"
#include "analysis/report/sample_bounds.h"

namespace heaptap::json {

void write_json(JsonWriter& json, const report::BlockCount& count) {
  const JsonObject object(json);
  json.member("blocks", count.blocks);
  json.member("bytes", count.bytes);
}

namespace {

void write_count(JsonWriter& json, bool is_known, const report::BlockCount& count) {
  if (is_known) return write_json(json, count);
  const JsonObject object(json);
  json.member("blocks", nullptr);
  json.member("bytes", nullptr);
}

void member_if_any(JsonWriter& json, const char* name, std::string_view text) {
  if (!text.empty()) json.member(name, text);
}

enum class OriginOf { kAllocation, kRelease };

void write_origin(JsonWriter& json, JsonStacks& stacks, const std::optional<report::ErrorEntry::Origin>& origin,
                  OriginOf what) {
  if (!origin) return json.value(nullptr);
  const JsonObject object(json);
  json.member("function", origin->function);
  json.member("variant", origin->variant);
  if (what == OriginOf::kAllocation) json.member("size", origin->size_bytes);
  stacks.write(json, origin->frames);
  member_if_any(json, "ends_early", findings::ending_of(origin->end));
}

void write_kept(JsonWriter& json, const report::Leaks& leaks) {
  json.begin_array();
  for (const report::KeptByLibrary& entry : leaks.kept_by_libraries) {
    const JsonObject object(json);
    json.member("purpose", findings::words_of(entry.purpose));
    write_json(json.key("reachable"), entry.reachable);
    write_json(json.key("possible"), entry.possible);
  }
  json.end_array();
}

void write_suppressions(JsonWriter& json, const std::vector<report::SuppressionEntry>& suppressions) {
  json.begin_array();
  for (const report::SuppressionEntry& entry : suppressions) {
    const JsonObject object(json);
    json.member("place", entry.place);
    json.member("text", entry.text);
    write_json(json.key("hidden"), entry.hidden);
  }
  json.end_array();
}

}  // namespace

void write_members(JsonWriter& json, const report::ScanFacts& scan) {
  const bool is_one = scan.number != 0;  // else the sums of several
  json.member("number", known(is_one, scan.number));
  json.member("at_end", scan.at_end);
  if (scan.at_exit_start) json.member("at_exit_start", true);
  json.member("time_ns", known(is_one, scan.time_ns));
  json.member("stopped_ns", scan.stopped_ns);
  json.member("total_ns", scan.total_ns);
  json.member("read_bytes", scan.read_bytes);
  json.member("skipped_bytes", scan.skipped_bytes);
  json.member("threads", scan.threads);
  json.member("blocks", scan.blocks);
  json.member("pointers", scan.pointers);
  json.member("stored_bytes", scan.stored_bytes);
}

void write_json(JsonWriter& json, const report::ScanFacts& scan) {
  const JsonObject object(json);
  write_members(json, scan);
}

void write_json(JsonWriter& json, const model::Frame& frame) {
  const JsonObject object(json);
  json.member("function", or_null(frame.function));
  json.member("module", or_null(frame.module));
  json.member("offset", known(!frame.module.empty(), JsonHex{frame.offset}));
  json.member("address", address_or_null(frame.address));
  json.member("file", or_null(frame.file));
  json.member("line", known(!frame.file.empty() && frame.line != 0, frame.line));
  json.member("inlined", frame.inlined);
}

void write_tables(JsonWriter& json, const JsonStacks& stacks) {
  if (stacks.version() == Version::kNodes) stacks.write_nodes(json.key("nodes"), [] {});
  json.key("frames").begin_array();
  for (const model::Frame& frame : stacks.frames()) write_json(json, frame);
  json.end_array();
}

namespace {

void write_exit_holder(JsonWriter& json, const report::ExitHolder& holder) {
  json.key("held_until_exit");
  const JsonObject object(json);
  json.member("variable", holder.variable.name);
  json.member("file", or_null(holder.variable.file));
  json.member("line", known(!holder.variable.file.empty(), holder.variable.line));
  json.member("module", holder.variable.module);
  json.member("blocks", holder.held.blocks);
  json.member("bytes", holder.held.bytes);
}

void write_leaks(JsonWriter& json, const report::ScannedLeaks& leaks, Version version) {
  if (version == Version::kNodes && !leaks) return json.value(nullptr);
  const JsonObject object(json);
  const report::StackLeaks& counts = *leaks;
  const auto write = [&](const char* name, const report::BlockCount& count) {
    if (count.blocks != 0) write_json(json.key(name), count);
  };
  const auto write_main = [&](const char* name, const report::BlockCount& count) {
    if (version == Version::kNodes) return write(name, count);
    write_count(json.key(name), bool(leaks), count);
  };
  write_main("definite", counts.definite);
  write_main("indirect", counts.indirect);
  write_main("possible", counts.possible);
  write("reachable", counts.reachable);
  write("suppressed", counts.suppressed);
  write("ignored", counts.ignored);
  write("unknown", counts.unknown);
  write("behind_headers", counts.behind_headers);
  write("below", counts.below);
  write("in_cycles", counts.in_cycles);
  if (!counts.cycle.empty()) json.key("cycle").values(counts.cycle);
  if (counts.exit_holder) write_exit_holder(json, *counts.exit_holder);
}

}  // namespace

namespace {

void write_mapped(JsonWriter& json, const model::MappedBytes& mapped) {
  const JsonObject object(json);
  for (size_t kind = 0; kind < mapped.size(); ++kind) {
    if (mapped[kind] != 0) json.member(model::kMappedKindNames[kind], mapped[kind]);
  }
}

void write_level(JsonWriter& json, const model::MappedLevel& level, bool live_known, bool peak_known) {
  const JsonObject object(json);
  json.member("live_bytes", known(live_known, level.live_bytes));
  json.member("peak_bytes", known(peak_known, level.peak_bytes));
}

void write_mapped(JsonWriter& json, const report::Totals& totals) {
  const JsonObject object(json);
  const bool live_known = totals.mapped_live_bytes.is_known();
  const bool peak_known = totals.peak_mapped_bytes.is_known();
  const bool memory_known = totals.mapped.are_known();
  write_level(json.key("memory"), totals.mapped.memory, live_known && memory_known, peak_known && memory_known);
  for (size_t kind = 0; kind < model::kMappedKinds; ++kind)
    write_level(json.key(model::kMappedKindNames[kind]), totals.mapped.kinds[kind], live_known, peak_known);
}

}  // namespace

// There may be many stacks: keys that are empty, or 0 for most, are left out.
void write_stack(JsonWriter& json, const JsonStacks& stacks, const report::StackEntry& stack) {
  const JsonObject object(json);
  json.member("id", stack.id);
  json.member("function", stack.function);
  member_if_any(json, "variant", stack.variant);
  if (!stack.rare->tags.empty()) json.key("tags").values(stack.rare->tags);
  if (stack.pooled) json.member("pool", stack.rare->pool);
  json.member("allocations", stack.allocations.if_known());
  json.member("frees", stack.releases.if_known());
  json.member("allocated_bytes", stack.allocated_bytes.if_known());
  json.member("live_blocks", stack.live_blocks.if_known());
  json.member("live_bytes", stack.live_bytes.if_known());
  json.member("peak_bytes", stack.peak_bytes.if_known());
  json.member("temporary_allocations", stack.temporary_allocations.if_known());
  if (stack.mismatched_releases.may_be_nonzero()) json.member("mismatched_frees", stack.mismatched_releases.if_known());
  json.member("lifetime_ns", stack.lifetime_ns.if_known());
  if (stack.threads_known)
    json.key("threads").values(stack.threads);
  else
    json.member("threads", nullptr);
  write_leaks(json.key("leaks"), stack.leaks, stacks.version());
  stacks.write(json, stack.frames);
  if (stack.growth) {
    json.member("growth_bytes", stack.growth->bytes);
    json.member("growth_blocks", stack.growth->blocks);
  }
  if (stack.mapping && stack.live_bytes.is_known()) write_mapped(json.key("mapped"), stack.rare->mapped);
  member_if_any(json, "earlier", stack.rare->earlier);
  member_if_any(json, "ends_early", findings::ending_of(stack));
  member_if_any(json, "purpose", findings::words_of(stack.purpose));
}

void write_label(JsonWriter& json, const report::LabelEntry& label, Version version) {
  const report::StackEntry& sum = label.sum;
  const JsonObject object(json);
  if (label.is_pool)
    json.member("pool", label.pool);
  else
    json.key("tags").values(label.tags);
  json.member("allocations", sum.allocations.if_known());
  json.member("frees", sum.releases.if_known());
  json.member("allocated_bytes", sum.allocated_bytes.if_known());
  json.member("live_blocks", sum.live_blocks.if_known());
  json.member("live_bytes", sum.live_bytes.if_known());
  json.member("peak_bytes", sum.peak_bytes.if_known());
  json.member("temporary_allocations", sum.temporary_allocations.if_known());
  write_leaks(json.key("leaks"), sum.leaks, version);
}

namespace {

void write_window(JsonWriter& json, const report::Window& window) {
  const JsonObject object(json);
  json.member("from_ns", window.from_ns);
  json.member("to_ns", known(window.to_ns != ~uint64_t{0}, window.to_ns));
  json.member("from", or_null(window.from));
  json.member("to", or_null(window.to));
  if (window.from_is_earlier) json.member("from_is_earlier", true);
  if (window.to_is_earlier) json.member("to_is_earlier", true);
  json.member("older_freed_blocks", known(window.has_older, window.older_released_blocks));
  json.member("older_freed_bytes", known(window.has_older, window.older_released_bytes));
  json.member("growth_blocks", window.growth.blocks);
  json.member("growth_bytes", window.growth.bytes);
}

void write_mark(JsonWriter& json, const model::Mark& mark) {
  const JsonObject object(json);
  json.member("number", mark.number);
  json.member("kind", findings::words_of(mark.kind));
  json.member("name", mark.name);
  json.member("time_ns", mark.time_ns);
  json.member("events_before", mark.events_before);
  json.member("thread", known(mark.thread != 0, mark.thread));
}

}  // namespace

void write_error(JsonWriter& json, JsonStacks& stacks, const report::ErrorEntry& error) {
  const JsonObject object(json);
  json.member("kind", error.kind);
  json.member("function", error.function);
  json.member("variant", error.variant);
  json.member("address", address_or_null(error.address));
  json.member("count", error.count);
  stacks.write(json, error.frames);
  member_if_any(json, "ends_early", findings::ending_of(error.end));
  write_origin(json.key("allocated"), stacks, error.allocated, OriginOf::kAllocation);
  write_origin(json.key("released"), stacks, error.released, OriginOf::kRelease);
}

namespace {

void write_resident(JsonWriter& json, const std::optional<report::Resident>& resident) {
  if (!resident) return json.value(nullptr);
  const std::optional<report::ResidentKinds>& kinds = resident->kinds;
  const auto kind = [&kinds](uint64_t report::ResidentKinds::* bytes) {
    return kinds ? std::optional(*kinds.*bytes) : std::nullopt;
  };
  const JsonObject object(json);
  json.member("time_ns", resident->time_ns);
  json.member("bytes", resident->bytes);
  json.member("anonymous_bytes", kind(&report::ResidentKinds::anonymous_bytes));
  json.member("file_bytes", kind(&report::ResidentKinds::file_bytes));
  json.member("shared_bytes", kind(&report::ResidentKinds::shared_bytes));
  json.member("log_bytes", resident->log_bytes);
  json.member("swapped_bytes", resident->swapped_bytes);
  json.member("peak_bytes", resident->peak_bytes);
  json.member("peak_exact", resident->is_peak_exact);
}

void write_resident_parts(JsonWriter& json, const std::optional<report::ResidentParts>& parts) {
  if (!parts) return json.value(nullptr);
  const JsonObject object(json);
  json.member("scan", parts->scan);
  json.member("time_ns", parts->time_ns);
  json.member("knows_all_blocks", parts->knows_all_blocks);
  json.member("bytes", parts->bytes);
  json.member("live_bytes", parts->live_bytes);
  json.member("free_bytes", parts->free_bytes);
  json.member("mapped_bytes", parts->mapped_bytes);
  json.member("global_bytes", parts->global_bytes);
  json.member("stack_bytes", parts->stack_bytes);
  json.member("ended_stack_bytes", parts->ended_stack_bytes);
  json.member("file_bytes", parts->file_bytes);
  json.member("shared_bytes", parts->shared_bytes);
  json.member("heaptap_bytes", parts->heaptap_bytes);
  json.member("other_bytes", parts->other_bytes);
}

void write_bounds(JsonWriter& json, const char* name, const report::Bounds& bounds) {
  json.key(name).begin_array();
  json.value(bounds.low);
  json.value(bounds.high);
  json.end_array();
}

void write_bounds(JsonWriter& json, const report::Totals& totals) {
  const uint64_t interval = totals.sample_interval;
  const uint64_t allocated = totals.allocated_bytes.counted();
  write_bounds(json, "allocated_bytes_bounds", report::bounds_of(allocated, interval));
  write_bounds(json, "live_bytes_bounds", report::bounds_of(totals.live_bytes.counted(), interval));
  write_bounds(json, "peak_live_bytes_bounds",
               report::bounds_of_peak(totals.peak_live_bytes.counted(), allocated, interval));
}

}  // namespace

void write_json(JsonWriter& json, const report::Totals& totals) {
  const JsonObject object(json);
  if (totals.sample_interval != 0) write_bounds(json, totals);
  json.member("allocations", totals.allocations.if_known());
  json.member("frees", totals.releases.if_known());
  json.member("allocated_bytes", totals.allocated_bytes.if_known());
  json.member("temporary_allocations", totals.temporary_allocations.if_known());
  json.member("live_blocks", totals.live_blocks.if_known());
  json.member("live_bytes", totals.live_bytes.if_known());
  json.member("peak_live_bytes", totals.peak_live_bytes.if_known());
  json.member("peak_live_blocks", totals.peak_live_blocks.if_known());
  const bool has_peak = totals.peak_live_bytes.is_known();
  json.member("peak_error_bytes", base::Known(totals.peak_error_bytes, has_peak).if_known());
  json.member("peak_error_blocks", base::Known(totals.peak_error_blocks, has_peak).if_known());
  json.member("peak_time_ns", totals.peak_time_ns.if_known());
  json.member("mapped_live_bytes", totals.mapped_live_bytes.if_known());
  json.member("peak_mapped_bytes", totals.peak_mapped_bytes.if_known());
  write_mapped(json.key("mapped"), totals);
  write_resident(json.key("resident"), totals.resident);
  write_resident_parts(json.key("resident_parts"), totals.resident_parts);
  json.member("pool_allocations", totals.pool_allocations.if_known());
  json.member("pool_live_blocks", totals.pool_live_blocks.if_known());
  json.member("pool_live_bytes", totals.pool_live_bytes.if_known());
  json.member("open_resources", totals.open_resources.if_known());
  json.member("unknown_pool_frees", totals.unknown_pool_releases.if_known());
  json.member("bad_frees", totals.bad_releases.if_known());
  json.member("double_frees", totals.double_releases.if_known());
  json.member("mismatched_frees", totals.mismatched_releases.if_known());
  json.member("unknown_frees", totals.unknown_releases.if_known());
  json.member("unseen_frees", totals.unseen_releases.if_known());
}

void write_json(JsonWriter& json, const report::Leaks& leaks) {
  const auto count = [&](const char* name, const report::BlockCount& value) {
    write_count(json.key(name), leaks.scanned, value);
  };
  const JsonObject object(json);
  json.member("scanned", leaks.scanned);
  count("definite", leaks.definite);
  count("indirect", leaks.indirect);
  count("possible", leaks.possible);
  count("reachable", leaks.reachable);
  count("suppressed", leaks.suppressed);
  count("ignored", leaks.ignored);
  count("unknown", leaks.unknown);
  count("behind_headers", leaks.behind_headers);
  count("behind_tags", leaks.behind_tags);
  count("released_since", leaks.released_since);
  if (leaks.scanned)
    write_kept(json.key("kept_by_libraries"), leaks);
  else
    json.member("kept_by_libraries", nullptr);
  {
    const JsonObject pools(json.key("pools"));
    count("definite", leaks.pools.definite);
    count("indirect", leaks.pools.indirect);
    count("possible", leaks.pools.possible);
    count("reachable", leaks.pools.reachable);
    count("unknown", leaks.pools.unknown);
  }
  if (leaks.scanned)
    write_json(json.key("scan"), leaks.scan);
  else
    json.member("scan", nullptr);
  json.member("scan_count", leaks.scan_count);
  write_suppressions(json.key("suppressions"), leaks.suppressions);
  json.key("unused_suppressions").values(leaks.unused_suppressions);
  json.key("broad_suppressions").values(leaks.broad_suppressions);
}

namespace {

void write_members(JsonWriter& json, const report::IgnoredCount& count, const report::Totals& totals) {
  json.member("stacks", count.stacks);
  json.member("allocations", known(totals.allocations.is_known(), count.allocations));
  json.member("allocated_bytes", known(totals.allocated_bytes.is_known(), count.allocated_bytes));
  json.member("live_blocks", known(totals.live_blocks.is_known(), count.live_blocks));
  json.member("live_bytes", known(totals.live_bytes.is_known(), count.live_bytes));
  json.member("mapped_live_bytes", known(totals.mapped_live_bytes.is_known(), count.mapped_live_bytes));
}

}  // namespace

void write_ignored(JsonWriter& json, const report::Ignored& ignored, const report::Totals& totals) {
  const JsonObject object(json);
  write_members(json, ignored.sum(), totals);
  json.key("rules").begin_array();
  for (const report::IgnoreRule& rule : ignored.rules) {
    const JsonObject entry(json);
    write_members(json, rule.count, totals);
    json.member("place", rule.place);
    json.member("pattern", rule.text);
  }
  json.end_array();
}

namespace {

void write_exit(JsonWriter& json, const model::Capture& capture) {
  if (!capture.exit.code && !capture.exit.signal) return json.value(nullptr);
  const JsonObject object(json);
  if (capture.exit.code)
    json.member("code", *capture.exit.code);
  else
    json.member("signal", *capture.exit.signal);
}

}  // namespace

void write_target(JsonWriter& json, const model::Capture& capture) {
  const bool is_own = capture.import.tool.empty();
  const JsonObject object(json);
  json.key("command").values(capture.command);
  json.member("executable", or_null(capture.executable));
  json.member("pid", known(is_own, capture.pid));
  json.member("parent_pid", known(is_own, capture.parent_pid));
  json.member("host", or_null(capture.host_name));
  json.member("arch", capture.architecture);
  write_exit(json.key("exit"), capture);
}

void write_json(JsonWriter& json, const report::ProcessEntry& process) {
  const bool is_read = process.failure.empty();
  const JsonObject object(json);
  write_target(json.key("target"), process.capture);
  json.member("executed", process.capture.executed);
  json.member("image", known(process.image != 0, process.image));
  json.member("trace", process.trace_path);
  json.member("failure", or_null(process.failure));
  json.member("lost_events", known(is_read, process.capture.lost_events));
  json.member("truncated", process.capture.truncated);
  if (is_read) {
    write_json(json.key("totals"), process.totals);
    write_json(json.key("leaks"), process.leaks);
  } else {
    json.member("totals", nullptr);
    json.member("leaks", nullptr);
  }
  json.member("leaks_known", is_read && process.leaks.scanned && process.known.leaks);
}

void write_sum(JsonWriter& json, const std::vector<report::ProcessEntry>& processes) {
  const report::ProcessSums sums = report::sum_of(processes);
  const JsonObject object(json);
  json.member("count", processes.size());
  json.member("largest_peak_live_bytes", sums.largest_peak);
  json.member("largest_peak_error_bytes", known(sums.largest_peak.has_value(), sums.largest_peak_error));
  json.member("largest_peak_pid",
              known(sums.largest != nullptr, sums.largest == nullptr ? 0U : sums.largest->capture.pid));
  json.member("failed", sums.failed);
  json.member("unscanned", sums.unscanned);
  json.member("uncertain", sums.uncertain);
  json.member("allocations", sums.allocations);
  json.member("allocated_bytes", sums.allocated_bytes);
  write_json(json.key("definite"), sums.definite);
  write_json(json.key("indirect"), sums.indirect);
  write_json(json.key("possible"), sums.possible);
  json.member("bad_frees", sums.bad_releases);
  json.member("double_frees", sums.double_releases);
  json.member("mismatched_frees", sums.mismatched_releases);
  json.member("lost_events", sums.lost_events);
}

namespace {

void write_note(JsonWriter& json, const model::Note& note, const std::optional<uint64_t>& scan) {
  const JsonObject object(json);
  json.member("kind", findings::name_of(note.kind));
  json.member("scan", scan);
  json.member("module", or_null(note.module));
  json.member("name", or_null(note.name));
  json.member("count", findings::count_of(note));
  json.key("numbers").values(note.numbers);
  json.member("text", findings::sentence_of(note));
  if (note.pid != 0) json.member("pid", note.pid);
}

}  // namespace

void write_notes(JsonWriter& json, const report::Report& report) {
  for (const model::Note& note : report.capture.notes) write_note(json, note, std::nullopt);
  if (!report.leaks.scanned) return;
  const report::ScanFacts& scan = report.leaks.scan;
  for (const model::Note& note : scan.notes) write_note(json, note, known<uint64_t>(scan.number != 0, scan.number));
}

namespace {

const char* name_of(model::SymbolHint::Lack lack) {
  using Lack = model::SymbolHint::Lack;
  switch (lack) {
    case Lack::kFile:
      return "file";
    case Lack::kSameFile:
      return "same_file";
    case Lack::kSymbols:
      return "symbols";
    case Lack::kParts:
      return "parts";
    case Lack::kReadable:
      return "readable";
    case Lack::kLines:
      break;
  }
  return "lines";
}

// Hints for the reader of the report; gaps of the recording are in the notes.
void write_warnings(JsonWriter& json, const report::Report& report) {
  json.begin_array();
  if (report.unmatched) {
    const JsonObject warning(json);
    json.member("kind", "unmatched_filter");
    json.member("filter", report.filter);
  }
  for (const model::SymbolHint& hint : report.symbol_hints) {
    const JsonObject warning(json);
    json.member("kind", "symbols");
    json.member("module", hint.path);
    json.member("lacks", name_of(hint.lack));
    json.member("functions_without_names", hint.without_names);
    json.member("asked_debuginfod", hint.asked_servers);
    if (!hint.servers_failure.empty()) json.member("debuginfod_failure", hint.servers_failure);
    if (!hint.missing_part.empty()) json.member("missing_file", hint.missing_part);
    if (hint.other_path.empty()) continue;
    json.member("build_id", hint.build_id);
    json.member("other_file", hint.other_path);
    json.member("other_build_id", hint.other_build_id);
  }
  json.end_array();
}

void write_sampling(JsonWriter& json, const model::Capture& capture) {
  const JsonObject object(json);
  json.member("interval_bytes", capture.sample_interval);
  json.member("confidence", report::kSampleConfidence);
  json.key("calls").begin_array();
  for (const model::ThreadCalls& calls : capture.calls) {
    const JsonObject of_thread(json);
    json.member("thread", calls.thread);
    json.member("allocations", calls.allocations);
    json.member("allocated_bytes", calls.allocated_bytes);
    json.member("frees", calls.releases);
  }
  json.end_array();
}

// If another tool counted something other than time; else null.
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

void write_capture(JsonWriter& json, const report::Report& report) {
  const model::Capture& capture = report.capture;
  const bool is_own = capture.import.tool.empty();
  const JsonObject object(json);
  json.member("via", capture.via);
  json.member("complete", capture.ended && !capture.truncated && capture.lost_events == 0 && capture.gaps == 0 &&
                              capture.from_start);
  {
    const JsonObject known_of(json.key("known"));
    json.member("leaks", report.known.leaks);
    json.member("releases", report.known.releases);
  }
  json.key("gaps").begin_array();
  for (const report::Gap gap : report.known.gaps) json.value(findings::name_of(gap));
  json.end_array();
  json.member("from_start", capture.from_start);
  json.member("start_unix_ns", known(is_own, capture.start_unix_ns));
  json.member("duration_ns", known(capture.ended && capture.import.has_times(), capture.duration_ns));
  json.member("known_until_ns", capture.known_until_ns);
  json.member("time_resolution_ns", known(capture.import.has_times(), capture.time_resolution_ns));
  json.member("events", known(capture.ended && capture.import.tells(model::kNotRecordedCounts), capture.event_count));
  json.member("events_kept", report.has_events);
  json.member("lost_events", capture.lost_events);
  if (capture.sample_interval != 0) write_sampling(json.key("sampling"), capture);
  json.member("paused_by_tracer_ns", capture.paused_by_tracer_ns);
  json.member("truncated", capture.truncated);
  json.member("running", capture.running);
  json.member("damage", or_null(capture.damage));
  json.member("heaptap_version", capture.heaptap_version);
  if (!is_own) json.member("imported_from", capture.import.tool);
  if (const char* const unit = unit_of(capture)) json.member("unit_of_times", unit);
}

JsonDocument::JsonDocument(const char* format, int version, const report::Write& write) : pieces_(write) {
  pieces_.json().begin_object(JsonLayout::kLinePerEntry);
  member("format", std::string("heaptap-") + format);
  member("version", version);
}

JsonDocument::JsonDocument(const char* view, const report::Report& report, Version version, const report::Write& write)
    : JsonDocument(view, static_cast<int>(version), write) {
  write_target(key("target"), report.capture);
  write_capture(key("capture"), report);
  key("notes").begin_array();
  write_notes(pieces_.json(), report);
  pieces_.json().end_array();
  write_warnings(key("warnings"), report);
  member("filter", or_null(report.filter));
  if (report.window) write_window(key("window"), *report.window);
  if (!report.marks.empty()) list("marks", report.marks, write_mark);
  if (!report.ignored.rules.empty()) write_ignored(key("ignored"), report.ignored, report.totals);
}

void JsonDocument::tables(const JsonStacks& stacks) {
  if (stacks.version() == Version::kNodes) stacks.write_nodes(key("nodes"), [this] { pieces_.flush(); });
  list("frames", stacks.frames());
}

JsonDocument::~JsonDocument() { pieces_.json().end_object(); }

JsonWriter& JsonDocument::key(const char* name) {
  pieces_.flush();
  return pieces_.json().key(name);
}

}  // namespace heaptap::json
