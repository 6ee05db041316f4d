// Final lines of `heaptap run` and `attach`: at most 12.
//
//   how it ended, peak ┬ mapped memory, its sites ┬ leaks, or still reachable memory ┬ their stacks ┬ reachable memory behind small leaks ┬
//   bad releases ┬ processes ┬ warnings ┬ next
//
// Parts of several lines share the lines that the others leave.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/frame_text.h"
#include "analysis/findings/ignored_text.h"
#include "analysis/findings/mapped_text.h"
#include "analysis/findings/note_text.h"
#include "analysis/findings/outcome.h"
#include "analysis/findings/resident_text.h"
#include "analysis/findings/sampling_text.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/findings/text_safe.h"
#include "analysis/findings/tracer_pauses.h"
#include "analysis/findings/words.h"
#include "analysis/report/focus.h"
#include "analysis/report/leak_weight.h"
#include "analysis/report/process_sums.h"
#include "common/base/safe_text.h"
#include "common/base/shell_word.h"
#include "common/base/units.h"
#include "views/text/end_sites.h"
#include "views/text/render_text.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;

using Lines = std::vector<std::string>;

constexpr std::string_view kLinePrefix = "heaptap: ";
constexpr size_t kMaxLines = 12;
constexpr size_t kMaxRemarks = 3;
constexpr size_t kMaxSummaryStacks = 5;
constexpr size_t kMaxBehindLeaks = 2;  // sites of the peak, or of what is reachable
constexpr size_t kMaxMapped = 2;       // sites of mapped memory
constexpr size_t kMaxSummaryErrors = 3;
constexpr size_t kMaxProcesses = 6;

// The program before it executed this one; null: not recorded.
const report::ProcessEntry* before_exec(const report::Report& report) {
  if (report.capture.executed) return nullptr;
  for (size_t i = 1; i < report.processes.size(); ++i) {  // the first is the report's own
    const report::ProcessEntry& process = report.processes[i];
    if (process.capture.pid == report.capture.pid && process.capture.executed) return &process;
  }
  return nullptr;
}

// "peak 21.5 MiB (at the end: it was still growing)"
std::string peak_text(const report::Report& report) {
  const report::Totals& totals = report.totals;
  const std::optional<uint64_t> bytes = totals.peak_live_bytes.if_known();
  if (!bytes) return "peak unknown";
  std::string text = "peak " + format_bytes(*bytes) + findings::bytes_error_text(totals.peak_error_bytes);
  if (report.grows_to_the_end) return text + " (at the end: it was still growing)";
  if (const auto time_ns = totals.peak_time_ns.if_known(); time_ns && *bytes != 0)
    text += " after " + base::format_duration(*time_ns);
  return text;
}

std::string title_line(const report::Report& report) {
  const model::Capture& capture = report.capture;
  const report::ProcessEntry* const wrapper = before_exec(report);
  const std::string by =
      wrapper != nullptr ? fmt::format(", executed by {}", findings::program_of(wrapper->capture)) : "";
  const std::string after = capture.ended ? " after " + base::format_duration(capture.duration_ns) : "";
  return fmt::format("{} (pid {}{}) {}{}: {}, {}", findings::command_of(capture), capture.pid, by,
                     findings::ending_text(capture), after,
                     findings::counted(report.totals.allocations.counted(), "allocation"), peak_text(report));
}

// "killed by SIGSEGV in parse json.cc:41 < load app.cc:12 < main app.cc:20"
Lines crash_lines(const report::Report& report, const RenderOptions& options) {
  if (!report.crash) return {};
  const findings::FrameText frames(report.frames, report.skipped, options.frames);
  const std::string how = findings::ending_text(report.capture) + " in ";
  const size_t taken = kLinePrefix.size() + how.size();
  return {how +
          frames.describe_crash(report.list(report.crash->frames), options.width - std::min(options.width, taken))};
}

