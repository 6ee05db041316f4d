#include "apps/heaptap/console/console_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "analysis/report/view.h"
#include "apps/heaptap/commands/name_sources.h"
#include "apps/heaptap/commands/pager.h"
#include "apps/heaptap/commands/run_traces.h"
#include "apps/heaptap/commands/trace_file.h"
#include "apps/heaptap/console/console_news.h"
#include "apps/heaptap/options/pid_word.h"
#include "capture/supervision/trace_name.h"
#include "common/base/safe_text.h"
#include "views/shell/interrupts.h"
#include "views/text/fold.h"

namespace heaptap::app {
namespace {

// Lets Ctrl-C end a long operation. Progress messages are still passed on.
query::Query interruptible(query::Query query) {
  query.progress = [tell = std::move(query.progress)](uint64_t done, uint64_t total) {
    shell::throw_if_interrupted();
    if (tell) tell(done, total);
  };
  query.symbols.progress = [tell = std::move(query.symbols.progress)](const symbols::SymbolWork& work) {
    shell::throw_if_interrupted();
    if (tell) tell(work);
  };
  return query;
}

}  // namespace

base::Result<uint32_t> parse_pid(const std::string& word) {
  if (const auto pid = pid_in(word)) return static_cast<uint32_t>(*pid);
  return base::fail_as(base::ErrorKind::kUsage, "'{}' is not a PID; `processes` lists the recorded processes",
                       base::safe_text(word));
}

void ConsoleSession::take(std::unique_ptr<client::Recording> recording) {
  recording_ = std::move(recording);
  ended_.reset();
  main_trace_.clear();
  own_marks_.clear();
  settings.image = 0;
  client::LiveControl* const control = live_control();
  if (control == nullptr || !recording_->is_live()) return;
  control->set_give_up(shell::is_interrupted);
  const auto processes = recording_->processes();
  if (processes && !processes->empty()) main_trace_ = processes->front().trace;
}

client::LiveControl* ConsoleSession::live_control() const { return recording_ ? recording_->control() : nullptr; }

void ConsoleSession::collect_news() {
  client::LiveControl* const control = live_control();
  if (control == nullptr) return;
  for (const client::News& news : control->take_news()) {
    const auto own =
        news.kind == client::News::Kind::kMarked ? std::ranges::find(own_marks_, news.text) : own_marks_.end();
    if (own == own_marks_.end())
      news_ += news_text(news) + "\n";
    else
      own_marks_.erase(own);
  }
}

void ConsoleSession::expect_marks(const std::string& name, size_t processes) {
  own_marks_.insert(own_marks_.end(), processes, name);
}

// All processes if their index exists; else the main one.
void ConsoleSession::go_to_past() {
  std::vector<std::string> traces;
  if (!main_trace_.empty()) traces = {supervision::run_path(main_trace_), main_trace_};
  if (auto open = recording_->trace_file(0)) traces.push_back(*std::move(open));
  main_trace_.clear();
  for (const std::string& trace : traces) {
    std::error_code error;
    if (!std::filesystem::exists(trace, error)) continue;
    auto past = client::open_past(trace, open_trace, analyze_trace);
    if (!past) continue;
    ended_ = std::exchange(recording_, *std::move(past));
    return;
  }
}

base::Result<client::Recording*> ConsoleSession::recording() {
  collect_news();
  if (recording_ && !recording_->is_live() && !main_trace_.empty()) go_to_past();
  if (recording_) return recording_.get();
  return base::fail_as(
      base::ErrorKind::kUsage,
      "no recording: start one with `run PROGRAM` or `attach PID`, or open a trace with `heaptap console TRACE`");
}

base::Result<uint32_t> ConsoleSession::pid_of(const shell::Words& arguments, size_t place) {
  if (arguments.size() <= place) return settings.process;
  if (arguments.size() > place + 1) {
    return base::fail_as(base::ErrorKind::kUsage, "unexpected argument '{}'", base::safe_text(arguments[place + 1]));
  }
  return parse_pid(arguments[place]);
}

base::Result<report::Report> ConsoleSession::report_for(const ShowOptions& options, const query::Query& asked) {
  const auto recording = this->recording();
  if (!recording) return std::unexpected(recording.error());
  query::Query query = interruptible(asked);
  if (options.table != RunTable::kAll) return merged_report(options, query);
  const uint32_t pid = options.process != 0 ? options.process : settings.process;
  if (options.image == 0) count_from_reset(**recording, options, pid, query);
  return (*recording)->report({pid, options.image}, query);
}

// After `reset`, allocations count from there on, unless a window is given. Leaks are those of a scan.
void ConsoleSession::count_from_reset(client::Recording& recording, const ShowOptions& options, uint32_t pid,
                                      query::Query& query) {
  using report::View;
  constexpr std::array kCounting{View::kSummary, View::kTop,       View::kTree,     View::kStats,
                                 View::kSizes,   View::kLifetimes, View::kTimeline, View::kBlocks};
  if (query.window.is_given() || std::ranges::find(kCounting, options.view) == kCounting.end()) return;
  const auto marks = recording.marks(pid);
  if (!marks) return;
  const auto last = std::find_if(marks->rbegin(), marks->rend(),
                                 [](const model::Mark& mark) { return mark.kind == model::MarkKind::kReset; });
  if (last != marks->rend()) query.window.from = fmt::format("#{}", last->number);
}

base::Result<report::Report> ConsoleSession::merged_report(const ShowOptions& options, const query::Query& query) {
  if (const char* const need = need_of_one_process(options)) {
    return base::fail_as(base::ErrorKind::kUsage, "{} needs a single process: leave --by out", need);
  }
  const auto processes = recording_->processes();
  if (!processes) return std::unexpected(processes.error());
  Run run{.path = recording_->name(), .entries = {}};
  for (const client::Process& process : *processes) {
    const auto trace = recording_->trace_file({process.pid, process.image});
    if (!trace) return std::unexpected(trace.error());
    run.entries.push_back({.pid = process.pid,
                           .parent_pid = process.parent_pid,
                           .trace = *trace,
                           .program = std::filesystem::path(process.program).filename().string(),
                           .image = process.image});
  }
  return read_run(run, query);
}

std::string ConsoleSession::prompt() const {
  constexpr size_t kMaxName = 24;
  constexpr size_t kNarrow = 50;
  if (!recording_ || terminal_width(STDOUT_FILENO) < kNarrow) return "> ";
  std::string name = std::filesystem::path(recording_->name()).filename().string();
  std::ranges::replace_if(name, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  if (name.size() > kMaxName) name = name.substr(0, kMaxName - 2) + "..";
  return fmt::format("{}{}> ", name, recording_->is_live() ? "" : " (past)");
}

std::string ConsoleSession::take_news() {
  collect_news();
  return std::exchange(news_, "");
}

int ConsoleSession::news_descriptor() const {
  const client::LiveControl* const control = live_control();
  return control != nullptr ? control->news_descriptor() : -1;
}

base::Result<> ConsoleSession::print(std::string_view text, bool paged) const {
  Output output(paged && settings.pager);
  text::Folding folding(fold_width(STDOUT_FILENO));
  HEAPTAP_TRY(output.write(folding.add(text)));
  HEAPTAP_TRY(output.write(folding.rest()));
  return output.finish();
}

shell::Words ConsoleSession::pids() {
  shell::Words words;
  if (!recording_) return words;
  const auto processes = recording_->processes();
  if (!processes) return words;
  for (const client::Process& process : *processes) words.push_back(std::to_string(process.pid));
  return words;
}

shell::Words ConsoleSession::mark_names() {
  shell::Words words;
  if (!recording_) return words;
  const auto marks = recording_->marks(settings.process);
  if (!marks) return words;
  for (const model::Mark& mark : *marks) {
    if (!mark.name.empty() && base::safe_text(mark.name) == mark.name) words.push_back(mark.name);
  }
  return words;
}

}  // namespace heaptap::app
