// The terminal, by ncurses. As long as it lives the terminal is its own; it is given back in any case: by the destructor, before the
// process stops (Ctrl-Z) and, as far as a signal handler can, when the process crashes. There is one at a time.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "top/grid.h"
#include "top/keys.h"

namespace heaptap::top {

// Whether characters that aren't ASCII can be shown, by the user's locale; sets the process's for characters.
bool locale_is_utf8();

class Screen {
 public:
  static base::Result<std::unique_ptr<Screen>> open(bool color);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;
  ~Screen();

  [[nodiscard]] size_t width() const;
  [[nodiscard]] size_t height() const;
  void show(const Grid& grid);

  // Nothing: no more for now.
  std::optional<Key> read_key();

  // Readable when a signal came.
  [[nodiscard]] int signal_descriptor() const;
  // Does what they ask for: takes a new size, stops and goes on. The number of the one that asks for the end, if one does.
  std::optional<int> handle_signals();

 private:
  class Terminal;
  explicit Screen(std::unique_ptr<Terminal> terminal);
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace heaptap::top