// If the program's own mappings are larger than its heap.
Lines mapping_lines(const report::Totals& totals) {
  const model::MappedLevels& mapped = totals.mapped;
  const bool is_known = mapped.are_known();
  const model::MappedLevel memory =
      is_known ? mapped.memory
               : model::MappedLevel{totals.mapped_live_bytes.counted(), totals.peak_mapped_bytes.counted()};
  if (!totals.peak_mapped_bytes.is_known() || memory.peak_bytes <= totals.peak_live_bytes.counted()) return {};
  std::string text = fmt::format("mmap: peak {}, {} mapped at the end", format_bytes(memory.peak_bytes),
                                 format_bytes(memory.live_bytes));
  const std::string others = findings::beside_memory(findings::bytes_of(mapped));
  if (!is_known) return {text + " (address space: how much was only reserved is unknown)"};
  return {others.empty() ? text : text + "; besides " + others};
}

// "95.4 MiB still reachable, 95.4 MiB of them by global g_table (table.cc:7)"
std::string held_text(const report::Report& report) {
  const std::string text = format_bytes(report.leaks.reachable.bytes) + " still reachable";
  const std::string retained = findings::retained_text(report);
  return retained.empty() ? text : text + ", " + retained;
}

std::string reachable_text(const report::Report& report) {
  const report::Leaks& leaks = report.leaks;
  std::string text = report::leaks_at_all(leaks) ? "no definite leaks" : "no leaks";
  text += findings::limit_of_no_leaks(report);
  return leaks.reachable.blocks == 0 ? text : text + "; " + held_text(report);
}

// What leaks don't explain: how much is reachable, who holds it, and its sites.
Lines behind_leaks(const report::Report& report, const findings::FrameText& frames, size_t width) {
  Lines lines = reachable_lines(report, frames, kMaxBehindLeaks, width);
  if (!lines.empty()) lines.insert(lines.begin(), held_text(report));
  return lines;
}

// The most important leaks; empty: none.
std::string lost_text(report::BlockCount definite, const report::BlockCount& indirect,
                      const report::BlockCount& possible, const report::BlockCount& in_pools) {
  definite += indirect;
  if (definite.blocks != 0) return "leaked " + findings::exact_amount(definite);
  if (in_pools.blocks != 0) return fmt::format("leaked {} of its pools", findings::exact_amount(in_pools));
  return possible.blocks != 0 ? "possibly leaked " + findings::exact_amount(possible) : "";
}

// What is reachable, before possible leaks that are small against it.
std::string leaks_behind_text(const report::Report& report) {
  return fmt::format("{}; {}{}", reachable_text(report), findings::leaks_text(report.leaks),
                     findings::doubt_of_leaks(report.leaks));
}

// The most important line.
std::string outcome_line(const report::Report& report) {
  const report::Leaks& leaks = report.leaks;
  if (!report.known.any) return fmt::format("UNKNOWN: {}", findings::nothing_seen_text(report));
  std::string text =
      !leaks.scanned                             ? (report.totals.live_bytes.is_known()
                                                        ? fmt::format("{} not freed in {} (no leak scan: leaks unknown)",
                                                                      format_bytes(report.totals.live_bytes.counted()),
                                                                      findings::counted(report.totals.live_blocks.counted(), "block"))
                                                        : "leaks unknown")
      : report::leaks_lead(report.totals, leaks) ? findings::leaks_text(leaks) + findings::doubt_of_leaks(leaks)
      : report::leaks_at_all(leaks)              ? leaks_behind_text(report)
                                                 : reachable_text(report);
  if (leaks.scanned && leaks.suppressed.blocks != 0) text += "; suppressed " + findings::exact_amount(leaks.suppressed);
  if (leaks.scanned && leaks.ignored.blocks != 0) text += "; ignored " + findings::exact_amount(leaks.ignored);
  return text;
}

// Cause of the resident memory that is free: "  263.0 MiB of it kept resident by 66,667 blocks  #3  keep frag.cc:9".
std::string free_memory_line(const report::Report& report, const RenderOptions& options) {
  const std::optional<findings::FreeMemory> found = findings::free_memory_of(report);
  if (!found) return "";
  if (found->stack == nullptr) return "  " + found->text;
  const std::string begin = fmt::format("  {}  #{}  ", found->text, found->stack->stack_id);
  const findings::FrameText frames(report.frames, report.skipped, options.frames);
  const size_t taken = kLinePrefix.size() + begin.size();
  return begin +
         frames.describe_site(report.list(found->stack->frames), options.width - std::min(options.width, taken));
}

