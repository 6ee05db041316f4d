#include "top/take_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/units.h"
#include "report/frame_text.h"
#include "report/render.h"
#include "report/telling_frame.h"

namespace heaptap::top {
namespace {

constexpr size_t kSiteWidth = 180;
constexpr size_t kMiddleSiteWidth = 64;
constexpr size_t kShortSiteWidth = 34;
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

std::vector<NamedStack> named_stacks(const report::Report& report) {
  const report::FrameText text(report.frames, report.skipped, {});
  std::vector<NamedStack> named;
  named.reserve(report.stacks.size());
  for (const report::StackEntry& stack : report.stacks) {
    const report::FrameList frames = report.list(stack.frames);
    const model::Frame* const telling = report::telling_frame(frames, report.skipped);
    named.push_back({.id = stack.id,
                     .function = stack.function,
                     .site = text.describe_site(frames, kSiteWidth),
                     .middle_site = text.describe_site(frames, kMiddleSiteWidth),
                     .short_site = text.describe_site(frames, kShortSiteWidth),
                     .module = telling == nullptr ? "" : telling->module,
                     .searched = searched_text(frames, stack.function)});
  }
  return named;
}

// A program of the process: the last one that it became.
base::Result<> choose_process(live::Recording& recording, Sample& sample, uint32_t pid) {
  auto processes = recording.processes();
  if (!processes) return std::unexpected(std::move(processes).error());
  if (processes->empty()) return base::fail("nothing is recorded");
  const live::Process* chosen = nullptr;
  for (const live::Process& process : *processes) {
    if (pid != 0 && process.pid != pid) continue;
    if (chosen == nullptr || (process.pid == chosen->pid && process.image > chosen->image)) chosen = &process;
  }
  if (chosen == nullptr) return base::fail("process {} isn't recorded any more", pid);
  sample.process = *chosen;
  std::vector<uint32_t> pids;
  for (const live::Process& process : *processes) {
    if (std::ranges::find(pids, process.pid) == pids.end()) pids.push_back(process.pid);
  }
  sample.process_count = pids.size();
  sample.place = static_cast<size_t>(std::ranges::find(pids, chosen->pid) - pids.begin());
  return {};
}

analysis::Query sample_query(const SampleRequest& request, analysis::Query query, bool is_live) {
  query.counts = true;
  query.scans = false;
  query.stacks = !request.names.empty() || request.first_names != 0;
  query.stack_ids = request.names;
  query.limit = request.first_names;
  query.statistics = request.threads || !is_live;
  query.lifetimes = true;
  return query;
}

void take_from(report::Report&& report, Sample& sample) {
  sample.start_unix_ns = report.capture.start_unix_ns;
  sample.totals = report.totals;
  sample.lifetimes_known = report.has_events && report.lifetimes_known;
  sample.threads_known = report.threads_known && !report.threads.empty();
  sample.known = std::move(report.known);
  sample.named = named_stacks(report);
  sample.counts = std::move(report.counts);
  sample.threads = std::move(report.threads);
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
  const report::FrameText text(report.frames, report.skipped, {});
  std::vector<std::string> lines;
  for (const model::Frame& frame : report.list(stack.frames)) {
    lines.push_back(
        fmt::format("{:>3}  {}{}", lines.size(), text.both(frame, most), frame.inlined ? "  (inlined)" : ""));
  }
  if (stack.frames_in_all > stack.frames.size()) {
    lines.push_back(fmt::format("     and {} more", base::format_count(stack.frames_in_all - stack.frames.size())));
  }
  return lines;
}

std::vector<std::string> thread_lines(const report::StackEntry& stack, const std::vector<report::ThreadEntry>& all) {
  std::vector<std::string> lines;
  for (const uint32_t number : stack.threads) {
    const auto found = std::ranges::find(all, number, &report::ThreadEntry::number);
    lines.push_back(found == all.end() || found->name.empty() ? fmt::format("{}", number)
                                                              : fmt::format("{} ({})", number, found->name));
  }
  return lines;
}

void take_holders(live::Recording& recording, uint32_t pid, StackPage& page, analysis::Query query, size_t width) {
  query.why = analysis::BlockQuestion{.by = analysis::BlockQuestion::By::kStack, .value = page.id};
  query.stacks = false;
  query.statistics = false;
  query.lifetimes = false;
  const auto report = recording.report(pid, query);
  if (!report) {
    page.why_no_holders = report.error().message;
    return;
  }
  if (!report->holders) return;
  page.holders = lines_of(report::render_text(*report, report::View::kHolders, {.width = width}));
}

}  // namespace

base::Result<Sample> take_sample(live::Recording& recording, const SampleRequest& request,
                                 const analysis::Query& names_from) {
  Sample sample;
  HEAPTAP_TRY(choose_process(recording, sample, request.pid));
  const uint32_t pid = sample.process.pid;
  auto figures = recording.figures(pid);
  if (!figures) return std::unexpected(std::move(figures).error());
  sample.figures = *figures;
  sample.is_live = recording.is_live();
  auto report = recording.glance(pid, sample_query(request, names_from, sample.is_live));
  if (!report) return std::unexpected(std::move(report).error());
  sample.freshness = recording.freshness(pid);
  if (sample.is_live) {
    // Without its marks the picture is still one.
    if (auto marks = recording.marks(pid)) sample.marks = *std::move(marks);
  }
  take_from(*std::move(report), sample);
  return sample;
}

base::Result<std::vector<NamedStack>> take_names(live::Recording& recording, const SampleRequest& request,
                                                 const analysis::Query& names_from) {
  analysis::Query query = names_from;
  query.scans = false;
  query.stack_ids = request.names;
  query.statistics = false;
  query.lifetimes = false;
  const auto report = recording.glance(request.pid, query);
  if (!report) return std::unexpected(report.error());
  return named_stacks(*report);
}

base::Result<LeakSample> take_leaks(live::Recording& recording, uint32_t pid) {
  analysis::Query query;
  query.counts = true;
  query.stacks = false;
  query.statistics = false;
  query.lifetimes = false;
  auto report = recording.report(pid, query);
  if (!report) return std::unexpected(std::move(report).error());
  LeakSample sample{.scan = report->leaks.scan.number, .leaks = report->leaks, .stacks = {}};
  for (size_t i = 0; i < report->counts.size(); ++i) {
    const report::StackCount& count = report->counts[i];
    if (count.leaked_blocks != 0) sample.stacks.push_back({i + 1, count.leaked_bytes, count.leaked_blocks});
  }
  return sample;
}

base::Result<StackPage> take_stack(live::Recording& recording, uint32_t pid, uint64_t id,
                                   const analysis::Query& names_from, size_t width) {
  analysis::Query query = names_from;
  query.stack_ids = {id};
  query.scans = false;
  const auto report = recording.glance(pid, query);
  if (!report) return std::unexpected(report.error());
  if (report->stacks.empty()) return base::fail("there is no stack #{}", id);
  const report::StackEntry& stack = report->stacks.front();
  StackPage page{.id = id,
                 .function = stack.function,
                 .threads = thread_lines(stack, report->threads),
                 .frames = frame_lines(*report, stack, width),
                 .holders = {},
                 .why_no_holders = {}};
  take_holders(recording, pid, page, names_from, width);
  return page;
}

base::Result<uint32_t> next_process(live::Recording& recording, uint32_t pid) {
  const auto processes = recording.processes();
  if (!processes) return std::unexpected(processes.error());
  std::vector<uint32_t> pids;
  for (const live::Process& process : *processes) {
    if (std::ranges::find(pids, process.pid) == pids.end()) pids.push_back(process.pid);
  }
  if (pids.size() < 2) return 0;
  const auto found = std::ranges::find(pids, pid);
  const size_t place = found == pids.end() ? 0 : static_cast<size_t>(found - pids.begin()) + 1;
  return pids[place % pids.size()];
}

}  // namespace heaptap::top
