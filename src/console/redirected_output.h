// The standard output of one command, which goes into a file or to another command.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "console/words.h"

namespace heaptap::console {

// From `begin` to `end` descriptor 1 is the file, or a pipe to the command.
class RedirectedOutput {
 public:
  static base::Result<RedirectedOutput> begin(Redirection redirection, const std::string& target);
  RedirectedOutput(RedirectedOutput&&) noexcept = default;
  RedirectedOutput& operator=(RedirectedOutput&&) = delete;
  ~RedirectedOutput();

  // Whether nobody reads the pipe any more, so that what can't be written there is no failure.
  [[nodiscard]] bool is_left() const;
  // Puts the standard output back, and waits for the command: its exit status, as a shell has it. `keep`: false removes a file
  // that was made for this.
  base::Result<int> end(bool keep);

 private:
  RedirectedOutput() = default;
  base::Result<> open_file(Redirection redirection, const std::string& target);
  base::Result<> start(const std::string& command);
  base::Result<> put_in_place();

  base::UniqueFd before_;  // what the standard output was
  base::UniqueFd goal_;
  std::string made_;  // the file, where it wasn't there
  pid_t child_ = 0;
};

}  // namespace heaptap::console
