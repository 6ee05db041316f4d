// Text views of figures: stats, sizes, lifetimes, timeline, blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "analysis/findings/amount_text.h"
#include "analysis/findings/capture_text.h"
#include "analysis/findings/function_name.h"
#include "analysis/findings/mapped_text.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/text/text_parts.h"
#include "views/text/text_table.h"

namespace heaptap::text {
namespace {

using base::format_bytes;
using base::format_count;
using base::format_duration;

std::string fact(const char* name, const std::string& value) { return fmt::format("  {:<24}{}\n", name, value); }

std::string per(uint64_t amount, uint64_t count) {
  return count == 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(amount) / static_cast<double>(count));
}

// "1.5 KiB (1,536 bytes)"
std::string bytes_twice(uint64_t bytes) {
  return fmt::format("{} ({})", format_bytes(bytes), findings::counted(bytes, "byte"));
}

std::string threads_text(const TextContext& context) {
  TextTable table({{"THREAD"}, {"KERNEL ID"}, {"ALLOCATIONS"}, {"BYTES"}, {"RELEASES"}, {"NAME", Align::kLeft}},
                  context.options.width);
  const std::span<const report::ThreadEntry> threads = report::or_none(context.report.threads);
  const size_t shown = std::min(threads.size(), context.rows(50));
  for (size_t index = 0; index < shown; ++index) {
    const report::ThreadEntry& thread = threads[index];
    table.add({std::to_string(thread.number), thread.kernel_id == 0 ? "?" : std::to_string(thread.kernel_id),
               format_count(thread.allocations), format_bytes(thread.allocated_bytes), format_count(thread.releases),
               base::safe_text(thread.name)});
  }
  return table.render(context.ink) + more_rows(context, shown, threads.size(), "thread");
}

}  // namespace

std::string text_stats(const TextContext& context) {
  const report::Totals& totals = context.report.totals;
  const model::Capture& capture = context.report.capture;
  std::string text = title_of(context) + "\n";
  const bool calls = totals.allocations.is_known();
  const uint64_t allocations = totals.allocations.counted();
  text += fact("allocations", number_or("unknown", totals.allocations, format_count));
  text += fact("releases", number_or("unknown", totals.releases, format_count));
  text += fact("allocated", number_or("unknown", totals.allocated_bytes, bytes_twice));
  text += fact("average size", or_unknown(calls, per(totals.allocated_bytes.counted(), allocations) + " bytes"));
  const std::optional<uint64_t> temporary = totals.temporary_allocations.if_known();
  text +=
      fact("temporary",
           temporary ? fmt::format("{} ({})", format_count(*temporary), percent(*temporary, allocations)) : "unknown");
  const double seconds = static_cast<double>(capture.duration_ns) / 1e9;
  text += fact("allocations a second",
               seconds <= 0 || !calls ? "-" : fmt::format("{:.0f}", static_cast<double>(allocations) / seconds));
  const std::string after = findings::is_peak_placed(context.report)
                                ? " after " + findings::moment_text(capture, totals.peak_time_ns.counted())
                                : "";
  const std::optional<uint64_t> peak_bytes = totals.peak_live_bytes.if_known();
  text += fact("peak", peak_bytes ? bytes_twice(*peak_bytes) + findings::error_text(totals.peak_error_bytes) + after
                                  : "unknown");
  text += fact("most blocks at one time", number_or("unknown", totals.peak_live_blocks, format_count) +
                                              findings::error_text(peak_bytes ? totals.peak_error_blocks : 0));
  const std::optional<uint64_t> live_bytes = totals.live_bytes.if_known();
  const std::optional<uint64_t> live_blocks = totals.live_blocks.if_known();
  const std::string blocks = live_blocks ? " in " + findings::counted(*live_blocks, "block") : "";
  text += fact("not freed", live_bytes ? bytes_twice(*live_bytes) + blocks : "unknown");
  for (const findings::MappedFact& mapped : findings::mapped_facts(totals))
    text += fact(mapped.name, mapped.amount + " " + mapped.what);
  const auto error = [&](const char* name, const base::Known<uint64_t>& count) {
    if (count.may_be_nonzero()) text += fact(name, number_or("unknown", count, format_count));
  };
  error("invalid frees", totals.bad_releases);
  error("double frees", totals.double_releases);
  error("mismatched frees", totals.mismatched_releases);
  error("frees of unknown blocks", totals.unknown_releases.counted());
  text += fact("different stacks", format_count(context.report.stack_count));
  if (calls)
    text += fact("events", fmt::format("{} recorded, {} lost", format_count(capture.event_count),
                                       format_count(capture.lost_events)));
  text += fact("trace", fmt::format("{}, resolution of times {}", format_bytes(capture.trace_bytes),
                                    findings::moment_text(capture, capture.time_resolution_ns)));
  if (!capture.import.tool.empty()) return text + remarks_of(context);
  text +=
      fact("collector",
           fmt::format("{} of CPU, {} of memory, {} of the log used at most", format_duration(capture.collector_cpu_ns),
                       format_bytes(capture.collector_peak_rss_bytes), format_bytes(capture.log_bytes_used)));
  if (capture.collector_cpu_ns > 0) {
    constexpr double kSecondNs = 1e9;
    const double cpu_seconds = static_cast<double>(capture.collector_cpu_ns) / kSecondNs;
    const auto speed = static_cast<uint64_t>(static_cast<double>(capture.event_count) / cpu_seconds);
    text += fact("collector's speed", fmt::format("{} events a second of its CPU", format_count(speed)));
  }
  return text + "\n" + threads_text(context) + remarks_of(context);
}