// Which would come first.
bool is_nothing_wrong(const report::Report& report) {
  return report.errors.empty() && !report::leaks_weigh(report.totals, report.leaks);
}

// Whether `next:` is about free memory.
bool is_about_free_memory(const report::Report& report) {
  return is_nothing_wrong(report) && findings::free_memory_of(report);
}

// Whether `next:` is about mapped memory: that is most of what is left.
bool is_about_mapped_memory(const report::Report& report) {
  const report::Totals& totals = report.totals;
  return report::mapped_leads(totals, totals.peak_live_bytes.counted()) &&
         totals.mapped.memory.live_bytes > totals.live_bytes.counted() && is_nothing_wrong(report);
}

std::string place_of(const report::Report& report, const std::vector<report::FrameIndex>& frames) {
  const model::Frame* const frame = findings::telling_frame(report.list(frames), report.skipped);
  return frame == nullptr ? "unknown place" : base::safe_text(findings::location_of(*frame));
}

// "1 double free at df.cc:3, allocated at df.cc:1": equal errors are added up.
Lines error_lines(const report::Report& report, size_t most) {
  struct Line {
    const char* noun;
    std::string rest;
    uint64_t count;
  };
  std::vector<Line> equal;
  for (const report::ErrorEntry& error : report.errors) {
    const findings::ErrorName name = findings::name_of(error);
    Line named{name.noun, name.rest + " at " + place_of(report, error.frames), error.count};
    if (error.allocated) named.rest += ", allocated at " + place_of(report, error.allocated->frames);
    const auto same = std::ranges::find_if(equal, [&named](const Line& line) {
      return line.rest == named.rest && std::string_view(line.noun) == named.noun;
    });
    if (same != equal.end())
      same->count += named.count;
    else
      equal.push_back(std::move(named));
  }
  Lines lines;
  for (const Line& line : equal) {
    if (lines.size() == most) break;
    lines.push_back(findings::counted(line.count, line.noun) + line.rest);
  }
  if (!lines.empty() && equal.size() > lines.size()) {
    lines.back() += fmt::format("; {} more places", equal.size() - lines.size());
  }
  return lines;
}

// If they aren't listed.
std::string error_counts(const report::Totals& totals) {
  std::string text;
  const auto add = [&](const base::Known<uint64_t>& number, const char* noun) {
    const uint64_t count = number.counted();
    if (count != 0) text += (text.empty() ? "" : ", ") + findings::counted(count, noun);
  };
  add(totals.double_releases, "double free");
  add(totals.bad_releases, "invalid free");
  add(totals.mismatched_releases, "mismatched free");
  return text;
}

// Processes other than the summary's own.
std::vector<const report::ProcessEntry*> other_processes(const report::Report& report) {
  return report.processes.empty() ? std::vector<const report::ProcessEntry*>()
                                  : report::largest_first(std::span(report.processes).subspan(1));
}

std::string process_line(const report::ProcessEntry& process) {
  const model::Capture& capture = process.capture;
  std::string text = fmt::format("  {} (pid {}) ", findings::program_of(capture), capture.pid);
  if (!process.failure.empty()) return text + "unknown: " + base::safe_text(process.failure);
  const report::Totals& totals = process.totals;
  text += findings::ending_text(capture);
  text += ", peak " + number_or("unknown", totals.peak_live_bytes, format_bytes) +
          findings::bytes_error_text(totals.peak_error_bytes);
  if (report::mapped_leads(totals, totals.peak_live_bytes.counted()))
    text += fmt::format(", {} mapped", format_bytes(totals.mapped.memory.peak_bytes));
  const report::Leaks& leaks = process.leaks;
  if (!capture.executed) {
    text += !leaks.scanned || !process.known.any ? ", leaks unknown"
            : report::leaks_at_all(leaks)
                ? ", " + lost_text(leaks.definite, leaks.indirect, leaks.possible, report::lost_in_pools(leaks))
            : process.known.leaks ? ", no leaks"
                                  : ", no leaks found";
  }
  if (const std::string errors = error_counts(totals); !errors.empty()) text += ", " + errors;
  return text + ": " + base::safe_text(process.trace_path);
}

