// Bounded access to files whose file system may block: served by a program (FUSE), possibly a recorded one that is held or
// waits for heaptap, or by another machine (NFS, CIFS, 9p). Each access runs in a thread that is abandoned after a timeout, and
// that file system isn't used again. Files of other file systems are accessed directly by the caller. Thread-safe.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/bounded_calls.h"
#include "common/base/mount_table.h"
#include "common/base/unique_fd.h"

namespace heaptap::base {

struct FilePlace {
  pid_t viewer =
      0;  // a live thread whose root the path is relative to; 0: this one's, or the path is a link in /proc/PID
  std::string path;
  std::optional<dev_t> device = {};  // device of the file, where a memory map has it
};

// Unresponsive file system, with the requested file.
struct SilentFile {
  std::string path;
  std::string type;  // of the file system: "fuse.sshfs"; empty: unknown
  std::optional<dev_t> device = {};
};

// File system of a place that may block, as far as it is known without accessing it.
struct FileServer {
  std::optional<dev_t> device;
  std::string type;
};

class ServedFiles {
 public:
  enum class Stage : uint8_t { kWaits, kGivenUp };
  using Tell = std::function<void(const SilentFile&, Stage)>;

  // Singleton of this process, which owns the abandoned threads and file systems. A forked child has its parent's.
  static ServedFiles& of_process();

  explicit ServedFiles(std::chrono::milliseconds longest = BoundedCalls::kLongest) : longest_(longest) {}

  // Callback for each wait of a second, and its end. Set before there are other threads.
  void tell_by(Tell tell) { tell_ = std::move(tell); }

  // Returns the result of `look`; none: it was given up. `look` may run in another thread, and continue after it was
  // given up: it must own what it uses. It closes what it opens there, or keeps it by keep().
  template <typename Result>
  std::optional<Result> look(const FilePlace& place, std::function<Result()> look) {
    return this->look(place, server_of(place), std::move(look));
  }

  // None: no access there blocks. Callers that keep a file open keep this with it: while the process exists in whose view
  // the place is.
  [[nodiscard]] static std::optional<FileServer> server_of(const FilePlace& place);
  template <typename Result>
  std::optional<Result> look(const FilePlace& place, const std::optional<FileServer>& server,
                             std::function<Result()> look) {
    const auto found = std::make_shared<std::optional<Result>>();
    const bool is_done = run(place, server, [found, look = std::move(look)] { *found = look(); });
    return is_done ? std::move(*found) : std::nullopt;
  }

  // Keeps an opened file for later accesses: closing it may block as well. This object must outlive it.
  std::shared_ptr<const UniqueFd> keep(const FilePlace& place, UniqueFd file) {
    return keep(place, server_of(place), std::move(file));
  }
  std::shared_ptr<const UniqueFd> keep(const FilePlace& place, std::optional<FileServer> server, UniqueFd file);

  // The first silent file of each file system.
  [[nodiscard]] std::vector<SilentFile> given_up() const;
  // Those of them for which abandoned threads still wait: this process may be unable to end before they return.
  [[nodiscard]] std::vector<SilentFile> awaited() const;

 private:
  bool run(const FilePlace& place, const std::optional<FileServer>& server, std::function<void()> look);
  [[nodiscard]] bool is_silent(const FileServer& server) const;
  struct GivenUp {
    SilentFile file;
    std::shared_ptr<const std::atomic<bool>> is_awaited;
  };
  void give_up(GivenUp what);

  const std::chrono::milliseconds longest_;
  Tell tell_;
  mutable std::mutex mutex_;  // guards the following
  std::set<dev_t> silent_;
  std::vector<GivenUp> given_up_;
};

// Whether a file system of this type depends on a server.
bool is_served(std::string_view type);

// The kernel's file for ending all requests to a program that serves files (FUSE), by writing 1 to it; empty: unknown, or no such file system.
std::string abort_switch(const SilentFile& file);

// Returns the file itself, or for one served by a program (FUSE) a copy in memory. None: unreadable, or too large. For use in look().
UniqueFd own_copy(UniqueFd file, uint64_t max_bytes = uint64_t{256} << 20);

}  // namespace heaptap::base
