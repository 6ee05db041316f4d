#include "host/app/show_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "host/app/exit_status.h"
#include "host/app/terminal.h"

namespace heaptap::app {
namespace {

using report::View;

base::Result<intake::TraceReader> open_trace(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return base::fail(
        "can't read '{}': there is no such file. `heaptap run PROGRAM` writes a trace, heaptap.latest.htap "
        "links to the newest one",
        path);
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return base::fail("can't read '{}': it is a directory. Name a trace in it (*.htap)", path);
  }
  return intake::TraceReader::open(path);
}

// What the view needs, and no more.
analysis::Query query_of(const ShowOptions& options, ProgressLine& progress) {
  analysis::Query query = options.query;
  const View view = options.view;
  query.stacks = view == View::kSummary || view == View::kLeaks || view == View::kTop || view == View::kTree;
  query.blocks = view == View::kBlocks;
  query.statistics = !query.stacks && !query.blocks;
  query.errors = query.errors && view == View::kSummary;
  query.leaks_only = view == View::kLeaks;
  if (query.leaks_only && !options.sorted) query.sort = analysis::SortKey::kLeakedBytes;
  if (!options.json && query.limit == 0 && view != View::kTree) {
    query.limit = view == View::kSummary ? 10 : 20;
  }
  if (view == View::kTree) {
    query.limit = 0;
  }
  query.progress = [&progress](uint64_t done, uint64_t total) { progress.update(done, total); };
  return query;
}

base::Result<report::Report> read_report(const ShowOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) {
    return std::unexpected(std::move(reader).error());
  }
  ProgressLine progress;
  auto report = analysis::analyze(*reader, query_of(options, progress));
  if (report) {
    report->trace_path = options.trace;
    if (options.running && !report->capture.ended) {
      report->capture.running = true;
      report->capture.truncated = false;
      report->capture.damage.clear();
    }
  }
  return report;
}

base::Result<> print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return base::fail("can't write the report to the standard output: {}", base::reason_of(errno));
  }
  return {};
}

int complain(const base::Error& error) {
  print_error(fmt::format("heaptap: {}\n", error.message));
  return exit_status_of(error.kind);
}

}  // namespace

int show_trace(const ShowOptions& options) {
  const auto report = read_report(options);
  if (!report) {
    return complain(report.error());
  }
  if (report->capture.truncated && !options.quiet) {
    print_error(fmt::format("heaptap: warning: '{}' is cut off or damaged ({}); what stands before that is shown\n",
                            options.trace, report->capture.damage));
  }
  const report::RenderOptions render{
      .color = use_color(options.color, STDOUT_FILENO), .bottom_up = options.bottom_up, .limit = options.query.limit};
  const std::string text = options.json ? report::render_json(*report, options.view, render)
                                        : report::render_text(*report, options.view, render);
  if (const auto printed = print(text); !printed) {
    return complain(printed.error());
  }
  return 0;
}

}  // namespace heaptap::app
