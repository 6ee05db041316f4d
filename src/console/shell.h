// Lines that are commands: typed on a terminal, or of a script. Knows nothing of what the commands do.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "console/command_table.h"
#include "console/history_file.h"
#include "console/line_editor.h"
#include "console/news_source.h"
#include "console/script_reader.h"

namespace heaptap::console {

class Shell {
 public:
  struct Surroundings {
    std::function<std::string()> prompt = {};
    std::function<base::Result<>(std::string_view text)> print = {};  // to the standard output
    std::function<void(std::string_view text)> complain = {};         // what went wrong, or happened, to whoever looks
    NewsSource news = {};
    void (*on_interrupt)(int signal) = nullptr;  // called by a signal's handler
  };

  // It has `help` and `quit`; all other commands are added.
  explicit Shell(Surroundings surroundings);
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell() = default;

  CommandTable& commands() { return commands_; }
  [[nodiscard]] bool is_ended() const { return is_ended_; }

  // One line. Says what is wrong, and returns an exit status; 0: all went well.
  int execute(std::string_view text);
  // Until one fails: its status. News come behind each.
  int run(const std::vector<std::string>& lines);
  // Likewise, until the descriptor gives no more.
  int run_script(int descriptor);
  // On the terminal, until the user leaves.
  int interact(const HistoryFile& history);

  [[nodiscard]] Completion complete(const std::string& before_cursor) const;

 private:
  int run_redirected(const Command& command, const Line& line);
  int failed(const base::Error& error) const;
  void tell_news() const;
  [[nodiscard]] Command help_command();
  [[nodiscard]] Command quit_command();

  Surroundings surroundings_;
  CommandTable commands_;
  bool is_ended_ = false;
};

}  // namespace heaptap::console
