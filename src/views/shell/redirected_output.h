// Redirection of one command's standard output into a file or another command.
#pragma once
#include <sys/types.h>

#include <string>

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "views/shell/words.h"

namespace heaptap::shell {

// From `begin` to `end`, descriptor 1 is the file, or a pipe to the command.
class RedirectedOutput {
 public:
  static base::Result<RedirectedOutput> begin(Redirection redirection, const std::string& target);
  RedirectedOutput(RedirectedOutput&&) noexcept = default;
  RedirectedOutput& operator=(RedirectedOutput&&) = delete;
  ~RedirectedOutput();

  // Whether the pipe has no reader any more, so that a failed write is no error.
  [[nodiscard]] bool is_left() const;
  // Restores the standard output, and waits for the command. Returns its exit status, as a shell does. `keep`: false removes a file
  // created for the redirection.
  base::Result<int> end(bool keep);

 private:
  RedirectedOutput() = default;
  base::Result<> open_file(Redirection redirection, const std::string& target);
  base::Result<> start(const std::string& command);
  base::Result<> put_in_place();

  base::UniqueFd before_;  // the original standard output
  base::UniqueFd goal_;
  std::string made_;  // the file, if it was created
  pid_t child_ = 0;
};

}  // namespace heaptap::shell
