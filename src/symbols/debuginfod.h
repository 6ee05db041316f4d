// Debug information from the servers of $DEBUGINFOD_URLS. libdebuginfod is loaded when it is asked for. Private to symbols/.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace heaptap::symbols {

// Bytes that have come, and bytes in all (0: not known).
using DownloadProgress = std::function<void(uint64_t done, uint64_t total)>;

class Debuginfod {
 public:
  // Fails where libdebuginfod isn't installed or no server is named.
  static base::Result<Debuginfod> create();
  Debuginfod(Debuginfod&&) noexcept;
  Debuginfod& operator=(Debuginfod&&) noexcept;
  ~Debuginfod();

  // Path (in the user's cache) of the debug file with this build-id (bytes), fetched if need be. Waits for at most
  // kSilenceLimit without a byte and kTotalLimit in all; after a silence no other file is asked for.
  base::Result<std::string> find_debug_file(const std::string& build_id, const DownloadProgress& progress = {});

 private:
  class Library;
  explicit Debuginfod(std::unique_ptr<Library> library);

  std::unique_ptr<Library> library_;
  bool is_silent_ = false;
};

}  // namespace heaptap::symbols
