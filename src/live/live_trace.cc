#include "live/live_trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace heaptap::live {
namespace {

constexpr std::chrono::milliseconds kPause{200};         // what is written comes in frames, one a second at least
constexpr uint64_t kBytesAtATime = uint64_t{256} << 10;  // so that who asks doesn't wait long for the lock

// All that views without a filter need.
analysis::Query counts() { return {.blocks = true, .errors = true}; }

// The file's own name, as long as it leads there.
std::string path_to(const base::UniqueFd& file, std::string name) {
  struct stat opened{};
  struct stat named{};
  const bool is_same = fstat(file.get(), &opened) == 0 && stat(name.c_str(), &named) == 0 &&
                       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  return is_same ? std::move(name) : fmt::format("/proc/self/fd/{}", file.get());
}

}  // namespace

base::Result<std::unique_ptr<LiveTrace>> LiveTrace::open(base::UniqueFd file, std::string name) {
  if (!file) return base::fail("the recording's trace can't be read from here");
  std::string path = path_to(file, std::move(name));
  auto reader = trace::TraceReader::open(fmt::format("/proc/self/fd/{}", file.get()));
  if (!reader) return std::unexpected(std::move(reader).error());
  return std::unique_ptr<LiveTrace>(new LiveTrace(std::move(file), std::move(path), *std::move(reader)));
}

LiveTrace::LiveTrace(base::UniqueFd file, std::string path, trace::TraceReader reader)
    : file_(std::move(file)),
      path_(std::move(path)),
      reader_(std::move(reader)),
      analysis_(reader_, counts()),
      follower_([this](const std::stop_token& stop) { follow(stop); }) {}

LiveTrace::~LiveTrace() = default;

void LiveTrace::follow(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (take_some()) {
      // Who waits for the lock gets it.
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
      continue;
    }
    changed_.notify_all();
    changed_.wait_for(lock, stop, kPause,
                      [this] { return wanted_bytes_ > reader_.followed_bytes() && read_.has_value(); });
  }
}

bool LiveTrace::take_some() {
  if (!read_) return false;
  const uint64_t before = reader_.followed_bytes();
  read_ = reader_.follow(analysis_, {.addresses = true, .pause_after_bytes = kBytesAtATime});
  const uint64_t after = reader_.followed_bytes();
  if (after >= wanted_bytes_) wanted_bytes_ = 0;
  return read_.has_value() && after > before && after < reader_.file_bytes();
}

base::Result<report::Report> LiveTrace::report(const analysis::Query& query, uint64_t bytes) {
  std::unique_lock lock(mutex_);
  // What the last frame holds may be totals that can be replaced, which aren't passed.
  while (read_ && reader_.followed_bytes() < bytes && take_some()) {
  }
  if (read_ && reader_.followed_bytes() < bytes) take_some();
  if (!read_) return std::unexpected(read_.error());
  if (!analysis_.can_answer(query)) {
    lock.unlock();
    return read_anew(query);
  }
  auto report = analysis_.report(query);
  if (report) report->trace_path = path_;
  return report;
}

base::Result<report::Report> LiveTrace::read_anew(const analysis::Query& query) const {
  auto reader = trace::TraceReader::open(fmt::format("/proc/self/fd/{}", file_.get()));
  if (!reader) return std::unexpected(std::move(reader).error());
  auto report = analysis::analyze(*reader, query);
  if (report) report->trace_path = path_;
  return report;
}

base::Result<report::Report> LiveTrace::glance(const analysis::Query& query) {
  std::unique_lock lock(mutex_);
  if (!read_) return std::unexpected(read_.error());
  if (!analysis_.can_answer(query)) {
    lock.unlock();
    return read_anew(query);
  }
  auto report = analysis_.glance(query);
  if (report) report->trace_path = path_;
  return report;
}

std::vector<model::Mark> LiveTrace::marks() {
  const std::scoped_lock lock(mutex_);
  return reader_.marks();
}

Freshness LiveTrace::freshness() {
  struct stat facts{};
  const uint64_t written = fstat(file_.get(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
  const std::scoped_lock lock(mutex_);
  return {reader_.followed_bytes(), std::max(written, reader_.followed_bytes())};
}

}  // namespace heaptap::live
