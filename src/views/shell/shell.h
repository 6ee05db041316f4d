// Command interpreter, for a terminal or a script. Independent of the commands themselves.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "views/shell/command_table.h"
#include "views/shell/history_file.h"
#include "views/shell/line_editor.h"
#include "views/shell/news_source.h"
#include "views/shell/script_reader.h"

namespace heaptap::shell {

class Shell {
 public:
  struct Callbacks {
    std::function<std::string()> prompt = {};
    std::function<base::Result<>(std::string_view text)> print = {};  // to the standard output
    std::function<void(std::string_view text)> complain = {};         // what went wrong, or happened, for the user
    NewsSource news = {};
    void (*on_interrupt)(int signal) = nullptr;  // called in the signal handler
  };

  // Has `help` and `quit`; other commands are added by the caller.
  explicit Shell(Callbacks callbacks);
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  ~Shell() = default;

  CommandTable& commands() { return commands_; }
  [[nodiscard]] bool is_ended() const { return is_ended_; }

  // Executes one line. Prints errors, and returns an exit status; 0: success.
  int execute(std::string_view text);
  // Executes lines until one fails; returns its status. News is printed after each.
  int run(const std::vector<std::string>& lines);
  // Same for a script, until its end.
  int run_script(int descriptor);
  // Reads from the terminal until the user quits.
  int interact(const HistoryFile& history);

  [[nodiscard]] Completion complete(const std::string& before_cursor) const;

 private:
  int run_redirected(const Command& command, const Line& line);
  int failed(const base::Error& error) const;
  void tell_news() const;
  [[nodiscard]] Command help_command();
  [[nodiscard]] Command quit_command();

  Callbacks callbacks_;
  CommandTable commands_;
  bool is_ended_ = false;
};

}  // namespace heaptap::shell
