// Long output on a terminal, a page at a time.
#pragma once
#include <sys/types.h>
#include <string_view>

#include "base/result.h"

namespace heaptap::app {

// Where reports are written: the standard output, or a pager that shows it, where that is a terminal: what $HEAPTAP_PAGER or
// $PAGER says, else `less -FRX`. Set but empty, or `cat`: none. One that can't be started is none.
class Output {
 public:
  // `paged`: a pager is wanted.
  explicit Output(bool paged);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();  // waits for the pager

  // That a user leaves a pager early is no error.
  base::Result<> write(std::string_view piece);
  base::Result<> finish();

 private:
  bool start(const char* command);

  int pipe_ = -1;  // to the pager
  pid_t pager_ = 0;
  bool is_left_ = false;
};

// The command of the pager; null: none is wanted.
const char* pager_command();

}  // namespace heaptap::app
