// Scope in which this process can't open files.
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/unique_fd.h"

namespace heaptap::test {

class NoMoreFiles {
 public:
  NoMoreFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const base::UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));  // has the lowest number that is free
    const rlimit lowered{.rlim_cur = static_cast<rlim_t>(next.get()), .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

}  // namespace heaptap::test
