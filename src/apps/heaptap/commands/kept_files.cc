#include "apps/heaptap/commands/kept_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <utility>

#include "analysis/symbols/local_files.h"
#include "apps/heaptap/commands/terminal.h"
#include "common/base/clock.h"
#include "common/base/intervals.h"
#include "common/base/safe_text.h"
#include "common/base/small_file.h"
#include "common/base/stop_signals.h"
#include "common/wire/handshake.h"
#include "record/recordings/local_recording.h"

namespace heaptap::app {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of a recording
constexpr size_t kMaxFilesSeen = 4096;             // a program may map files without end
constexpr size_t kMaxWaiting = 256;                // open ones

}  // namespace

KeptFiles::KeptFiles(symbols::ResolverOptions where)
    : where_{.symbol_directories = where.symbol_directories, .sysroots = where.sysroots},
      cache_(symbols::FileCache::of_user()),
      downloads_(std::move(where)),
      copies_([this](const Copy& from, const std::stop_token& stop) { keep_copy(from, stop); },
              [this] { make_room(); }) {}

KeptFiles::~KeptFiles() = default;

bool KeptFiles::lacks(const model::Module& module) {
  if (module.build_id.empty() || (module.flags & wire::kModuleIsVdso) != 0) return false;
  if (base::file_name_of(module.path) == wire::kAgentFileName) return false;  // stacks never end in the agent
  downloads_.want(module);
  if (!cache_) return false;
  if (seen_.size() >= kMaxFilesSeen || !seen_.insert(module.build_id).second) return false;
  if (!symbols::has_file(where_, module)) return true;
  found_.emplace(module.build_id, 0);
  return false;
}

// Processes share most of their files, and may end one after the other.
bool KeptFiles::has_lost(const model::Module& module) {
  constexpr uint64_t kBetweenLooksNs = 1'000'000'000;
  const auto found = found_.find(module.build_id);
  if (found == found_.end()) return false;
  const uint64_t now = base::clock_ns(CLOCK_MONOTONIC);
  if (found->second != 0 && now - found->second < kBetweenLooksNs) return false;
  found->second = now;
  if (symbols::has_file(where_, module)) return false;
  found_.erase(found);
  return true;
}

void KeptFiles::keep(const model::Module& module, base::UniqueFd file) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return;
  const auto bytes = static_cast<uint64_t>(status.st_size);
  if (bytes > kMaxFileBytes || bytes > kMaxBytes - taken_bytes_) return;
  if (copies_.add({module.build_id, std::move(file), bytes}, kMaxWaiting)) taken_bytes_ += bytes;
}

// Files that can't be kept lack names later, which the report says.
void KeptFiles::keep_copy(const Copy& from, const std::stop_token& stop) const try {
  (void)copy(from, stop);
} catch (const std::exception&) {
  return;  // no memory: the recording goes on without it
}

void KeptFiles::make_room() const try { cache_->make_room(); } catch (const std::exception&) {
  return;
}

base::Result<> KeptFiles::copy(const Copy& from, const std::stop_token& stop) const {
  auto file = cache_->begin(from.build_id);
  if (!file) return std::unexpected(std::move(file).error());
  std::string piece(size_t{1} << 20, '\0');
  for (uint64_t done = 0; done < from.bytes;) {
    if (stop.stop_requested()) return base::fail("canceled");  // incomplete copies are not kept
    const ssize_t got = pread(from.file.get(), piece.data(), piece.size(), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return base::fail("it can't be read: {}", base::reason_of(errno));
    HEAPTAP_TRY(file->write({piece.data(), static_cast<size_t>(got)}));
    done += static_cast<uint64_t>(got);
  }
  return file->finish();
}

namespace {

// The wait for a download at the end of a run: as long as the user wants where a line shows it, else a few seconds.
class EndWait {
 public:
  bool goes_on(const symbols::SymbolWork& work) {
    if (!progress_) progress_.emplace();
    progress_->tell(work);
    if (isatty(STDERR_FILENO) == 1 || Clock::now() - began_ < base::intervals().reach) return true;
    print_error(fmt::format(
        "heaptap: the symbols of {} aren't here yet, which isn't waited for: `heaptap show` asks for them again\n",
        base::safe_text(base::file_name_of(work.path))));
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<ProgressLine> progress_;
  Clock::time_point began_ = Clock::now();
};

}  // namespace

void KeptFiles::finish() {
  const auto goes_on = [before = base::stop_signals::requests()] { return base::stop_signals::requests() == before; };
  (void)copies_.wait(goes_on);
  EndWait wait;
  downloads_.finish([&](const symbols::SymbolWork& work) { return goes_on() && wait.goes_on(work); });
}

supervision::RecordingMaker KeptFiles::recording_maker(trace::FramePool& frames, const recordings::RingOptions& ring,
                                                       recordings::WriteWatches* watches) {
  return
      [shared =
           recordings::SharedMeans{
               .keeper = this, .frames = &frames, .watches = watches, .ring = ring.max_bytes != 0 ? &ring : nullptr}](
          const log::LogOptions& options, const model::Capture& capture, const std::string& path, bool overwrite) {
        return recordings::LocalRecording::create_with(shared, options, capture, path, overwrite);
      };
}

}  // namespace heaptap::app
