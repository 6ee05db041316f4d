// A line of a terminal, typed with history and completion, over libedit. What happens meanwhile is printed above it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "console/news_source.h"
#include "console/words.h"

namespace heaptap::console {

// What a word of a line can become.
struct Completion {
  PartialLine line;
  Words words;  // all that the word can be, in order
};

class LineEditor {
 public:
  struct Surroundings {
    std::function<std::string()> prompt;  // plain ASCII
    std::function<Completion(const std::string& before_cursor)> complete;
    NewsSource news;
  };
  enum class Outcome { kLine, kInterrupted, kEnd };

  // The terminal is that of stdin and stdout.
  explicit LineEditor(Surroundings surroundings);
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;
  ~LineEditor();

  // Newest last.
  void remember(const std::string& line);
  // Waits for a line. A signal that ends processes does so, once the terminal is as it was.
  Outcome read(std::string& line);

 private:
  struct Terminal;
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace heaptap::console
