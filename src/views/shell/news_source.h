// Source of asynchronous messages, printed while a user types or a script waits for its next line.
#pragma once
#include <functional>
#include <string>

namespace heaptap::shell {

struct NewsSource {
  // Readable when there is a message; -1 or null: never.
  std::function<int()> descriptor = {};
  // Returns and removes the pending messages, whole lines; empty: none.
  std::function<std::string()> take = {};

  [[nodiscard]] int wait_for() const { return descriptor ? descriptor() : -1; }
  [[nodiscard]] std::string taken() const { return take ? take() : std::string(); }
};

}  // namespace heaptap::shell
