// Command history of a user, over sessions. Read or write failures are no errors: history is just shorter.
#pragma once
#include <string>
#include <vector>

namespace heaptap::shell {

class HistoryFile {
 public:
  // Empty path: no history is kept.
  explicit HistoryFile(std::string path) : path_(std::move(path)) {}

  // Oldest first, at most as many as useful. Truncates the file if it has become long.
  [[nodiscard]] std::vector<std::string> load() const;
  // Appends a line, also while other consoles run. Only the user may read the file.
  void add(const std::string& line) const;

 private:
  void shorten(const std::vector<std::string>& lines) const;
  std::string path_;
};

// $XDG_STATE_HOME/heaptap/history, by default below ~/.local/state; empty: no home directory.
std::string usual_history_path();

}  // namespace heaptap::shell