std::string all_processes_line(const report::Report& report) {
  std::set<uint32_t> ids;
  for (const report::ProcessEntry& process : report.processes) ids.insert(process.capture.pid);
  const report::ProcessSums sums = report::sum_of(report.processes);
  std::string text = ids.size() == 1 ? fmt::format("all {} programs of this process", report.processes.size())
                                     : fmt::format("all {} processes", ids.size());
  text += ": " + findings::counted(sums.allocations, "allocation");
  const std::string lost = lost_text(sums.definite, sums.indirect, sums.possible, sums.lost_in_pools);
  if (!lost.empty())
    text += ", " + lost;
  else if (sums.unscanned == 0 && sums.failed == 0)
    text += sums.uncertain != 0 ? ", no leaks found"
            : std::ranges::all_of(report.processes,
                                  [](const report::ProcessEntry& process) { return process.known.children; })
                ? ", no leaks"
                : ", no leaks in what was recorded";
  if (sums.errors() != 0) text += ", " + findings::counted(sums.errors(), "bad free");
  if (sums.unscanned != 0)
    text += fmt::format("; leaks of {} unknown",
                        sums.unscanned == 1 ? "1 process" : format_count(sums.unscanned) + " processes");
  if (sums.failed != 0) text += fmt::format("; {} can't be read", findings::counted(sums.failed, "trace"));
  return text;
}

// A program without events that executed another one has no line.
bool is_worth_a_line(const report::ProcessEntry* process) {
  return !process->capture.executed || !process->failure.empty() || report::leaks_at_all(process->leaks) ||
         !error_counts(process->totals).empty();
}

// Behind the line of the process with this trace; empty: none.
struct MapperSite {
  std::string trace_path;
  std::string line;
};

MapperSite site_of_mapper(const report::Report* mapper, const RenderOptions& options, size_t width) {
  if (mapper == nullptr) return {};
  const findings::FrameText frames(mapper->frames, mapper->skipped, options.frames);
  Lines lines = mapped_lines(*mapper, frames, 1, width - std::min<size_t>(width, 2));
  return lines.empty() ? MapperSite{} : MapperSite{mapper->trace_path, "  " + lines.front()};
}

Lines process_lines(const report::Report& report, size_t most, bool all, const MapperSite& mapper) {
  if (report.processes.empty() || most == 0) return {};
  Lines lines{all_processes_line(report)};
  std::vector<const report::ProcessEntry*> others = other_processes(report);
  if (!all) std::erase_if(others, [](const report::ProcessEntry* process) { return !is_worth_a_line(process); });
  const size_t room = most - 1;
  for (size_t i = 0; i < others.size(); ++i) {
    const bool is_last = lines.size() == room;
    if (room == 0) break;
    if (is_last && i + 1 < others.size()) {
      lines.push_back(fmt::format("  and {} more (-v lists them)", others.size() - i));
      break;
    }
    lines.push_back(process_line(*others[i]));
    const bool is_mapper = !mapper.line.empty() && others[i]->trace_path == mapper.trace_path;
    const size_t end = i + 1 == others.size() ? most : room;
    if (is_mapper && lines.size() < end) lines.push_back(mapper.line);
  }
  return lines;
}

// Whether the note prevents a verdict, and doesn't only make it less exact.
bool decides_verdict(const model::Note& note) {
  using enum model::NoteKind;
  constexpr std::array kDeciding{
      kAgentNotLoaded,         kNotAnswered,     kNoCallSeen,        kOwnAllocator,        kStaticAndStripped,
      kStaticWithoutFunctions, kMemoryNotOpened, kChildrenUnreached, kChildrenNotFollowed, kChildExecNotRecorded,
      kExecNotRecorded,        kExecNotFollowed, kExecRefused,       kNoScanAtEnd,         kNoTracedScanAtEnd,
      kNoScanTracerLeft,       kCallsPastHooks,  kNoScanAfterExec,   kOtherNamesCalled,    kUnwatchedFunctions};
  return std::ranges::find(kDeciding, note.kind) != kDeciding.end();
}

