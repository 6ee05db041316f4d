#include "common/control/control_messages.h"

#include <string_view>

#include "common/model/signal_number.h"

namespace heaptap::control {
namespace {

using message::Fields;

bool flag_in(const Fields& fields, Field field) { return fields.number_or_0(field) != 0; }

Fields entry_of(const Process& process) {
  Fields entry;
  entry.add(Field::kPid, process.pid);
  entry.add(Field::kParentPid, process.parent_pid);
  entry.add(Field::kImage, process.image);
  entry.add(Field::kProgram, process.program);
  entry.add(Field::kVia, process.via);
  entry.add(Field::kTraceName, process.trace);
  entry.add(Field::kIsRecorded, process.runs);
  if (process.runs) {
    entry.add(Field::kIsOn, process.is_on);
  } else {
    entry.add(Field::kHasExecuted, process.executed);
    entry.add(Field::kIsDetached, process.detached);
    add_exit(entry, process.exit);
  }
  return entry;
}

Process process_in(const Fields& entry) {
  return {.pid = entry.small_number(Field::kPid),
          .parent_pid = entry.small_number(Field::kParentPid),
          .image = entry.small_number(Field::kImage),
          .program = entry.text_or_empty(Field::kProgram),
          .via = entry.text_or_empty(Field::kVia),
          .trace = entry.text_or_empty(Field::kTraceName),
          .runs = flag_in(entry, Field::kIsRecorded),
          .is_on = flag_in(entry, Field::kIsOn),
          .executed = flag_in(entry, Field::kHasExecuted),
          .detached = flag_in(entry, Field::kIsDetached),
          .exit = exit_in(entry)};
}

Fields entry_of(const model::Mark& mark) {
  Fields entry;
  entry.add(Field::kNumber, mark.number);
  entry.add(Field::kMarkKind, static_cast<uint64_t>(mark.kind));
  entry.add(Field::kName, mark.name);
  entry.add(Field::kTimeNs, mark.time_ns);
  entry.add(Field::kEventsBefore, mark.events_before);
  entry.add(Field::kThread, mark.thread);
  return entry;
}

model::Mark mark_in(const Fields& entry) {
  const uint64_t kind = entry.number_or_0(Field::kMarkKind);
  const bool is_known = kind <= static_cast<uint64_t>(model::MarkKind::kEarlier);
  return {.number = entry.small_number(Field::kNumber),
          .kind = is_known ? static_cast<model::MarkKind>(kind) : model::MarkKind::kNamed,
          .name = entry.text_or_empty(Field::kName),
          .time_ns = entry.number_or_0(Field::kTimeNs),
          .events_before = entry.number_or_0(Field::kEventsBefore),
          .thread = entry.small_number(Field::kThread)};
}

bool has_number(News::Kind kind) {
  return kind == News::Kind::kScanned || kind == News::Kind::kMarked || kind == News::Kind::kSwitchedOn ||
         kind == News::Kind::kSwitchedOff;
}

bool has_text(News::Kind kind) {
  return kind == News::Kind::kBegan || kind == News::Kind::kExecuted ||
         (has_number(kind) && kind != News::Kind::kScanned);
}

// Invalid entries are left out.
template <typename Entry>
std::vector<Entry> entries_in(const Fields& fields, Entry (*decode)(const Fields&)) {
  std::vector<Entry> entries;
  for (const std::string_view bytes : fields.texts(Field::kEntry)) {
    if (const auto entry = Fields::read(bytes)) entries.push_back(decode(*entry));
  }
  return entries;
}

}  // namespace

void add_exit(Fields& fields, const model::ExitStatus& exit) {
  fields.add_known(Field::kExitCode, exit.code);
  fields.add_known(Field::kExitSignal, exit.signal);
}

model::ExitStatus exit_in(const Fields& fields) {
  constexpr uint64_t kMaxCode = 255;
  const auto number = [&fields](Field field, uint64_t max) -> std::optional<int> {
    const auto value = fields.number(field);
    return value && *value <= max ? std::optional(static_cast<int>(*value)) : std::nullopt;
  };
  return {.code = number(Field::kExitCode, kMaxCode), .signal = number(Field::kExitSignal, model::kMaxSignal)};
}

Fields encode(const ProcessRequest& request) {
  Fields fields;
  fields.add_known(Field::kPid, request.pid);
  return fields;
}

ProcessRequest decode_process_request(const Fields& fields) { return {.pid = fields.number(Field::kPid)}; }

Fields encode(const MarkRequest& request) {
  Fields fields;
  fields.add_known(Field::kPid, request.pid);
  fields.add_known(Field::kMarkKind, request.kind);
  fields.add(Field::kName, request.name);
  return fields;
}

MarkRequest decode_mark_request(const Fields& fields) {
  return {.pid = fields.number(Field::kPid),
          .kind = fields.number(Field::kMarkKind),
          .name = fields.text_or_empty(Field::kName)};
}

Fields encode(const DepthRequest& request) {
  Fields fields;
  fields.add(Field::kDepth, request.depth);
  return fields;
}

DepthRequest decode_depth_request(const Fields& fields) { return {.depth = fields.number_or_0(Field::kDepth)}; }

Fields encode(const SnapshotRequest& request) {
  Fields fields;
  fields.add_known(Field::kPid, request.pid);
  if (request.image != 0) fields.add(Field::kImage, request.image);
  return fields;
}

SnapshotRequest decode_snapshot_request(const Fields& fields) {
  return {.pid = fields.number(Field::kPid), .image = fields.small_number(Field::kImage)};
}

Fields encode(const KillRequest& request) {
  Fields fields;
  fields.add_known(Field::kPid, request.pid);
  fields.add(Field::kSignal, request.signal);
  return fields;
}

KillRequest decode_kill_request(const Fields& fields) {
  return {.pid = fields.number(Field::kPid), .signal = fields.text_or_empty(Field::kSignal)};
}

Fields encode(std::span<const Process> processes) {
  Fields fields;
  for (const Process& process : processes) fields.add(Field::kEntry, entry_of(process));
  return fields;
}

std::vector<Process> decode_processes(const Fields& fields) { return entries_in<Process>(fields, process_in); }

Fields encode(const Figures& figures) {
  Fields fields;
  fields.add(Field::kPid, figures.pid);
  fields.add(Field::kTimeNs, figures.time_ns);
  fields.add(Field::kEvents, figures.events);
  fields.add(Field::kLostEvents, figures.lost_events);
  fields.add(Field::kLogUsedBytes, figures.log_used_bytes);
  fields.add(Field::kLogLimitBytes, figures.log_limit_bytes);
  fields.add(Field::kTraceBytes, figures.trace_bytes);
  fields.add(Field::kMarkCount, figures.marks);
  fields.add(Field::kScanCount, figures.scans);
  fields.add(Field::kIsOn, figures.is_on);
  fields.add(Field::kCollectorCpuNs, figures.collector_cpu_ns);
  fields.add_known(Field::kResidentBytes, figures.resident_bytes);
  fields.add_known(Field::kTargetCpuNs, figures.target_cpu_ns);
  fields.add_known(Field::kPausedByTracerNs, figures.paused_by_tracer_ns);
  return fields;
}

Figures decode_figures(const Fields& fields) {
  return {.pid = fields.small_number(Field::kPid),
          .time_ns = fields.number_or_0(Field::kTimeNs),
          .events = fields.number_or_0(Field::kEvents),
          .lost_events = fields.number_or_0(Field::kLostEvents),
          .log_used_bytes = fields.number_or_0(Field::kLogUsedBytes),
          .log_limit_bytes = fields.number_or_0(Field::kLogLimitBytes),
          .trace_bytes = fields.number_or_0(Field::kTraceBytes),
          .resident_bytes = fields.number(Field::kResidentBytes),
          .target_cpu_ns = fields.number(Field::kTargetCpuNs),
          .collector_cpu_ns = fields.number_or_0(Field::kCollectorCpuNs),
          .is_on = flag_in(fields, Field::kIsOn),
          .marks = fields.small_number(Field::kMarkCount),
          .scans = fields.small_number(Field::kScanCount),
          .paused_by_tracer_ns = fields.number(Field::kPausedByTracerNs)};
}

Fields encode(const Settings& settings) {
  Fields fields;
  fields.add(Field::kPid, settings.collector_pid);
  fields.add(Field::kHeaptapVersion, settings.heaptap_version);
  fields.add(Field::kVia, settings.via);
  fields.add(Field::kDepth, settings.depth);
  fields.add(Field::kFollowsFork, settings.follows_fork);
  fields.add(Field::kFollowsExec, settings.follows_exec);
  fields.add(Field::kScansAtEnd, settings.scans_at_end);
  fields.add(Field::kDropsOnOverflow, settings.drops_on_overflow);
  for (const std::string& argument : settings.command) fields.add(Field::kArgument, argument);
  return fields;
}

Settings decode_settings(const Fields& fields) {
  Settings settings{.collector_pid = fields.small_number(Field::kPid),
                    .heaptap_version = fields.text_or_empty(Field::kHeaptapVersion),
                    .via = fields.text_or_empty(Field::kVia),
                    .depth = fields.small_number(Field::kDepth),
                    .follows_fork = flag_in(fields, Field::kFollowsFork),
                    .follows_exec = flag_in(fields, Field::kFollowsExec),
                    .scans_at_end = flag_in(fields, Field::kScansAtEnd),
                    .drops_on_overflow = flag_in(fields, Field::kDropsOnOverflow),
                    .command = {}};
  for (const std::string_view argument : fields.texts(Field::kArgument)) settings.command.emplace_back(argument);
  return settings;
}

Fields encode(std::span<const model::Mark> marks) {
  Fields fields;
  for (const model::Mark& mark : marks) fields.add(Field::kEntry, entry_of(mark));
  return fields;
}

std::vector<model::Mark> decode_marks(const Fields& fields) { return entries_in<model::Mark>(fields, mark_in); }

Fields encode(const Scanned& scanned) {
  Fields fields;
  fields.add(Field::kPid, scanned.pid);
  fields.add(Field::kNumber, scanned.number);
  return fields;
}

Scanned decode_scanned(const Fields& fields) {
  return {.pid = fields.small_number(Field::kPid), .number = fields.small_number(Field::kNumber)};
}

Fields encode(const Snapshot& snapshot) {
  Fields fields;
  fields.add(Field::kPid, snapshot.pid);
  fields.add(Field::kImage, snapshot.image);
  fields.add(Field::kTraceBytes, snapshot.trace_bytes);
  fields.add_known(Field::kEvents, snapshot.events);
  fields.add_known(Field::kTimeNs, snapshot.time_ns);
  fields.add(Field::kTraceName, snapshot.trace);
  return fields;
}

Snapshot decode_snapshot(const Fields& fields) {
  return {.pid = fields.small_number(Field::kPid),
          .image = fields.small_number(Field::kImage),
          .trace_bytes = fields.number_or_0(Field::kTraceBytes),
          .events = fields.number(Field::kEvents),
          .time_ns = fields.number(Field::kTimeNs),
          .trace = fields.text_or_empty(Field::kTraceName)};
}

Fields encode(const News& news) {
  Fields fields;
  fields.add(Field::kNewsKind, static_cast<uint64_t>(news.kind));
  fields.add(Field::kPid, news.pid);
  if (news.kind == News::Kind::kBegan) fields.add(Field::kParentPid, news.parent_pid);
  if (has_number(news.kind)) fields.add(Field::kNumber, news.number);
  if (has_text(news.kind)) fields.add(Field::kText, news.text);
  add_exit(fields, news.exit);
  return fields;
}

std::optional<News> decode_news(const Fields& fields) {
  const uint64_t kind = fields.number_or_0(Field::kNewsKind);
  if (kind == 0 || kind > static_cast<uint64_t>(News::Kind::kSwitchedOff)) return std::nullopt;
  return News{.kind = static_cast<News::Kind>(kind),
              .pid = fields.small_number(Field::kPid),
              .parent_pid = fields.small_number(Field::kParentPid),
              .number = fields.small_number(Field::kNumber),
              .exit = exit_in(fields),
              .text = fields.text_or_empty(Field::kText)};
}

}  // namespace heaptap::control
