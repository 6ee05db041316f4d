// Fetching of module files from a remote target: files needed for symbols and missing here are copied into the cache of
// analysis/symbols/file_cache.h, which all symbol searches use.
#pragma once
#include <optional>
#include <string>

#include "analysis/symbols/file_cache.h"
#include "analysis/symbols/resolver.h"
#include "apps/heaptap/commands/run_command.h"
#include "record/remote/file_fetcher.h"
#include "record/remote/remote_source.h"

namespace heaptap::app {

class Fetching {
 public:
  // The options must outlive it.
  explicit Fetching(const RunOptions& options);

  [[nodiscard]] bool is_on() const { return taker_.has_place(); }
  // To be called repeatedly while the source is in use. Not for a file, which serves none.
  void serve(remote::RemoteSource& source);
  // To be called after recording: waits for pending files, with a progress line, until done or Ctrl-C. Reports files that weren't
  // fetched.
  void finish(remote::RemoteSource& source);

 private:
  // Writer of files into the cache. Without a cache it takes none.
  class Taker final : public remote::FileTaker {
   public:
    Taker(std::optional<symbols::FileCache> cache, symbols::ResolverOptions where)
        : cache_(std::move(cache)), where_(std::move(where)) {}

    [[nodiscard]] bool has_place() const { return cache_.has_value(); }
    bool lacks(const model::Module& module) override;
    base::Result<> begin(const std::string& build_id) override;
    base::Result<> write(std::string_view bytes) override { return file_->write(bytes); }
    base::Result<> finish() override;
    void drop() override { file_.reset(); }
    void make_room() const { cache_->make_room(); }

   private:
    std::optional<symbols::FileCache> cache_;
    symbols::ResolverOptions where_;
    std::optional<symbols::NewCacheFile> file_;
  };

  void tell_missing() const;

  const RunOptions& options_;
  Taker taker_;
  remote::FileFetcher fetcher_;
};

}  // namespace heaptap::app
