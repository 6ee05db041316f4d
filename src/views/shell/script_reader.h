// Reader of a script's lines as they arrive.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"

namespace heaptap::shell {

class ScriptReader {
 public:
  // Doesn't own the descriptor.
  explicit ScriptReader(int descriptor) : descriptor_(descriptor) {}

  // Waits for a line; none: end of the script. While waiting, calls `on_other` whenever `other()` is readable (-1: none).
  base::Result<std::optional<std::string>> next(const std::function<int()>& other,
                                                const std::function<void()>& on_other);

 private:
  std::optional<std::string> take_line();
  base::Result<> fill();

  int descriptor_;
  std::string kept_;
  bool is_end_ = false;
};

}  // namespace heaptap::shell
