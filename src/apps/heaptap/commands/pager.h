// Pager for long output on a terminal.
#pragma once
#include <sys/types.h>
#include <string_view>

#include "common/base/result.h"

namespace heaptap::app {

// Report output: the standard output, or, if that is a terminal, a pager: $HEAPTAP_PAGER or $PAGER, else `less -FRX`. Empty or `cat`:
// no pager. If it can't be started, none is used.
class Output {
 public:
  // `paged`: use a pager if possible.
  explicit Output(bool paged);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();  // waits for the pager

  // A pager closed early by the user is no error.
  base::Result<> write(std::string_view piece);
  base::Result<> finish();

 private:
  bool start(const char* command);

  int pipe_ = -1;  // to the pager
  pid_t pager_ = 0;
  bool is_left_ = false;
};

// Command of the pager; null: none is wanted.
const char* pager_command();

}  // namespace heaptap::app
