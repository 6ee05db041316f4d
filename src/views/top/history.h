// History of samples of one process: rates, growth since a mark, series for sparklines. Memory doesn't depend on its duration. A
// sample of another process restarts it.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "views/top/sample.h"

namespace heaptap::top {

enum class Gauge : uint8_t { kLive, kBlocks, kResident, kAllocations, kReleases, kLog };
inline constexpr size_t kGaugeCount = 6;

class History {
 public:
  static constexpr size_t kMaxSeries = 512;
  using Series = std::deque<std::optional<double>>;  // newest last

  void add(SharedSample sample);
  void add_leaks(LeakSample leaks);
  // Makes the newest sample the base of growth.
  void set_base(std::string name);

  [[nodiscard]] const Sample* now() const { return now_.get(); }
  // Current counts of a stack; null: unknown id.
  [[nodiscard]] const report::StackCount* count_of(uint64_t id) const { return count_of(now_, id); }
  [[nodiscard]] const std::optional<LeakSample>& leaks() const { return leaks_; }
  // Whether the reader lags behind. A frame just written doesn't count, to avoid flicker.
  [[nodiscard]] bool is_behind() const;
  // Empty: since the first sample.
  [[nodiscard]] const std::string& base_name() const { return base_name_; }

  // None: unknown.
  [[nodiscard]] std::optional<double> value(Gauge gauge) const;
  [[nodiscard]] const Series& series(Gauge gauge) const { return series_[static_cast<size_t>(gauge)]; }

  // Figures of a stack or thread in the newest sample.
  [[nodiscard]] std::optional<int64_t> growth_of(uint64_t id) const;
  [[nodiscard]] std::optional<double> bytes_per_second_of(uint64_t id) const;
  [[nodiscard]] std::optional<double> calls_per_second_of(uint64_t id) const;
  [[nodiscard]] std::optional<double> bytes_per_second_of_thread(uint32_t number) const;
  [[nodiscard]] std::optional<double> calls_per_second_of_thread(uint32_t number) const;
  [[nodiscard]] std::optional<uint64_t> leaked_bytes_of(uint64_t id) const;

 private:
  void restart();
  void learn_timeline();
  [[nodiscard]] std::optional<double> gauge_of_now(Gauge gauge) const;
  [[nodiscard]] std::optional<double> rate(uint64_t before, uint64_t now) const;
  [[nodiscard]] std::optional<double> rate_of_stack(uint64_t id, uint64_t report::StackCount::* figure) const;
  [[nodiscard]] std::optional<double> rate_of_thread(uint32_t number, uint64_t report::ThreadEntry::* figure) const;
  [[nodiscard]] const report::StackCount* count_of(const SharedSample& sample, uint64_t id) const;
  [[nodiscard]] const report::ThreadEntry* thread_of(const SharedSample& sample, uint32_t number) const;

  SharedSample now_;
  SharedSample before_;  // the previous one; null: no basis for rates
  SharedSample base_;    // base of growth
  std::string base_name_;
  std::optional<LeakSample> leaks_;
  std::unordered_map<uint64_t, uint64_t> leaked_bytes_;  // by stack
  std::array<Series, kGaugeCount> series_;
};

}  // namespace heaptap::top
