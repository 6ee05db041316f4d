// Names of JIT-compiled code of a recorded local process, from its files for profilers: a perf map, and jitdumps. Read
// by the recorder, with its own rights: a file must be a regular one, not a symbolic link in a world-writable
// directory, and owned by the process's user. The files grow and may be large: they are read in small parts, and only
// the names of codes that are sought are kept (sought_code.h).
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

#include "capture/supervision/sought_code.h"
#include "common/base/result.h"
#include "common/base/served_files.h"
#include "common/base/unique_fd.h"
#include "common/model/code_name.h"
#include "common/model/tables.h"

namespace heaptap::supervision {

struct JitNamesOptions {
  bool believes_root = false;  // also accept root's files: the process may have been root when it wrote them
  std::string forbidden = {};  // why none is read; empty: reading is permitted
  SoughtCodeLimits limits = {.codes = size_t{1} << 18, .name_bytes = size_t{16} << 20};
};

class JitNames {
 public:
  // Call while the process lives.
  explicit JitNames(pid_t process, JitNamesOptions options = {});

  // Looks for a name of this code, unless it is in one of these modules.
  void seek(model::CodeId number, const model::Code& code, std::span<const model::Module> modules);
  // Opens existing files. Their paths are known only while the process lives; they may be deleted after its end.
  void find_files();
  // For repeated calls: reads for some milliseconds when due, less often for large files.
  void proceed();
  // Reads up to now, for a client that wants the current state.
  void catch_up();
  // For a process that has ended or is about to: reads for at most that long. True: everything was read.
  bool read_to_end(std::chrono::nanoseconds most);
  // Names found.
  std::vector<model::CodeName> take();
  [[nodiscard]] bool has_found() const { return !found_.empty(); }
  // Reasons for missing names: an existing file isn't read. None: there is none, or nothing is sought.
  [[nodiscard]] std::vector<base::Error> why_missing() const;

 private:
  struct Source {
    std::shared_ptr<const base::UniqueFd> file;
    base::FilePlace place;
    std::optional<base::FileServer> server = {};  // none: its file system always responds
    bool is_dump = false;
    uint64_t inode = 0;
    uint64_t read_bytes = 0;       // end of the last search
    uint64_t at = 0;               // position of this search
    bool is_in_long_line = false;  // in a map
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
  // Directory of its perf map, in its root; none: unknown. Not the root itself: the mount namespace ends with the process, and
  // with it the mounts below a root that is still open, so that a path would then lead to another directory.
  std::shared_ptr<const base::UniqueFd> directory_;
  std::string map_name_;
  std::vector<uid_t> owners_;    // accepted owners of files: the users that the process ran as
  std::vector<Source> sources_;  // the perf map first, if there is one
  std::vector<std::pair<std::string, std::string>> refused_;  // rejected files, with reasons
  SoughtCode code_;
  std::vector<model::CodeName> found_;
  bool is_searching_ = false;
  bool restarts_ = false;  // the next search: there are new files
  size_t source_at_ = 0;   // being read
  bool is_at_end_ = false;
  bool began_at_end_ = false;  // for the last search
  unsigned searches_at_end_ = 0;
  uint64_t done_at_ns_ = 0;  // end of the last search, monotonic
  uint64_t took_ns_ = 0;     // duration of that search
  uint64_t busy_ns_ = 0;     // duration of the current search so far
};

}  // namespace heaptap::supervision