std::string text_sizes(const TextContext& context) {
  const report::Report& report = context.report;
  if (!report.sizes) return text_not_kept(context, "sizes of all blocks");
  TextTable classes({{"FROM"}, {"TO"}, {"ALLOCATIONS"}, {"SHARE"}, {"BYTES"}, {"NOT FREED"}, {"BLOCKS"}},
                    context.options.width);
  if (report.has_events) classes.name_bar_unit(format_count);
  for (const report::SizeClass& size : report.sizes->classes) {
    const bool counts = report.has_events;
    classes.add({format_count(size.lowest), format_count(size.highest), counts ? format_count(size.allocations) : "-",
                 counts ? percent(size.allocations, report.totals.allocations.counted()) : "-",
                 counts ? format_bytes(size.allocated_bytes) : "-", format_bytes(size.live_bytes),
                 format_count(size.live_blocks)},
                size.allocations);
  }
  TextTable sizes({{"SIZE"}, {"ALLOCATIONS"}, {"SHARE"}, {"NOT FREED"}}, context.options.width);
  const std::vector<report::ExactSize>& top = report.sizes->top;
  const size_t shown = std::min(top.size(), context.rows(20));
  for (size_t index = 0; index < shown; ++index) {
    const report::ExactSize& size = top[index];
    const bool counts = report.has_events;
    sizes.add({format_count(size.size_bytes), counts ? format_count(size.allocations) : "-",
               counts ? percent(size.allocations, report.totals.allocations.counted()) : "-",
               format_count(size.live_blocks)});
  }
  std::string text = title_of(context) + "\n" + classes.render(context.ink) + "\n" + sizes.render(context.ink) +
                     more_rows(context, shown, top.size(), "size");
  if (!report.has_events) text += "\nallocations by size: not recorded with --aggregate\n";
  return text + remarks_of(context);
}

std::string text_lifetimes(const TextContext& context) {
  const report::Report& report = context.report;
  uint64_t released = 0;
  for (const report::LifetimeClass& lifetime : report::or_none(report.lifetimes)) released += lifetime.blocks;
  TextTable table({{"LIVED", Align::kLeft}, {"BLOCKS"}, {"SHARE"}, {"BYTES"}}, context.options.width);
  table.name_bar_unit(format_count);
  for (const report::LifetimeClass& lifetime : report::or_none(report.lifetimes)) {
    const std::string range = lifetime.lowest_ns == 0 ? "below " + format_duration(lifetime.highest_ns)
                              : lifetime.highest_ns == 0
                                  ? "from " + format_duration(lifetime.lowest_ns)
                                  : format_duration(lifetime.lowest_ns) + " to " + format_duration(lifetime.highest_ns);
    table.add({range, format_count(lifetime.blocks), percent(lifetime.blocks, released), format_bytes(lifetime.bytes)},
              lifetime.blocks);
  }
  table.add({"not freed", format_count(report.totals.live_blocks.counted()), "",
             format_bytes(report.totals.live_bytes.counted())});
  return title_of(context) + "\n" + table.render(context.ink) + remarks_of(context);
}

