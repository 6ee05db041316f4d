#include "apps/heaptap/commands/fetching.h"

#include <fmt/format.h>

#include <utility>

#include "analysis/symbols/local_files.h"
#include "apps/heaptap/commands/terminal.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/stop_signals.h"
#include "common/wire/handshake.h"

namespace heaptap::app {
namespace {

remote::FetchLimits limits_of(const RunOptions& options) {
  constexpr uint64_t kFilesAtMost = 8;  // of the largest kind
  const uint64_t most = options.fetch_limit_bytes;
  const bool is_huge = most > UINT64_MAX / kFilesAtMost;
  return {.file_bytes = most, .all_bytes = is_huge ? UINT64_MAX : most * kFilesAtMost};
}

}  // namespace

bool Fetching::Taker::lacks(const model::Module& module) {
  // Stacks never end in the agent.
  return has_place() && base::file_name_of(module.path) != wire::kAgentFileName && !symbols::has_file(where_, module);
}

base::Result<> Fetching::Taker::begin(const std::string& build_id) {
  auto file = cache_->begin(build_id);
  if (!file) return std::unexpected(std::move(file).error());
  file_.emplace(*std::move(file));
  return {};
}

base::Result<> Fetching::Taker::finish() {
  HEAPTAP_TRY(file_->finish());
  file_.reset();
  return {};
}

Fetching::Fetching(const RunOptions& options)
    : options_(options),
      taker_(options.no_fetch ? std::nullopt : symbols::FileCache::of_user(),
             {.symbol_directories = options.symbols, .sysroots = options.sysroots, .debuginfod = false}),
      fetcher_(taker_, limits_of(options)) {}

// A recording that started without this host keeps files for it: if none are wanted, it is told so for each.
void Fetching::serve(remote::RemoteSource& source) {
  if (is_on() || options_.machine.takes_over) source.fetch_by(fetcher_);
}

void Fetching::finish(remote::RemoteSource& source) {
  if (!is_on()) return;
  if (!fetcher_.is_done()) {
    ProgressLine progress;
    const int asked_before = base::stop_signals::requests();
    source.await_files([&] {
      progress.fetching(fetcher_.path(), fetcher_.done_bytes(), fetcher_.file_bytes());
      return base::stop_signals::requests() == asked_before;
    });
  }
  if (fetcher_.received_bytes() > 0) taker_.make_room();
  if (!options_.quiet) tell_missing();
}

void Fetching::tell_missing() const {
  constexpr size_t kMaxTold = 3;
  size_t told = 0;
  for (const remote::NotFetched& file : fetcher_.not_fetched()) {
    if (told == kMaxTold) break;
    print_error(fmt::format("heaptap: {} not fetched from the target: {}\n",
                            base::safe_text(base::file_name_of(file.path)), base::safe_text(file.why)));
    ++told;
  }
  const size_t others = fetcher_.not_fetched_count() - told;
  if (others > 0)
    print_error(fmt::format("heaptap: {} other file{} fetched either\n", others, others == 1 ? " isn't" : "s aren't"));
}

}  // namespace heaptap::app