// Lost events, and gaps of the recording.
Lines remark_lines(const report::Report& report, size_t most) {
  Lines lines;
  if (std::string ignored = findings::ignored_text(report); !ignored.empty()) lines.push_back(std::move(ignored));
  if (report.capture.lost_events != 0) {
    lines.push_back(
        fmt::format("! {} lost: the numbers are not exact", findings::counted(report.capture.lost_events, "event")));
  }
  if (const std::string sampling = findings::sampling_sentence(report); !sampling.empty())
    lines.push_back("! " + sampling);
  std::vector<model::Note> deciding = report.capture.notes;
  const auto rest = std::ranges::stable_partition(deciding, decides_verdict);
  const std::vector<model::Note> others(rest.begin(), rest.end());
  deciding.erase(rest.begin(), rest.end());
  const auto add_notes = [&lines](const std::vector<model::Note>& notes) {
    for (const std::string& note : findings::sentences_of(notes)) lines.push_back("! " + base::safe_text(note));
  };
  add_notes(deciding);
  // If nothing was seen, the outcome says so.
  if (const std::string uncertainty = findings::uncertainty_of(report); !uncertainty.empty() && report.known.any) {
    lines.push_back("! " + uncertainty);
  }
  if (report.capture.truncated) {
    lines.push_back((report.capture.running ? "! " : "! incomplete: ") + base::safe_text(report.capture.damage));
  }
  add_notes(others);
  for (const std::string& fault : findings::program_faults(report.leaks.scan.notes)) lines.push_back("! " + fault);
  if (const std::string pauses = findings::pauses_sentence(report.capture); !pauses.empty())
    lines.push_back("! " + pauses);
  for (const std::string& hint : findings::hints_of(report)) {
    lines.push_back("hint: " + base::safe_text(hint));
  }
  if (lines.size() > most) {
    // The first one is always shown.
    const size_t kept = std::max<size_t>(most, 2) - 1;
    const std::string more =
        fmt::format("{}: heaptap show summary {}", findings::counted(lines.size() - kept, "more warning"),
                    base::safe_text(base::shell_word(report.trace_path)));
    lines.resize(kept);
    if (most > 1)
      lines.push_back("! " + more);
    else
      lines.back() += "; " + more;
  }
  return lines;
}

// Process that is told in place of the first one; null: none.
struct Told {
  const report::Report* report = nullptr;
  bool is_largest = false;  // for its memory, and not for its leaks
  bool maps_most = false;
};

Told told_of(const report::Report& report, const report::Report* told, const report::Report* mapper) {
  if (told == nullptr) return {};
  const report::ProcessEntry* const largest = report::largest_of_run(report.processes);
  return {.report = told,
          .is_largest = largest != nullptr && largest->trace_path == told->trace_path,
          .maps_most = mapper != nullptr && mapper->trace_path == told->trace_path};
}

// "child (pid 7): LEAKED 7,945 bytes in 500 blocks"
std::string leaks_line(const report::Report& report) {
  return fmt::format("{} (pid {}): {}", findings::program_of(report.capture), report.capture.pid, outcome_line(report));
}

// The same, or "largest: child (pid 7), peak 50.1 MiB after 12.0 ms, 158.1 MiB mapped; no leaks".
std::string told_line(const Told& told) {
  const report::Report& report = *told.report;
  if (!told.is_largest && report::leaks_for_certain(report.leaks)) return leaks_line(report);
  const std::string mapped =
      told.maps_most ? fmt::format(", {} mapped", format_bytes(report.totals.mapped.memory.peak_bytes)) : "";
  return fmt::format("largest: {} (pid {}), {}{}; {}", findings::program_of(report.capture), report.capture.pid,
                     peak_text(report), mapped, outcome_line(report));
}

// Distribution of `room` lines over parts that want so many each: one line to each part in turn, as long as it fits.
template <size_t kParts>
std::array<size_t, kParts> share(size_t room, const std::array<size_t, kParts>& wanted,
                                 const std::array<size_t, kParts>& least) {
  std::array<size_t, kParts> given{};
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (size_t i = 0; i < kParts; ++i) {
      const size_t next = given[i] == 0 ? std::min(least[i], wanted[i]) : 1;
      if (next == 0 || given[i] + next > wanted[i] || next > room) continue;
      given[i] += next;
      room -= next;
      goes_on = true;
    }
  }
  return given;
}