std::string text_timeline(const TextContext& context) {
  const report::Report& report = context.report;
  constexpr size_t kRows = 32;
  const size_t rows = std::min(context.rows(kRows), std::max<size_t>(report.timeline.size(), 1));
  std::vector<TextTable::Column> columns{{"UNTIL"}, {"NOT FREED"}, {"BLOCKS"}, {"ALLOCS"}, {"FREES"}, {"MAPPED"}};
  const bool has_resident = report.totals.resident.has_value();
  if (has_resident) columns.push_back({"RESIDENT"});
  columns.push_back({"PEAK"});
  TextTable table(std::move(columns), context.options.width);
  table.name_bar_unit(format_bytes);
  for (size_t row = 0; row < rows && !report.timeline.empty(); ++row) {
    const size_t begin = row * report.timeline.size() / rows;
    const size_t end = (row + 1) * report.timeline.size() / rows;
    report::TimelinePoint sum = report.timeline[end - 1];
    for (size_t index = begin; index + 1 < end; ++index) {
      sum.peak_live_bytes = std::max(sum.peak_live_bytes, report.timeline[index].peak_live_bytes);
      sum.allocations += report.timeline[index].allocations;
      sum.releases += report.timeline[index].releases;
    }
    std::vector<std::string> cells = {
        findings::moment_text(report.capture, sum.time_ns),
        format_bytes(sum.live_bytes),
        number_or("?", sum.live_blocks, format_count),
        number_or("?", sum.allocations, format_count),
        number_or("?", sum.releases, format_count),
        number_or("?", sum.mapped_memory_bytes.is_known() ? sum.mapped_memory_bytes : sum.mapped_bytes, format_bytes)};
    if (has_resident) cells.push_back(number_or("-", sum.resident_bytes, format_bytes));
    cells.push_back(format_bytes(sum.peak_live_bytes));
    table.add(std::move(cells), sum.peak_live_bytes);
  }
  return title_of(context) + "\n" + table.render(context.ink) + remarks_of(context);
}

namespace {

// "make_table at app.cc:12", after the program's name for the block, if it has one.
std::string site_of(const TextContext& context, const report::BlockEntry& block) {
  constexpr size_t kMaxListName = 48;
  const std::string name =
      block.name.empty() ? ""
                         : fmt::format("\"{}\"  ", base::safe_text(findings::cut_middle(block.name, kMaxListName)));
  return block.caller == report::kNoFrame ? name
                                          : name + context.text.both(context.report.frames[block.caller], kMaxListName);
}

}  // namespace

std::string text_blocks(const TextContext& context) {
  const report::Report& report = context.report;
  TextTable table({{"BLOCK"},
                   {"ADDRESS"},
                   {"SIZE"},
                   {"SINCE"},
                   {"THREAD"},
                   {"STACK"},
                   {"FUNCTION", Align::kLeft},
                   {"SITE", Align::kLeft}},
                  context.options.width);
  const std::span<const report::BlockEntry> blocks = report::or_none(report.blocks);
  const size_t shown = std::min(blocks.size(), context.rows(20));
  for (size_t index = 0; index < shown; ++index) {
    const report::BlockEntry& block = blocks[index];
    table.add({std::to_string(block.number), block.address == 0 ? "?" : fmt::format("{:#x}", block.address),
               format_count(block.size_bytes), format_duration(block.allocated_at_ns), std::to_string(block.thread),
               fmt::format("#{}", block.stack_id), block.function, site_of(context, block)});
  }
  std::string text = title_of(context) + "\n" + table.render(context.ink);
  if (shown < report.totals.live_blocks.counted()) {
    text += context.ink.dim(fmt::format("  ({} more: -n N shows more)",
                                        findings::counted(report.totals.live_blocks.counted() - shown, "block"))) +
            "\n";
  }
  return text + remarks_of(context);
}

}  // namespace heaptap::text
