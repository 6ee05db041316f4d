#include "views/top/history.h"

#include <algorithm>
#include <utility>

namespace heaptap::top {
namespace {

constexpr double kSecond = 1e9;

void append(History::Series& series, std::optional<double> value) {
  series.push_back(value);
  if (series.size() > History::kMaxSeries) series.pop_front();
}

// Whether the later sample continues the earlier one, without a reset in between.
bool continues(const Sample& earlier, const Sample& later) {
  return later.process.pid == earlier.process.pid && later.process.image == earlier.process.image &&
         later.figures.time_ns >= earlier.figures.time_ns &&
         later.totals.allocations.counted() >= earlier.totals.allocations.counted() &&
         later.counts.size() >= earlier.counts.size();
}

}  // namespace

void History::restart() { *this = History(); }

void History::add(SharedSample sample) {
  if (now_ && !continues(*now_, *sample)) restart();
  const bool is_later = now_ && sample->counted_until_ns > now_->counted_until_ns;
  if (is_later) before_ = std::move(now_);
  now_ = std::move(sample);
  if (!now_->is_live) {
    learn_timeline();
    return;
  }
  if (!base_) base_ = now_;
  for (size_t i = 0; i < kGaugeCount; ++i) append(series_[i], gauge_of_now(static_cast<Gauge>(i)));
}

// A finished recording is known completely.
void History::learn_timeline() {
  for (Series& series : series_) series.clear();
  for (const report::TimelinePoint& point : now_->timeline) {
    append(series_[static_cast<size_t>(Gauge::kLive)], static_cast<double>(point.live_bytes));
    append(series_[static_cast<size_t>(Gauge::kBlocks)], static_cast<double>(point.live_blocks.counted()));
    append(series_[static_cast<size_t>(Gauge::kAllocations)], static_cast<double>(point.allocations.counted()));
    append(series_[static_cast<size_t>(Gauge::kReleases)], static_cast<double>(point.releases.counted()));
  }
}

void History::add_leaks(LeakSample leaks) {
  leaked_bytes_.clear();
  for (const LeakSample::OfStack& stack : leaks.stacks) leaked_bytes_[stack.id] = stack.bytes;
  leaks_ = std::move(leaks);
}

void History::set_base(std::string name) {
  if (!now_ || !now_->is_live) return;
  base_ = now_;
  base_name_ = std::move(name);
}

// Much is unread, or data written before the previous sample hasn't been read yet.
bool History::is_behind() const {
  constexpr uint64_t kMuch = uint64_t{1} << 20;
  if (!now_) return false;
  const client::Freshness& fresh = now_->freshness;
  return fresh.written_bytes > fresh.read_bytes + kMuch ||
         (before_ && fresh.is_behind() && fresh.read_bytes < before_->freshness.written_bytes);
}

// For a finished recording: over the whole time.
std::optional<double> History::rate(uint64_t before, uint64_t now) const {
  const uint64_t from_ns = now_->is_live && before_ ? before_->counted_until_ns : 0;
  if ((now_->is_live && !before_) || now < before || now_->counted_until_ns <= from_ns) return {};
  return static_cast<double>(now - before) * kSecond / static_cast<double>(now_->counted_until_ns - from_ns);
}

std::optional<double> History::gauge_of_now(Gauge gauge) const {
  const report::Totals& totals = now_->totals;
  const auto rate_of = [this](const base::Known<uint64_t>& before, const base::Known<uint64_t>& now) {
    return now.is_known() ? rate(before.counted(), now.counted()) : std::nullopt;
  };
  const report::Totals earlier = before_ && now_->is_live ? before_->totals : report::Totals{};
  switch (gauge) {
    case Gauge::kLive:
      return to_double(totals.live_bytes);
    case Gauge::kBlocks:
      return to_double(totals.live_blocks);
    case Gauge::kResident:
      if (!now_->figures.resident_bytes) return {};
      return static_cast<double>(*now_->figures.resident_bytes);
    case Gauge::kAllocations:
      return rate_of(earlier.allocations, totals.allocations);
    case Gauge::kReleases:
      return rate_of(earlier.releases, totals.releases);
    case Gauge::kLog:
      if (now_->figures.log_limit_bytes == 0) return {};
      return static_cast<double>(now_->figures.log_used_bytes) / static_cast<double>(now_->figures.log_limit_bytes);
  }
  return {};
}

std::optional<double> History::value(Gauge gauge) const {
  if (!now_) return {};
  return gauge_of_now(gauge);
}

const report::StackCount* History::count_of(const SharedSample& sample, uint64_t id) const {
  return !sample || id == 0 || id > sample->counts.size() ? nullptr : &sample->counts[id - 1];
}

const report::ThreadEntry* History::thread_of(const SharedSample& sample, uint32_t number) const {
  if (!sample) return nullptr;
  const auto threads = report::or_none(sample->threads);
  const auto found = std::ranges::find(threads, number, &report::ThreadEntry::number);
  return found == threads.end() ? nullptr : &*found;
}

// A stack that didn't exist had nothing.
std::optional<int64_t> History::growth_of(uint64_t id) const {
  const report::StackCount* const count = count_of(now_, id);
  if (count == nullptr || !base_ || !count->live_bytes.is_known()) return {};
  const report::StackCount* const before = count_of(base_, id);
  if (before != nullptr && !before->live_bytes.is_known()) return {};
  return static_cast<int64_t>(count->live_bytes.counted() - (before == nullptr ? 0 : before->live_bytes.counted()));
}

std::optional<double> History::rate_of_stack(uint64_t id, uint64_t report::StackCount::* figure) const {
  const report::StackCount* const count = count_of(now_, id);
  const report::StackCount* const before = now_ && now_->is_live ? count_of(before_, id) : nullptr;
  if (count == nullptr) return {};
  return rate(before == nullptr ? 0 : before->*figure, count->*figure);
}

// The previous sample may have been made without threads.
std::optional<double> History::rate_of_thread(uint32_t number, uint64_t report::ThreadEntry::* figure) const {
  const report::ThreadEntry* const thread = thread_of(now_, number);
  if (thread == nullptr || (now_->is_live && (!before_ || !before_->threads))) return {};
  const report::ThreadEntry* const before = now_->is_live ? thread_of(before_, number) : nullptr;
  return rate(before == nullptr ? 0 : before->*figure, thread->*figure);
}

std::optional<double> History::bytes_per_second_of(uint64_t id) const {
  return rate_of_stack(id, &report::StackCount::allocated_bytes);
}

std::optional<double> History::calls_per_second_of(uint64_t id) const {
  return rate_of_stack(id, &report::StackCount::allocations);
}

std::optional<double> History::bytes_per_second_of_thread(uint32_t number) const {
  return rate_of_thread(number, &report::ThreadEntry::allocated_bytes);
}

std::optional<double> History::calls_per_second_of_thread(uint32_t number) const {
  return rate_of_thread(number, &report::ThreadEntry::allocations);
}

std::optional<uint64_t> History::leaked_bytes_of(uint64_t id) const {
  if (!leaks_) return {};
  const auto found = leaked_bytes_.find(id);
  return found == leaked_bytes_.end() ? 0 : found->second;
}

}  // namespace heaptap::top
