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

  // Begins to write all that is kept now to a new file, which takes its time beside the recording; then its user is told of it. `why` is
  // for people. While another one is written, it waits for its turn.
  virtual base::Result<> keep(const std::string& why) = 0;

 protected:
  ~BlackBox() = default;  // owned as a Recording
};

}  // namespace heaptap::supervision
