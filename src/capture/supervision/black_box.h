// Recording that keeps its last events in memory, and writes them to a file when it is asked for them.
#pragma once
#include <string>

#include "common/base/result.h"

namespace heaptap::supervision {

class BlackBox {
 public:
  BlackBox() = default;
  BlackBox(const BlackBox&) = delete;
  BlackBox& operator=(const BlackBox&) = delete;

  // Writes all that is kept to a new file, and tells it to whom it may concern. `why` is for people. Returns the file's path.
  virtual base::Result<std::string> keep(const std::string& why) = 0;

 protected:
  ~BlackBox() = default;  // owned as a Recording
};

}  // namespace heaptap::supervision
