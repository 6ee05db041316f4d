#include "views/top/take_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>
#include <utility>

#include "analysis/findings/frame_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/telling_frame.h"
#include "analysis/report/view.h"
#include "common/base/intervals.h"
#include "common/base/units.h"
#include "views/text/render_text.h"

namespace heaptap::top {
namespace {

constexpr size_t kSiteWidth = 180;
constexpr std::array<size_t, 7> kShorterSiteWidths{120, 90, 66, 50, 40, 34, 26};
constexpr size_t kMaxSearched = 2000;

std::string searched_text(const report::FrameList& frames, const std::string& function) {
  std::string text = function;
  std::string_view module;
  for (const model::Frame& frame : frames) {
    if (text.size() + frame.function.size() + frame.module.size() > kMaxSearched) break;
    text += '\n' + frame.function;
    if (frame.module != module) text += '\n' + frame.module;
    module = frame.module;
  }
  return text;
}

// Offsets in files, for frames without source lines, only if there is room for all: callers are more useful.
std::vector<std::string> sites_of(const findings::FrameText& text, const findings::FrameText& brief,
                                  const report::FrameList& frames) {
  std::vector<std::string> sites{text.describe_site(frames, kSiteWidth)};
  for (const size_t width : kShorterSiteWidths) {
    std::string shorter = brief.describe_site(frames, width);
    if (findings::shown_width(shorter) < findings::shown_width(sites.back())) sites.push_back(std::move(shorter));
  }
  return sites;
}

std::vector<NamedStack> named_stacks(const report::Report& report) {
  const findings::FrameText text(report.frames, report.skipped, {});
  const findings::FrameText brief(report.frames, report.skipped, {.offsets = false});
  std::vector<NamedStack> named;
  named.reserve(report.stacks.size());
  for (const report::StackEntry& stack : report.stacks) {
    const report::FrameList frames = report.list(stack.frames);
    const model::Frame* const telling = findings::telling_frame(frames, report.skipped);
    named.push_back({.id = stack.id,
                     .function = stack.function,
                     .sites = sites_of(text, brief, frames),
                     .module = telling == nullptr ? "" : telling->module,
                     .searched = searched_text(frames, stack.function),
                     .of_libraries = stack.purpose != report::Purpose::kProgram});
  }
  return named;
}

base::Result<> choose_program(client::Recording& recording, Sample& sample, client::ProgramId wanted) {
  const uint32_t pid = wanted.pid;
  auto processes = recording.processes();
  if (!processes) return std::unexpected(std::move(processes).error());
  if (processes->empty()) return base::fail("nothing is recorded");
  const client::Process* chosen = nullptr;
  for (const client::Process& process : *processes) {
    if (pid != 0 && process.pid != pid) continue;
    if (chosen == nullptr || (process.pid == chosen->pid && process.image > chosen->image)) chosen = &process;
  }
  if (chosen == nullptr) return base::fail("process {} is no longer recorded", pid);
  sample.image_count = chosen->image;
  if (wanted.image != 0) {
    const auto found = std::ranges::find_if(*processes, [&](const client::Process& process) {
      return process.pid == chosen->pid && process.image == wanted.image;
    });
    if (found == processes->end())
      return base::fail("process {} has no program {}: {} is the last one", chosen->pid, wanted.image, chosen->image);
    chosen = &*found;
  }
  sample.process = *chosen;
  std::vector<uint32_t> pids;
  for (const client::Process& process : *processes) {
    if (std::ranges::find(pids, process.pid) == pids.end()) pids.push_back(process.pid);
  }
  sample.process_count = pids.size();
  sample.place = static_cast<size_t>(std::ranges::find(pids, chosen->pid) - pids.begin());
  return {};
}

// A program that has ended is known from its trace.
client::Figures figures_of(const report::Report& report) {
  const model::Capture& capture = report.capture;
  const std::optional<report::Resident>& resident = report.totals.resident;
  return {.pid = capture.pid,
          .time_ns = capture.duration_ns,
          .events = capture.event_count,
          .lost_events = capture.lost_events,
          .log_used_bytes = capture.log_bytes_used,
          .trace_bytes = capture.trace_bytes,
          .resident_bytes = resident ? std::optional(resident->bytes) : std::nullopt,
          .target_cpu_ns = {}};
}

// Events are written to the trace in frames, about once a second: counts taken a second apart may be of the same
// moment, or of two seconds. If something was allocated, the last event has the time; else a moment a while ago is
// certain.
uint64_t counted_until(const report::Report& report, const client::Figures& figures,
                       const client::Freshness& freshness) {
  const std::chrono::nanoseconds unwritten = base::intervals().write * 3 / 2;
  if (!report.has_events) return figures.time_ns;
  if (freshness.is_behind()) return report.last_event_ns;
  return std::max(report.last_event_ns,
                  figures.time_ns - std::min(figures.time_ns, static_cast<uint64_t>(unwritten.count())));
}

query::Query sample_query(const SampleRequest& request, query::Query query, bool is_live) {
  query.listing.counts = true;
  query.leaks.scans = false;
  query.listing.stacks = !request.names.empty() || request.first_names != 0;
  query.listing.stack_ids = request.names;
  query.listing.limit = request.first_names;
  query.counting.statistics = request.threads || !is_live;
  query.counting.lifetimes = true;
  return query;
}

void take_from(report::Report&& report, Sample& sample) {
  sample.start_unix_ns = report.capture.start_unix_ns;
  sample.totals = report.totals;
  sample.named = named_stacks(report);
  sample.counts = std::move(report.counts);
  if (!report::or_none(report.threads).empty()) sample.threads = std::move(report.threads);
  sample.timeline = std::move(report.timeline);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string> frame_lines(const report::Report& report, const report::StackEntry& stack, size_t width) {
  constexpr size_t kBesideFunctions = 30;
  constexpr size_t kLeastOfFunctions = 24;
  const size_t most = std::max(width, kBesideFunctions + kLeastOfFunctions) - kBesideFunctions;
  const findings::FrameText text(report.frames, report.skipped, {});
  std::vector<std::string> lines;
  for (const model::Frame& frame : report.list(stack.frames)) {
    lines.push_back(
        fmt::format("{:>3}  {}{}", lines.size(), text.both(frame, most), frame.inlined ? "  (inlined)" : ""));
  }
  if (stack.frames_in_all > stack.frames.size) {
    lines.push_back(fmt::format("     and {} more", base::format_count(stack.frames_in_all - stack.frames.size)));
  }
  return lines;
}

std::vector<std::string> thread_lines(const report::StackEntry& stack, std::span<const report::ThreadEntry> all) {
  std::vector<std::string> lines;
  for (const uint32_t number : stack.threads) {
    const auto found = std::ranges::find(all, number, &report::ThreadEntry::number);
    lines.push_back(found == all.end() || found->name.empty() ? fmt::format("{}", number)
                                                              : fmt::format("{} ({})", number, found->name));
  }
  return lines;
}

void take_holders(client::Recording& recording, client::ProgramId program, StackPage& page, query::Query query,
                  size_t width) {
  query.leaks.why = query::BlockQuestion{.by = query::BlockQuestion::By::kStack, .value = page.id};
  query.listing.stacks = false;
  query.counting.statistics = false;
  query.counting.lifetimes = false;
  const auto report = recording.report(program, query);
  if (!report) {
    page.why_no_holders = report.error().message;
    return;
  }
  if (!report->holders) return;
  page.holders = lines_of(text::render_text(*report, report::View::kHolders, {.width = width}));
}

}  // namespace

base::Result<Sample> take_sample(client::Recording& recording, const SampleRequest& request,
                                 const query::Query& names_from) {
  Sample sample;
  HEAPTAP_TRY(choose_program(recording, sample, {request.pid, request.image}));
  const uint32_t pid = sample.process.pid;
  const client::ProgramId program{pid, sample.process.image};
  const bool is_over = sample.process.image < sample.image_count;
  if (!is_over) {
    auto figures = recording.figures(pid);
    if (!figures) return std::unexpected(std::move(figures).error());
    sample.figures = *figures;
  }
  sample.is_live = recording.is_live() && !is_over;
  const query::Query query = sample_query(request, names_from, sample.is_live);
  auto report = is_over ? recording.report(program, query) : recording.glance(program, query);
  if (!report) return std::unexpected(std::move(report).error());
  if (is_over) sample.figures = figures_of(*report);
  if (client::LiveControl* const control = recording.control()) sample.freshness = control->freshness(program);
  sample.counted_until_ns =
      sample.is_live ? counted_until(*report, sample.figures, sample.freshness) : sample.figures.time_ns;
  if (sample.is_live) {
    // Without marks the picture is still useful.
    if (auto marks = recording.marks(pid)) sample.marks = *std::move(marks);
  }
  take_from(*std::move(report), sample);
  return sample;
}

base::Result<std::vector<NamedStack>> take_names(client::Recording& recording, const SampleRequest& request,
                                                 const query::Query& names_from) {
  query::Query query = names_from;
  query.leaks.scans = false;
  query.listing.stack_ids = request.names;
  query.counting.statistics = false;
  query.counting.lifetimes = false;
  const auto report = recording.glance({request.pid, request.image}, query);
  if (!report) return std::unexpected(report.error());
  return named_stacks(*report);
}

base::Result<LeakSample> take_leaks(client::Recording& recording, client::ProgramId program) {
  query::Query query;
  query.listing.counts = true;
  query.listing.stacks = false;
  query.counting.statistics = false;
  query.counting.lifetimes = false;
  auto report = recording.report(program, query);
  if (!report) return std::unexpected(std::move(report).error());
  LeakSample sample{
      .scan = report->leaks.scan.number,
      .leaks = report->leaks,
      .all_known = report->known.saw_all && report->capture.from_start && report->leaks.unknown.blocks == 0,
      .stacks = {}};
  for (size_t i = 0; i < report->counts.size(); ++i) {
    const report::StackCount& count = report->counts[i];
    if (count.leaked_blocks != 0) sample.stacks.push_back({i + 1, count.leaked_bytes, count.leaked_blocks});
  }
  return sample;
}

base::Result<StackPage> take_stack(client::Recording& recording, client::ProgramId program, uint64_t id,
                                   const query::Query& names_from, size_t width) {
  query::Query query = names_from;
  query.listing.stack_ids = {id};
  query.leaks.scans = false;
  const auto report = recording.glance(program, query);
  if (!report) return std::unexpected(report.error());
  if (report->stacks.empty()) return base::fail("no stack #{}", id);
  const report::StackEntry& stack = report->stacks.front();
  StackPage page{.id = id,
                 .function = stack.function,
                 .threads = thread_lines(stack, report::or_none(report->threads)),
                 .frames = frame_lines(*report, stack, width),
                 .holders = {},
                 .why_no_holders = {}};
  take_holders(recording, program, page, names_from, width);
  return page;
}

base::Result<uint32_t> next_process(client::Recording& recording, uint32_t pid) {
  const auto processes = recording.processes();
  if (!processes) return std::unexpected(processes.error());
  std::vector<uint32_t> pids;
  for (const client::Process& process : *processes) {
    if (std::ranges::find(pids, process.pid) == pids.end()) pids.push_back(process.pid);
  }
  if (pids.size() < 2) return 0;
  const auto found = std::ranges::find(pids, pid);
  const size_t place = found == pids.end() ? 0 : static_cast<size_t>(found - pids.begin()) + 1;
  return pids[place % pids.size()];
}

base::Result<uint32_t> next_image(client::Recording& recording, client::ProgramId program) {
  const auto processes = recording.processes();
  if (!processes) return std::unexpected(processes.error());
  uint32_t first = 0;
  uint32_t next = 0;
  const auto is_its = [&program](const client::Process& process) { return process.pid == program.pid; };
  if (std::ranges::count_if(*processes, is_its) < 2) return 0;
  for (const client::Process& process : *processes) {
    if (process.pid != program.pid || process.image == program.image) continue;
    if (first == 0 || process.image < first) first = process.image;
    if (process.image > program.image && (next == 0 || process.image < next)) next = process.image;
  }
  return next != 0 ? next : first;
}

}  // namespace heaptap::top
