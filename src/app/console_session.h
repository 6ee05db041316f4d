// What a console has: the recording that it is about, the user's settings, and how it prints.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/sort_key.h"
#include "app/machine_options.h"
#include "app/settings.h"
#include "app/show_command.h"
#include "app/symbols_server.h"
#include "app/terminal.h"
#include "base/result.h"
#include "console/words.h"
#include "live/recording.h"

namespace heaptap::app {

// What `set` changes, besides the recording itself.
struct ConsoleSettings {
  std::vector<std::string> search_path;                 // --symbols of all that shows names
  std::shared_ptr<const SymbolsServer> symbols_server;  // of these as well; null: there is none
  std::vector<std::string> skip;
  std::optional<analysis::SortKey> sort;
  size_t count = 0;      // 0: each view's own
  uint32_t frames = 0;   // of a stack; 0: all
  uint32_t process = 0;  // that commands without a PID are about; 0: all of them, or the first one
  uint32_t image = 0;    // which of its programs views show; 0: the last one
  bool pager = true;
  ColorMode color = ColorMode::kAuto;
};

class ConsoleSession {
 public:
  ConsoleSettings settings;
  MachineOptions machine;                         // where programs and processes are
  Defaults defaults;                              // of options of `show` and `export`
  std::vector<std::string> recorder_environment;  // what recorders that are begun here get besides this one's variables
  console::Words last_view{"summary"};            // as behind `show`; of `monitor`

  void take(std::unique_ptr<live::Recording> recording);
  // Fails where there is none, with what makes one.
  base::Result<live::Recording*> recording();

  // The process that a word names, or that the settings say where there is none; 0: see live/recording.h.
  base::Result<uint32_t> pid_of(const console::Words& arguments, size_t place);
  // What `show` shows, by options whose gaps the settings fill.
  base::Result<report::Report> report_for(const ShowOptions& options, const analysis::Query& query);

  [[nodiscard]] std::string prompt() const;
  // What happened since the last call, a line each.
  std::string take_news();
  [[nodiscard]] int news_descriptor() const;
  // To the standard output, folded; long text through a pager.
  base::Result<> print(std::string_view text, bool paged = true) const;

  // The recorded processes' pids and names of marks, for completion; none where that fails.
  console::Words pids();
  console::Words mark_names();

 private:
  void count_from_reset(live::Recording& recording, const ShowOptions& options, uint32_t pid, analysis::Query& query);
  base::Result<report::Report> merged_report(const ShowOptions& options, const analysis::Query& query);
  void collect_news();
  void go_to_past();

  std::unique_ptr<live::Recording> recording_;
  std::unique_ptr<live::Recording> ended_;  // went on before; the trace may be a file that only it has open
  std::string main_trace_;                  // of one that goes on
  std::string news_;                        // that wasn't told so far
};

// A pid; fails with what was meant to be one.
base::Result<uint32_t> parse_pid(const std::string& word);

}  // namespace heaptap::app
