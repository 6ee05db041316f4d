// Files that somebody serves who may not answer: a program (FUSE), even a recorded one that is held or waits for us, or another machine
// (NFS, CIFS, 9p). Whatever asks for one is done in a thread that is given up, and its file system is left alone from then on. Files of
// other file systems are looked at by who asks, at once. For all threads.
#pragma once
#include <sys/types.h>

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

#include "base/bounded_calls.h"
#include "base/mount_table.h"
#include "base/unique_fd.h"

namespace heaptap::base {

struct FilePlace {
  pid_t viewer =
      0;  // a live thread, whose root the path is below; 0: this one's, or the path is that of a link in /proc/PID
  std::string path;
  std::optional<dev_t> device = {};  // that it is on, where a memory map says so
};

// Of a file system that doesn't answer, the file that was asked for.
struct SilentFile {
  std::string path;
  std::string type;  // of the file system: "fuse.sshfs"; empty: not known
};

class ServedFiles {
 public:
  enum class Stage : uint8_t { kWaits, kGivenUp };
  using Tell = std::function<void(const SilentFile&, Stage)>;

  // The one of this process: threads and file systems that were given up are its. A child that is forked has those of its parent.
  static ServedFiles& of_process();

  explicit ServedFiles(std::chrono::milliseconds longest = BoundedCalls::kLongest) : longest_(longest) {}

  // Hears of each wait that takes a second, and how it ends. Set before there are other threads.
  void tell_by(Tell tell) { tell_ = std::move(tell); }

  // What `look` returns; none: it was given up. Perhaps it is called by another thread, which may go on when nobody waits for it any more:
  // what it uses is its own. It closes what it opens there, or keeps it by keep().
  template <typename Result>
  std::optional<Result> look(const FilePlace& place, std::function<Result()> look) {
    const auto found = std::make_shared<std::optional<Result>>();
    const bool is_done = run(place, [found, look = std::move(look)] { *found = look(); });
    return is_done ? std::move(*found) : std::nullopt;
  }

  // Whether a look there may wait for somebody: for who looks again and again.
  [[nodiscard]] static bool may_wait(const FilePlace& place) { return server_of(place).has_value(); }

  // A file that looks go on to use: closing it is a look as well. This outlives it.
  std::shared_ptr<const UniqueFd> keep(const FilePlace& place, UniqueFd file);

  // The first one of each file system.
  [[nodiscard]] std::vector<SilentFile> given_up() const;

 private:
  // What is known of a place without asking there.
  struct Server {
    std::optional<dev_t> device;
    std::string type;
  };
  [[nodiscard]] static std::optional<Server> server_of(const FilePlace& place);
  [[nodiscard]] static std::optional<Server> server_among(const std::vector<Mount>& mounts, const FilePlace& place);
  bool run(const FilePlace& place, std::function<void()> look);
  [[nodiscard]] bool is_silent(const Server& server) const;
  void give_up(const SilentFile& file, const Server& server);

  const std::chrono::milliseconds longest_;
  Tell tell_;
  mutable std::mutex mutex_;  // of what follows
  std::set<dev_t> silent_;
  std::vector<SilentFile> given_up_;
};

// Whether a file system of this type waits for somebody.
bool is_served(std::string_view type);

// The file itself; one that a program serves (FUSE) as a copy in memory, which asks nobody. None: it can't be read, or is longer. For looks.
UniqueFd own_copy(UniqueFd file, uint64_t most_bytes = uint64_t{256} << 20);

}  // namespace heaptap::base
