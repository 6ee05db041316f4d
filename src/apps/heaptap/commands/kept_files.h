// Copies of module files that symbol searches wouldn't find (unlinked, replaced, in memory, below another root), made while their
// processes live, into the cache of analysis/symbols/file_cache.h, which all symbol searches use; and downloads of the debug files of others.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include "analysis/symbols/downloads.h"
#include "analysis/symbols/file_cache.h"
#include "analysis/symbols/resolver.h"
#include "capture/supervision/recorded_processes.h"
#include "common/base/background_queue.h"
#include "common/base/unique_fd.h"
#include "record/recordings/file_keeper.h"
#include "record/recordings/ring_options.h"
#include "record/recordings/write_watches.h"
#include "record/trace/frame_pool.h"

namespace heaptap::app {

class KeptFiles final : public recordings::FileKeeper {
 public:
  // `where`: places that symbol searches will use. Without a cache it keeps none, without `debuginfod` it downloads none.
  explicit KeptFiles(symbols::ResolverOptions where);
  ~KeptFiles() override;

  bool lacks(const model::Module& module) override;
  bool has_lost(const model::Module& module) override;
  void keep(const model::Module& module, base::UniqueFd file) override;
  // To be called after recording: waits until the copies are made and the download under way is there, or Ctrl-C.
  void finish();
  // Factory of local recordings whose files are kept, and whose frames `frames` makes; all must outlive them.
  [[nodiscard]] supervision::RecordingMaker recording_maker(trace::FramePool& frames,
                                                            const recordings::RingOptions& ring,
                                                            recordings::WriteWatches* watches = nullptr);

 private:
  struct Copy {
    std::string build_id;
    base::UniqueFd file;
    uint64_t bytes;
  };

  void keep_copy(const Copy& from, const std::stop_token& stop) const;
  void make_room() const;
  [[nodiscard]] base::Result<> copy(const Copy& from, const std::stop_token& stop) const;

  const symbols::ResolverOptions where_;
  const std::optional<symbols::FileCache> cache_;
  std::set<std::string> seen_;             // build-ids
  std::map<std::string, uint64_t> found_;  // of those whose file was there: when that was looked at again; 0: not yet
  uint64_t taken_bytes_ = 0;
  symbols::Downloads downloads_;
  base::BackgroundQueue<Copy> copies_;  // declared last: ends before the rest
};

}  // namespace heaptap::app
