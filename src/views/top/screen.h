// Full-screen terminal output by ncurses. The terminal is restored in all cases: by the destructor, before the process stops (Ctrl-Z)
// and, as far as a signal handler can, when the process crashes. One instance at a time.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "views/top/grid.h"
#include "views/top/keys.h"

namespace heaptap::top {

// Whether the user's locale can show non-ASCII characters; sets the process's LC_CTYPE.
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

  // None: no key pending.
  std::optional<Key> read_key();

  // Readable when a signal has arrived.
  [[nodiscard]] int signal_descriptor() const;
  // Handles pending signals: resizes, stops and resumes. Returns the number of a terminating signal, if any.
  std::optional<int> handle_signals();

 private:
  class Terminal;
  explicit Screen(std::unique_ptr<Terminal> terminal);
  std::unique_ptr<Terminal> terminal_;
};

}  // namespace heaptap::top
