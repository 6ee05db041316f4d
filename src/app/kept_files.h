// Files of modules that are at no place where names are looked for (unlinked, replaced, in memory alone, below another root): copied
// while their processes live, into the cache of symbols/file_cache.h, where all that names looks for them.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "collect/file_keeper.h"
#include "collect/recorded_processes.h"
#include "symbols/file_cache.h"
#include "symbols/resolver.h"

namespace heaptap::app {

class KeptFiles final : public collect::FileKeeper {
 public:
  // Looks where names will be looked for. Without a cache it keeps none.
  explicit KeptFiles(symbols::ResolverOptions where);
  ~KeptFiles() override;

  bool lacks(const model::Module& module) override;
  void keep(const model::Module& module, base::UniqueFd file) override;
  // All is recorded: waits until the copies are made, or Ctrl-C comes.
  void finish();
  // Makes recordings of this machine, whose files are kept; this outlives them.
  [[nodiscard]] collect::RecordingMaker recording_maker();

 private:
  struct Copy {
    std::string build_id;
    base::UniqueFd file;
    uint64_t bytes;
  };

  void copy_all(const std::stop_token& stop);
  [[nodiscard]] base::Result<> copy(const Copy& from, const std::stop_token& stop) const;

  const symbols::ResolverOptions where_;
  const std::optional<symbols::FileCache> cache_;
  std::set<std::string> seen_;  // build-ids
  uint64_t taken_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable_any news_;
  std::deque<Copy> queue_;  // under the mutex, the first one is being copied
  std::jthread copier_;     // ends before the rest
};

}  // namespace heaptap::app
