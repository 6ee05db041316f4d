// Files that a recording on another machine fetches from there, since names need them and they aren't here: into the cache of
// symbols/file_cache.h, where all that names looks for them.
#pragma once
#include <optional>
#include <string>

#include "app/run_command.h"
#include "remote/file_fetcher.h"
#include "remote/remote_source.h"
#include "symbols/file_cache.h"
#include "symbols/resolver.h"

namespace heaptap::app {

class Fetching {
 public:
  // The options outlive it.
  explicit Fetching(const RunOptions& options);

  [[nodiscard]] bool is_on() const { return taker_.has_place(); }
  // While the source is used, this is there. Not of a file, which gives none.
  void serve(remote::RemoteSource& source);
  // All is recorded: waits for what is still missing, with a line that says how far that is, until it is there or Ctrl-C comes. Says
  // what didn't come.
  void finish(remote::RemoteSource& source);

 private:
  // Files of the cache. Without one it takes none.
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
