// Console session: the current recording, the user's settings, and output.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/query/sort_key.h"
#include "apps/heaptap/commands/show_command.h"
#include "apps/heaptap/commands/symbols_server.h"
#include "apps/heaptap/commands/terminal.h"
#include "apps/heaptap/options/machine_options.h"
#include "apps/heaptap/options/settings.h"
#include "common/base/result.h"
#include "views/client/recording.h"
#include "views/shell/words.h"

namespace heaptap::app {

// Settings changed by `set`, except those of the recording itself.
struct ConsoleSettings {
  std::vector<std::string> search_path;                 // --symbols for all commands that show names
  std::shared_ptr<const SymbolsServer> symbols_server;  // likewise; null: none
  std::vector<std::string> skip;
  std::optional<query::SortKey> sort;
  size_t count = 0;      // 0: the view's default
  uint32_t frames = 0;   // per stack; 0: all
  uint32_t process = 0;  // default of commands with a PID; 0: all, or the first one
  uint32_t image = 0;    // number of its program for views; 0: the last one
  bool pager = true;
  ColorMode color = ColorMode::kAuto;
};

class ConsoleSession {
 public:
  ConsoleSettings settings;
  MachineOptions machine;                         // machine of programs and processes
  Defaults defaults;                              // for options of `show` and `export`
  std::vector<std::string> recorder_environment;  // additional variables of recorders started here
  shell::Words last_view{"summary"};              // arguments of `show`; for `monitor`

  void take(std::unique_ptr<client::Recording> recording);
  // Fails if there is none; the error says how to start one.
  base::Result<client::Recording*> recording();

  // PID argument at `place`, else the setting; 0: see views/client/recording.h.
  base::Result<uint32_t> pid_of(const shell::Words& arguments, size_t place);
  // Report for `show`; settings apply where options are missing.
  base::Result<report::Report> report_for(const ShowOptions& options, const query::Query& query);

  [[nodiscard]] std::string prompt() const;
  // News of marks that this session has set itself, in so many processes, are not printed.
  void expect_marks(const std::string& name, size_t processes);
  // Events since the last call, one per line.
  std::string take_news();
  [[nodiscard]] int news_descriptor() const;
  // Writes to the standard output, folded; long text through a pager.
  base::Result<> print(std::string_view text, bool paged = true) const;

  // PIDs of recorded processes and names of marks, for completion; empty on failure.
  shell::Words pids();
  shell::Words mark_names();

 private:
  // Null: there is no recording, or it is finished.
  [[nodiscard]] client::LiveControl* live_control() const;
  void count_from_reset(client::Recording& recording, const ShowOptions& options, uint32_t pid, query::Query& query);
  base::Result<report::Report> merged_report(const ShowOptions& options, const query::Query& query);
  void collect_news();
  void go_to_past();

  std::unique_ptr<client::Recording> recording_;
  std::unique_ptr<client::Recording> ended_;  // the previous live one; only it may have the trace file open
  std::string main_trace_;                    // of a live one
  std::vector<std::string> own_marks_;        // names, one for each piece of news to come
  std::string news_;                          // not printed yet
};

// Parses a PID; the error names the invalid word.
base::Result<uint32_t> parse_pid(const std::string& word);

}  // namespace heaptap::app
