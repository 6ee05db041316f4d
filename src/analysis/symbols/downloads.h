// Downloads of debug files while a program runs, from the servers of $DEBUGINFOD_URLS into the cache that all debuginfod clients share:
// who resolves addresses later finds them there.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>

#include "analysis/symbols/resolver.h"
#include "common/base/background_queue.h"
#include "common/model/tables.h"

namespace heaptap::symbols {

// Whether $DEBUGINFOD_URLS names servers.
bool has_debuginfod_servers();

// What downloads may take of a filesystem with `free` of `all` bytes: 2 GiB of it, or a tenth, stay free.
uint64_t room_for_downloads(uint64_t free, uint64_t all);

class Downloads {
 public:
  // `where`: places that symbol searches will use; without `debuginfod` nothing is downloaded.
  explicit Downloads(ResolverOptions where);
  ~Downloads();  // ends the one under way

  // Queues a module's debug file, unless it is on this machine. Doesn't wait. Without a thread, which the user's limit may refuse, nothing
  // is downloaded.
  void want(const model::Module& module);
  // To be called when the program has ended: begins no further download, and waits for the one under way as long as `goes_on` agrees, which
  // is called now and then, and told about it. If it doesn't, no server is asked for a while, by nobody: what comes next doesn't wait either.
  void finish(const std::function<bool(const SymbolWork& work)>& goes_on);

 private:
  struct Wanted {
    std::string path;
    std::string build_id;
  };

  SymbolWork work();
  void download(const Wanted& wanted, const std::stop_token& stop);

  static constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of a recording

  const ResolverOptions where_;
  uint64_t left_bytes_ = kMaxBytes;  // of the queue's thread
  std::set<std::string> seen_;       // build-ids
  std::mutex mutex_;
  SymbolWork work_;                      // under the mutex
  base::BackgroundQueue<Wanted> queue_;  // declared last: ends before the rest
};

}  // namespace heaptap::symbols
