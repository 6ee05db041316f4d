// Reads the totals that an agent keeps in the log's shared memory (--aggregate). What it reads is another process's memory
// and is trusted in nothing.
#pragma once
#include <vector>

#include "collect/event_coder.h"
#include "log/log_parts.h"
#include "model/note.h"
#include "model/totals.h"

namespace heaptap::collect {

class TotalsCollector {
 public:
  // Off where the log has no totals.
  explicit TotalsCollector(const log::LogParts& log);
  [[nodiscard]] bool is_on() const { return parts_.header != nullptr; }

  // As it is now. While the target runs, what is happening just then may be half in it.
  // Blocks that nobody counted: their releases are known to be neither bad nor good.
  struct Uncounted {
    bool before;     // of before the recording began
    bool while_off;  // of while recording was switched off
  };
  [[nodiscard]] model::Totals read(EventCoder& coder, Uncounted uncounted) const;

  struct Thread {
    uint32_t number;
    uint32_t kernel_id;
  };
  // Threads seen since the last call.
  std::vector<Thread> take_new_threads();

  // Blocks that were handed out again without a release having been seen.
  [[nodiscard]] uint64_t missed_releases() const;

  // What found no place in the memory.
  [[nodiscard]] std::vector<model::Note> notes(const model::Totals& totals) const;

 private:
  void read_sites(EventCoder& coder, model::Totals& totals) const;
  void read_live_sizes(model::Totals& totals) const;

  const log::TotalsParts parts_;
  const uint32_t entry_capacity_;
  std::vector<bool> threads_known_;
};

}  // namespace heaptap::collect
