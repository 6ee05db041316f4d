#include "app/report_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "app/new_file.h"
#include "app/terminal.h"
#include "app/trace_file.h"
#include "base/exit_status.h"
#include "base/safe_text.h"
#include "base/units.h"
#include "html/html_report.h"
#include "report/text_parts.h"

namespace heaptap::app {
namespace {

base::Result<report::Report> read_report(const ReportOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return std::unexpected(std::move(reader).error());
  ProgressLine progress;
  analysis::Query query = options.query;
  query.errors = true;
  query.from_all_sides = true;
  if (!reader->scans().empty()) {
    query.generate = analysis::SuppressionSyntax::kLsan;
    query.retained = analysis::RetainedBy::kStack;
    query.globals = true;
  }
  query.progress = [&progress](uint64_t done, uint64_t total) { progress.update(done, total); };
  auto suppressions = analysis::read_suppressions(options.suppressions);
  if (!suppressions) return std::unexpected(std::move(suppressions).error());
  query.suppressions = *std::move(suppressions);
  auto report = analysis::analyze(*reader, query);
  if (report) report->trace_path = options.trace;
  return report;
}

// "heaptap.app.12.htap" becomes "heaptap.app.12.html", in the working directory; of a link the trace that it leads to.
std::string name_of_file(const std::string& trace) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(trace, error);
  std::string name = error ? trace.substr(trace.rfind('/') + 1) : real.filename().string();
  if (name.ends_with(".htap")) name.resize(name.size() - 5);
  return name + ".html";
}

// The program that opens files for the user's desktop. It goes on by itself.
base::Result<> open_in_browser(const std::string& path) {
  const std::string name = path.starts_with("-") ? "./" + path : path;
  const char* const arguments[] = {"xdg-open", name.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  }
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, arguments[0], &actions, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return {};
  return base::fail("--open: can't start xdg-open: {}. Open {} in a browser", base::reason_of(error),
                    base::safe_text(path));
}

base::Result<> write_report(const ReportOptions& options) {
  const std::string path = options.output.empty() ? name_of_file(options.trace) : options.output;
  auto file = NewFile::create(path, options.force);
  if (!file) return std::unexpected(std::move(file).error());
  const auto report = read_report(options);
  if (!report) return std::unexpected(report.error());
  const std::string title = fmt::format("{} (pid {})", report::program_of(report->capture), report->capture.pid);
  const std::string html = html::make_html(
      *report,
      {.title = title, .full = options.full, .sources = options.sources, .sysroots = options.query.symbols.sysroots});
  file->write(html);
  HEAPTAP_TRY(file->finish());
  if (!options.quiet) {
    print_error(fmt::format("heaptap: {} ({}): open it in a browser\n", base::safe_text(path),
                            base::format_bytes(html.size())));
  }
  return options.open ? open_in_browser(path) : base::Result<>();
}

}  // namespace

int perform(const ReportOptions& options) {
  const auto done = write_report(options);
  if (done) return 0;
  print_error(fmt::format("heaptap: {}\n", done.error().message));
  return base::exit_status_of(done.error().kind);
}

}  // namespace heaptap::app
