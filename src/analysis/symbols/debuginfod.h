// Debug information from the servers of $DEBUGINFOD_URLS, by libdebuginfod, which is loaded on demand; where this program can't load
// it, by the program debuginfod-find of $PATH. Private to symbols/.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "analysis/symbols/downloads.h"
#include "common/base/result.h"

namespace heaptap::symbols {

// Download progress: bytes received, and in total (0: unknown).
using DownloadProgress = std::function<void(uint64_t done, uint64_t total)>;

// Conditions of one download.
struct Transfer {
  DownloadProgress progress = {};
  uint64_t max_bytes = uint64_t{4} << 30;
  // A download in the background, which ends when this asks for it. Without one it is in the foreground: signals end it, and a
  // request for the recording's end.
  std::stop_token stop = {};
};

class Debuginfod {
 public:
  // Fails if libdebuginfod, or in a static heaptap debuginfod-find, isn't installed, no server is configured, or its cache belongs to another user, who could give root files.
  static base::Result<Debuginfod> create();
  Debuginfod(Debuginfod&&) noexcept;
  Debuginfod& operator=(Debuginfod&&) noexcept;
  ~Debuginfod();

  // Path (in the user's cache) of the debug file with this build-id (bytes), downloaded if necessary; whatever the server sent: the
  // caller checks it. Gives up after some seconds without a byte; then no server is asked for a while. And after some minutes in total: then
  // none is asked for this file again.
  base::Result<std::string> find_debug_file(const std::string& build_id, Transfer transfer = {});

  // Where these files are kept; may be missing.
  static std::string cache_directory();

  // Whether a server didn't answer a short time ago, or the user ended a download.
  static bool are_silent();
  // Asks no server for a while, in any thread: the user didn't want to wait.
  static void pause();

 private:
  class Library;
  Debuginfod(std::unique_ptr<Library> library, std::string program);

  std::unique_ptr<Library> library_;  // null: by the program
  std::string program_;
};

}  // namespace heaptap::symbols
