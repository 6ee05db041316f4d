// Names of code that a recorded process on this machine made itself, from the files that it writes for profilers. A file is read only
// if it is the process's user's or root's, as the process sees it, and no link in a folder that all can write to.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "collect/jit_code.h"
#include "model/code_name.h"
#include "model/tables.h"
#include "process/memory_map.h"

namespace heaptap::collect {

class JitNames {
 public:
  // While the process lives.
  explicit JitNames(pid_t process);

  // Of codes that lie in no module, those that have a name by now and had none at the last call. Reads what the files have in addition.
  std::vector<model::CodeName> take(const model::Tables& tables);

 private:
  struct Source {
    base::UniqueFd file;
    bool is_dump = false;
    uint64_t inode = 0;
    uint64_t taken_bytes = 0;  // of the file
  };

  void look_for_map();
  void look_for_dumps();
  [[nodiscard]] bool may_be_read(const base::UniqueFd& file) const;
  void read_on(Source& source);

  const pid_t process_;
  base::UniqueFd root_;          // as the process sees it; none: it isn't told
  std::string map_path_;         // below that
  std::vector<uid_t> owners_;    // whose files are believed
  std::vector<Source> sources_;  // the map first, if there is one
  JitCode code_;
  std::vector<model::CodeId> open_;  // without a name
  size_t seen_codes_ = 0;
};

}  // namespace heaptap::collect