// The command that records the children as well, if that is what is missing; empty: it isn't, or the command is too long to be shown.
std::string follow_command(const report::Report& report) {
  constexpr size_t kMaxCommandBytes = 200;
  const model::Capture& capture = report.capture;
  const bool is_missing = model::has_note(capture.notes, model::NoteKind::kChildrenNotFollowed);
  if (!is_missing || !capture.from_start || capture.command.empty()) return "";
  std::string command = "heaptap run -f";
  for (const std::string& word : capture.command) command += " " + base::shell_word(word);
  return command.size() > kMaxCommandBytes || base::safe_text(command) != command ? "" : command;
}

// Command that shows the summary's findings: all leaks if several processes leak, those of this process, or of the one
// that leaks; what keeps free memory resident; who mapped most; the stacks of the peak or of temporary allocations; what retains the
// reachable memory; the largest stacks. Where nothing was found since it wasn't recorded: how to record it.
std::string next_line(const report::Report& report) {
  std::string path = report.trace_path;
  const char* view = "summary";
  const std::vector<const report::ProcessEntry*> others = other_processes(report);
  const auto leaking = std::ranges::count_if(report.processes, [](const report::ProcessEntry& process) {
    return report::leaks_lead(process.totals, process.leaks);
  });
  const bool is_about_live = report::focus_of(report) == report::Focus::kLive;
  const bool is_about_mapped = is_about_mapped_memory(report);
  if (leaking > 1 && !report.run_path.empty()) {
    path = report.run_path;
    view = "leaks";
  } else if (is_about_free_memory(report)) {
    view = "fragmentation";
  } else if (!is_about_mapped && report::leaks_lead(report.totals, report.leaks)) {
    view = "leaks";
  } else if (!is_about_mapped && !others.empty() && report::leaks_for_certain(others.front()->leaks)) {
    path = others.front()->trace_path;
    view = "leaks";
  } else if (!report.errors.empty()) {
    view = "summary";
  } else if (const std::string command = follow_command(report); !command.empty()) {
    return "next:  " + command;
  } else if (!is_about_mapped && is_about_live && report.globals &&
             (report.globals->largest() != nullptr || report.globals->shared.blocks != 0)) {
    view = "leaks --globals";
  } else if (is_about_mapped || !is_about_live || report.totals.live_bytes.if_known().value_or(0) != 0) {
    view = "top";
  }
  return fmt::format("next:  heaptap show {} {}", view, base::safe_text(base::shell_word(path)));
}

// Lines that are always there, up to the outcome.
struct Head {
  Lines lines;
  size_t behind_mapped = 0;  // where sites of mapped memory belong; 0: nowhere
};

// Leaks for certain, and not few.
bool is_bad(const report::Report& report) {
  return report::leaks_for_certain(report.leaks) && report::leaks_weigh(report.totals, report.leaks);
}

Head head_of(const report::Report& report, const RenderOptions& options, const Ink& ink, const Told& told) {
  const bool has_leaks = report::leaks_lead(report.totals, report.leaks);
  Lines lines{ink.bold(title_line(report))};
  for (const std::string& line : crash_lines(report, options)) lines.push_back(ink.red(line));
  size_t behind_mapped = 0;
  for (std::string& line : mapping_lines(report.totals)) {
    lines.push_back(std::move(line));
    behind_mapped = lines.size();
  }
  if (std::string line = findings::resident_line(report.totals); !line.empty()) {
    const bool is_elsewhere = findings::free_memory_leads(report.totals) && !is_about_free_memory(report);
    lines.push_back(line + (is_elsewhere ? " (heaptap show fragmentation)" : ""));
    if (std::string cause = free_memory_line(report, options); !cause.empty()) lines.push_back(std::move(cause));
  }
  const std::string outcome = outcome_line(report);
  // What it lost, if that is little, or that it lost nothing, is in the line of all processes.
  const bool is_told = told.report != nullptr && report.known.any && report.leaks.scanned;
  if (!is_told) lines.push_back(is_bad(report) ? ink.red(outcome) : has_leaks ? ink.yellow(outcome) : outcome);
  if (told.report != nullptr) {
    const std::string line = told_line(told);
    const bool is_red = told.is_largest ? is_bad(*told.report) : report::leaks_for_certain(told.report->leaks);
    lines.push_back(is_red ? ink.red(line) : line);
    if (told.maps_most) behind_mapped = lines.size();
  }
  if (is_told && is_bad(report)) lines.push_back(ink.red(leaks_line(report)));
  return {std::move(lines), behind_mapped};
}

}  // namespace

