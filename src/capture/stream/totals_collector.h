// Reader of an agent's totals in the log's shared memory (--aggregate). The memory belongs to another process and is
// not trusted.
#pragma once
#include <functional>
#include <vector>

#include "capture/log/log_parts.h"
#include "common/model/note.h"
#include "common/model/totals.h"
#include "common/wire/raw_event.h"

namespace heaptap::stream {

class TotalsCollector {
 public:
  // Off where the log has no totals.
  explicit TotalsCollector(const log::LogParts& log);
  [[nodiscard]] bool is_on() const { return parts_.header != nullptr; }

  // Current totals. While the target runs, concurrent events may be partly included.
  // Sources of uncounted blocks, whose releases can't be judged bad or good.
  struct Uncounted {
    bool before;     // allocated before the recording began
    bool while_off;  // allocated while recording was switched off
  };
  // `site_of`: the trace's site of an event of the agent's, which may be a new one.
  using SiteOf = std::function<model::SiteId(const wire::RawEvent& event)>;
  [[nodiscard]] model::Totals read(const SiteOf& site_of, Uncounted uncounted) const;

  struct Thread {
    uint32_t number;
    uint32_t kernel_id;
  };
  // Threads seen since the last call.
  std::vector<Thread> take_new_threads();

  // Blocks that were handed out again without a seen release.
  [[nodiscard]] uint64_t missed_releases() const;

  // Notes on data that found no room in the memory.
  [[nodiscard]] std::vector<model::Note> notes(const model::Totals& totals) const;

 private:
  [[nodiscard]] uint32_t entry_count() const;
  void read_threads(model::Totals& totals) const;
  void read_sites(const SiteOf& site_of, model::Totals& totals) const;
  void read_live_sizes(model::Totals& totals) const;

  const log::TotalsParts parts_;
  const uint32_t entry_capacity_;
  std::vector<bool> threads_known_;
};

}  // namespace heaptap::stream
