// What happens by itself while a user types, or while a script waits for its next line.
#pragma once
#include <functional>
#include <string>

namespace heaptap::console {

struct NewsSource {
  // Readable when there is something to tell; -1: there never is. Null: likewise.
  std::function<int()> descriptor = {};
  // Whole lines; empty: nothing. Takes them, so that each is told once.
  std::function<std::string()> take = {};

  [[nodiscard]] int wait_for() const { return descriptor ? descriptor() : -1; }
  [[nodiscard]] std::string taken() const { return take ? take() : std::string(); }
};

}  // namespace heaptap::console