std::string render_end_summary(const report::Report& report, const RenderOptions& options,
                               const report::Report* told_report, const report::Report* mapper) {
  const Ink ink(options.color);
  const Told told = told_of(report, told_report, mapper);
  auto [lines, behind_mapped] = head_of(report, options, ink, told);
  const report::Report& detailed = told.report != nullptr ? *told.report : report;
  constexpr size_t kAtTheEnd = 1;
  const size_t room = kMaxLines - lines.size() - kAtTheEnd;
  const bool several = !report.processes.empty();
  const findings::FrameText frames(detailed.frames, detailed.skipped, options.frames);
  const size_t width = options.width - std::min(options.width, kLinePrefix.size());
  const bool has_leaks = report::leaks_lead(detailed.totals, detailed.leaks);
  // Of the process with the most memory, leaks that are small against it don't take the room.
  const bool are_small = told.is_largest && has_leaks && !report::leaks_weigh(detailed.totals, detailed.leaks);
  const Lines stacks = held_lines(detailed, frames, are_small ? kMaxBehindLeaks : kMaxSummaryStacks, width);
  const Lines past = past_lines(detailed, frames, has_leaks ? kMaxBehindLeaks : kMaxSummaryStacks, width);
  // Of a run in which another process mapped most, the room is that one's.
  const Lines held = mapper != nullptr && told.report == nullptr ? Lines() : behind_leaks(detailed, frames, width);
  const report::Report& mapping = told.maps_most ? detailed : report;
  const findings::FrameText mapping_frames(mapping.frames, mapping.skipped, options.frames);
  const Lines mapped = behind_mapped != 0 ? mapped_lines(mapping, mapping_frames, kMaxMapped, width) : Lines();
  const MapperSite site = told.maps_most ? MapperSite() : site_of_mapper(mapper, options, width);
  const size_t process_count = report.processes.size() + (site.line.empty() ? 0 : 1);  // and its line
  Lines errors = error_lines(report, kMaxSummaryErrors);
  if (const std::string counts = error_counts(report.totals); errors.empty() && !counts.empty()) errors = {counts};
  enum Part : size_t { kErrors, kRemarks, kStacks, kHeld, kPast, kMapped, kProcesses };
  const auto given =
      share<7>(room,
               {errors.size(), remark_lines(report, kMaxRemarks).size(), stacks.size(), held.size(), past.size(),
                mapped.size(), several ? 1 + std::min(process_count - 1, kMaxProcesses) : 0},
               {1, 1, 1, 2, 1, 1, 2});
  lines.insert(lines.end(), stacks.begin(), stacks.begin() + static_cast<ptrdiff_t>(given[kStacks]));
  lines.insert(lines.end(), held.begin(), held.begin() + static_cast<ptrdiff_t>(given[kHeld]));
  lines.insert(lines.end(), past.begin(), past.begin() + static_cast<ptrdiff_t>(given[kPast]));
  lines.insert(lines.begin() + static_cast<ptrdiff_t>(behind_mapped), mapped.begin(),
               mapped.begin() + static_cast<ptrdiff_t>(given[kMapped]));
  for (size_t i = 0; i < given[kErrors]; ++i) lines.push_back(ink.red(errors[i]));
  const size_t processes = several && options.all_processes ? process_count + 1 : given[kProcesses];
  for (std::string& line : process_lines(report, processes, options.all_processes, site)) {
    lines.push_back(std::move(line));
  }
  for (const std::string& remark : remark_lines(report, std::max<size_t>(given[kRemarks], 1))) {
    lines.push_back(ink.yellow(remark));
  }
  const bool is_about_told = told.is_largest && (is_about_free_memory(detailed) || is_about_mapped_memory(detailed));
  lines.push_back(next_line(has_leaks && !is_about_told ? report : detailed));  // several may leak
  return std::accumulate(lines.begin(), lines.end(), std::string(), [](std::string text, const std::string& line) {
    return std::move(text) + std::string(kLinePrefix) + line + "\n";
  });
}

}  // namespace heaptap::text
