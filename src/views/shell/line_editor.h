// Line editor with history and completion, over libedit. News that arrives is printed above the line.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "views/shell/news_source.h"
#include "views/shell/words.h"

namespace heaptap::shell {

// Completions of a word.
struct Completion {
  PartialLine line;
  Words words;  // all candidates, in order
};

class LineEditor {
 public:
  struct Callbacks {
    std::function<std::string()> prompt;  // plain ASCII
    std::function<Completion(const std::string& before_cursor)> complete;
    NewsSource news;
  };
  enum class Outcome { kLine, kInterrupted, kEnd };

  // Uses the terminal of stdin and stdout.
  explicit LineEditor(Callbacks callbacks);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor();

  // Adds a line to the history, as the newest.
  void remember(const std::string& line);
  // Waits for a line. A fatal signal takes effect once the terminal is restored.
  Outcome read(std::string& line);

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace heaptap::shell
