// Names of code that a recorded process on this machine made itself, from the files that it writes for profilers: a perf map, and
// jitdumps. Who records reads them, with its own rights: a file is read only if it is a regular one, no link in a folder that all can
// write to, and the process's user's. The files grow, and may be large: they are read a little at a time, and what is kept of them are
// the names of codes that are sought (sought_code.h).
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/served_files.h"
#include "base/unique_fd.h"
#include "collect/sought_code.h"
#include "model/code_name.h"
#include "model/tables.h"

namespace heaptap::collect {

struct JitNamesOptions {
  bool believes_root = false;  // also files of root's: the process may have been root when it wrote them
  std::string forbidden = {};  // why none is read; empty: they may be
  SoughtCodeLimits limits = {.codes = size_t{1} << 18, .name_bytes = size_t{16} << 20};
};

class JitNames {
 public:
  // While the process lives.
  explicit JitNames(pid_t process, JitNamesOptions options = {});

  // Looks for a name of this code, if it lies in none of these modules.
  void seek(model::CodeId number, const model::Code& code, std::span<const model::Module> modules);
  // Opens the files that are there. While the process lives it is known where they are; they may be gone when it has ended.
  void find_files();
  // For who calls it again and again: reads on for some milliseconds where it is time to, seldom where there is much to read.
  void proceed();
  // Where somebody wants to see what there is now.
  void catch_up();
  // Of a process that has ended or is about to: reads on for so long at most. True: all was read that there is.
  bool read_to_end(std::chrono::nanoseconds most);
  // Those that were found.
  std::vector<model::CodeName> take();
  [[nodiscard]] bool has_found() const { return !found_.empty(); }
  // Why names are missing: a file is there that isn't read. None: there is none, or nothing is sought.
  [[nodiscard]] std::vector<base::Error> why_missing() const;

 private:
  struct Source {
    std::shared_ptr<const base::UniqueFd> file;
    base::FilePlace place;
    bool is_served = false;  // by somebody who may not answer
    bool is_dump = false;
    uint64_t inode = 0;
    uint64_t read_bytes = 0;       // that the last search came to
    uint64_t at = 0;               // where this search is
    bool is_in_long_line = false;  // of a map
  };

  [[nodiscard]] pid_t live_thread() const;
  void look_at_process();
  void look_for_directory(pid_t thread, base::UniqueFd root);
  bool find_map();
  bool find_dumps();
  bool may_be_read(const struct stat& status, const std::string& path);
  [[nodiscard]] bool is_believed(uid_t owner) const;
  void refuse(const std::string& path, std::string why);
  void begin_search();
  void end_search();
  struct Piece {
    std::string bytes;
    uint64_t file_bytes = 0;
  };
  static Source source_of(const base::FilePlace& place, base::UniqueFd file, uint64_t inode);
  static Piece read_bytes(const Source& source);
  bool read_piece(Source& source);
  static void skip_long_line(Source& source, std::string_view bytes);
  bool read_on(std::chrono::nanoseconds most);
  void read_a_while(uint64_t rest_ns, std::chrono::nanoseconds most);

  const pid_t process_;
  const uint64_t start_time_;
  const JitNamesOptions options_;
  // Where its perf map is, in its root; none: it isn't told. Not the root: with the process goes its mount namespace, and what was
  // mounted below a root that is still open, so that a path would then lead to another directory.
  std::shared_ptr<const base::UniqueFd> directory_;
  std::string map_name_;
  std::vector<uid_t> owners_;                                 // whose files are believed: those that the process ran as
  std::vector<Source> sources_;                               // the map first, if there is one
  std::vector<std::pair<std::string, std::string>> refused_;  // files, and why
  SoughtCode code_;
  std::vector<model::CodeName> found_;
  bool is_searching_ = false;
  bool begins_anew_ = false;  // the next search: other files are there
  size_t source_at_ = 0;      // that is read
  bool is_at_end_ = false;
  bool began_at_end_ = false;  // the last search
  unsigned searches_at_end_ = 0;
  uint64_t done_at_ns_ = 0;  // with the last search, monotonic
  uint64_t took_ns_ = 0;     // that one
  uint64_t busy_ns_ = 0;     // with the one that goes on
};

}  // namespace heaptap::collect
