// Command interpreter, for a terminal or a script. Independent of the commands themselves.
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
    std::function<void(std::string_view text)> complain = {};         // errors and news, for the user
    NewsSource news = {};
    void (*on_interrupt)(int signal) = nullptr;  // called in the signal handler
  };

  // Has `help` and `quit`; other commands are added by the caller.
  explicit Shell(Surroundings surroundings);
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

  Surroundings surroundings_;
  CommandTable commands_;
  bool is_ended_ = false;
};

}  // namespace heaptap::console
