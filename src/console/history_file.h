// The lines that a user typed, over sessions. That a file can't be read or written is no error: there is less history then.
#pragma once
#include <string>
#include <vector>

namespace heaptap::console {

class HistoryFile {
 public:
  // Empty: none is kept.
  explicit HistoryFile(std::string path) : path_(std::move(path)) {}

  // Oldest first, and no more than are of use. Makes the file shorter where it has become long.
  [[nodiscard]] std::vector<std::string> load() const;
  // Behind all others, also of consoles that run at the same time. Only the user may read the file.
  void add(const std::string& line) const;

 private:
  void shorten(const std::vector<std::string>& lines) const;
  std::string path_;
};

// $XDG_STATE_HOME/heaptap/history, by default below ~/.local/state; empty: there is no home.
std::string usual_history_path();

}  // namespace heaptap::console
