#include "views/client/live_trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "common/base/signals_blocked.h"
#include "record/trace/trace_reader.h"
#include "views/client/low_priority.h"

namespace heaptap::client {
namespace {

constexpr std::chrono::milliseconds kPause{200};         // frames are written at least once a second
constexpr uint64_t kBytesAtATime = uint64_t{256} << 10;  // so that callers don't wait long for the lock

// Parts of the report needed by views without a filter.
query::Query counts() { return {.listing = {.blocks = true, .errors = true}}; }

// The file's own name, as long as it refers to the file.
std::string path_to(const base::UniqueFd& file, std::string name) {
  struct stat opened{};
  struct stat named{};
  const bool is_same = fstat(file.get(), &opened) == 0 && stat(name.c_str(), &named) == 0 &&
                       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  return is_same ? std::move(name) : base::path_of(file);
}

uint64_t size_of(const base::UniqueFd& file) {
  struct stat facts{};
  return fstat(file.get(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
}

}  // namespace

class LiveTrace::Ledger {
 public:
  Ledger(trace::TraceReader reader, std::shared_ptr<const std::atomic<bool>> recorder_lives)
      : reader_(std::move(reader)), analysis_(reader_, counts()), recorder_lives_(std::move(recorder_lives)) {
    const base::SignalsBlocked blocked;
    follower_ = std::jthread([this](const std::stop_token& stop) {
      go_behind_others();
      follow(stop);
    });
  }

  // None: another reader has to be used.
  std::optional<base::Result<report::Report>> report(const query::Query& query, uint64_t bytes) {
    const std::unique_lock lock = take_turn();
    // The last frame may be replaceable totals, which are read again.
    while (read_ && reader_.followed_bytes() < bytes && take_some()) {
    }
    if (!read_) return std::unexpected(read_.error());
    if (!analysis_.can_answer(query)) return std::nullopt;
    return analysis_.report(query);
  }

  // At the first read, stop early so that there is something to show.
  std::optional<base::Result<report::Report>> glance(const query::Query& query) {
    const std::unique_lock lock = take_turn();
    constexpr uint64_t kMoment = uint64_t{16} << 20;  // bytes
    while (!was_seen_ && reader_.followed_bytes() < kMoment && take_some()) {
    }
    was_seen_ = true;
    if (!read_) return std::unexpected(read_.error());
    if (!analysis_.can_answer(query)) return std::nullopt;
    return analysis_.glance(query);
  }

  std::vector<model::Mark> marks() {
    const std::unique_lock lock = take_turn();
    while (take_some()) {
    }
    return reader_.marks();
  }

  uint64_t read_bytes() {
    const std::unique_lock lock = take_turn();
    return reader_.followed_bytes();
  }

 private:
  void follow(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (take_some()) {
        // A fair lock: with a mutex alone, mostly the thread that has just released it would get it again.
        lock.unlock();
        while (waiting_ != 0) std::this_thread::yield();
        lock.lock();
      } else {
        changed_.wait_for(lock, stop, kPause, [] { return false; });
      }
    }
  }

  // The lock, for callers.
  std::unique_lock<std::mutex> take_turn() {
    ++waiting_;
    std::unique_lock lock(mutex_);
    --waiting_;
    return lock;
  }

  // With the lock held. True: there may be more.
  bool take_some() {
    if (!read_) return false;
    const uint64_t before = reader_.followed_bytes();
    read_ = reader_.follow(analysis_, {.addresses = true, .pause_after_bytes = kBytesAtATime, .writer_lives = [this] {
                                         return recorder_lives_->load();
                                       }});
    const uint64_t after = reader_.followed_bytes();
    return read_.has_value() && after > before && after < reader_.file_bytes();
  }

  std::atomic<int> waiting_ = 0;  // waiting for the lock
  std::mutex mutex_;              // of all members below
  std::condition_variable_any changed_;
  trace::TraceReader reader_;
  query::Analysis analysis_;
  std::shared_ptr<const std::atomic<bool>> recorder_lives_;
  bool was_seen_ = false;  // by `glance`
  base::Result<> read_;    // the first failure
  std::jthread follower_;  // last: destroyed before the members that it uses
};

base::Result<std::unique_ptr<LiveTrace>> LiveTrace::open(base::UniqueFd file, std::string name,
                                                         std::shared_ptr<const std::atomic<bool>> recorder_lives) {
  if (!file) return base::fail("the recording's trace can't be read from here");
  std::string path = path_to(file, std::move(name));
  return std::unique_ptr<LiveTrace>(new LiveTrace(std::move(file), std::move(path), std::move(recorder_lives)));
}

LiveTrace::LiveTrace(base::UniqueFd file, std::string path, std::shared_ptr<const std::atomic<bool>> recorder_lives)
    : file_(std::move(file)), path_(std::move(path)), recorder_lives_(std::move(recorder_lives)) {}

LiveTrace::~LiveTrace() = default;

base::Result<LiveTrace::Ledger*> LiveTrace::ledger() {
  if (ledger_ != nullptr) return ledger_.get();
  auto reader = trace::TraceReader::open(base::path_of(file_));
  if (!reader) return std::unexpected(std::move(reader).error());
  ledger_ = std::make_unique<Ledger>(*std::move(reader), recorder_lives_);
  return ledger_.get();
}

base::Result<report::Report> LiveTrace::report(const query::Query& query, uint64_t bytes) {
  const auto counted = ledger();
  if (!counted) return std::unexpected(counted.error());
  auto report = (*counted)->report(query, bytes);
  return with_path(report ? *std::move(report) : read_again(query));
}

base::Result<report::Report> LiveTrace::glance(const query::Query& query) {
  const auto counted = ledger();
  if (!counted) return std::unexpected(counted.error());
  auto report = (*counted)->glance(query);
  return with_path(report ? *std::move(report) : read_again(query));
}

base::Result<report::Report> LiveTrace::read_again(const query::Query& query) const {
  auto reader = trace::TraceReader::open(base::path_of(file_));
  if (!reader) return std::unexpected(std::move(reader).error());
  return query::analyze(*reader, query);
}

base::Result<report::Report> LiveTrace::with_path(base::Result<report::Report> report) const {
  if (report) report->trace_path = path_;
  return report;
}

base::Result<std::vector<model::Mark>> LiveTrace::marks() {
  const auto counted = ledger();
  if (!counted) return std::unexpected(counted.error());
  return (*counted)->marks();
}

Freshness LiveTrace::freshness() {
  const uint64_t written = size_of(file_);
  const uint64_t read = ledger_ == nullptr ? written : ledger_->read_bytes();
  return {read, std::max(written, read)};
}

}  // namespace heaptap::client
