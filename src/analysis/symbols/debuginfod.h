// Debug information from the servers of $DEBUGINFOD_URLS, by libdebuginfod, which is loaded on demand. Private to symbols/.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/result.h"

namespace heaptap::symbols {

// Download progress: bytes received, and in total (0: unknown).
using DownloadProgress = std::function<void(uint64_t done, uint64_t total)>;

class Debuginfod {
 public:
  // Fails if libdebuginfod isn't installed or no server is configured.
  static base::Result<Debuginfod> create();
  Debuginfod(Debuginfod&&) noexcept;
  Debuginfod& operator=(Debuginfod&&) noexcept;
  ~Debuginfod();

  // Path (in the user's cache) of the debug file with this build-id (bytes), downloaded if necessary. Gives up after kSilenceLimit
  // without a byte or kTotalLimit in total; after a silence no further file is requested.
  base::Result<std::string> find_debug_file(const std::string& build_id, const DownloadProgress& progress = {});

 private:
  class Library;
  explicit Debuginfod(std::unique_ptr<Library> library);

  std::unique_ptr<Library> library_;
  bool is_silent_ = false;
};

}  // namespace heaptap::symbols
