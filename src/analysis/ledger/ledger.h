// Replay of a trace's events, in order, into live blocks and tallies. Memory depends on the live blocks and the distinct sites, not
// on the number of events. One thread uses it.
//
//   Ledger ledger(options);  for each batch: ledger.add(batch, tables);
//
// Results are valid after each batch; there is no finish step.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/ledger/activity.h"
#include "analysis/ledger/block_table.h"
#include "analysis/ledger/lifetime_histogram.h"
#include "analysis/ledger/mapping_table.h"
#include "analysis/ledger/missing_data.h"
#include "analysis/ledger/pool_table.h"
#include "analysis/ledger/release_errors.h"
#include "analysis/ledger/site_mapped.h"
#include "analysis/ledger/size_tally.h"
#include "analysis/ledger/tally.h"
#include "analysis/ledger/timeline.h"
#include "common/base/large_allocator.h"
#include "common/model/event.h"
#include "common/model/mapped_memory.h"
#include "common/model/sampling.h"
#include "common/model/tables.h"
#include "common/model/totals.h"

namespace heaptap::ledger {

// Selection of the allocations that count; releases count where their block's allocation did. Releases without a block count by
// their own thread, time and site. A window's limits are times or, exactly, event numbers of the trace.
struct Filter {
  model::ThreadId thread = 0;  // 0: all
  uint64_t from_ns = 0;
  uint64_t to_ns = ~uint64_t{0};  // blocks live at this time are live in the result
  uint64_t from_event = 0;
  uint64_t to_event = ~uint64_t{0};
  uint64_t start_ns = 0;                                                     // start of the timelines
  std::function<bool(const model::Tables&, model::SiteId)> wants_site = {};  // empty: all; called once for each site
};

struct LedgerOptions {
  uint64_t time_resolution_ns = 0;
  uint64_t page_bytes = 4096;
  bool statistics = true;        // sizes, lifetimes, timeline and tallies by thread too (costs time)
  bool details = true;           // time, address and thread of each allocation; implied by statistics
  bool activity = false;         // counts by time, site, thread and size; needs statistics
  uint64_t sample_interval = 0;  // see common/model/sampling.h
  Filter filter = {};
};

// Releases within the window of blocks allocated before it.
struct OlderReleases {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};

class Ledger {
 public:
  explicit Ledger(LedgerOptions options);

  void add(const model::EventBatch& batch, const model::Tables& tables);

  // Adds a trace's final totals, which replace the events of its blocks; after the last batch.
  void add_totals(const model::Totals& totals, const model::Tables& tables);

  [[nodiscard]] const Totals& totals() const { return totals_; }
  [[nodiscard]] const base::LargeVector<Tally>& tallies() const { return tallies_; }  // by SiteId
  // Number of events up to the one that made the process's peak; 0: none did.
  [[nodiscard]] uint64_t peak_event() const { return peak_event_; }
  [[nodiscard]] uint64_t event_count() const { return events_; }  // added
  // Bytes held by a site's blocks at the process's peak.
  [[nodiscard]] uint64_t peak_bytes_of(model::SiteId site) const { return tallies_[site].peak_bytes_at(peak_id_); }
  [[nodiscard]] std::vector<model::ThreadId> threads_of(model::SiteId site) const;  // ascending
  // Summed lifetimes of a site's released blocks; 0 without details.
  [[nodiscard]] uint64_t lifetime_ns_of(model::SiteId site) const {
    return site < site_times_.size() ? site_times_[site].lifetimes.nanoseconds() : 0;
  }
  // Allocation times of a site's live blocks; meaningless without details.
  [[nodiscard]] LiveSince live_since_of(model::SiteId site) const {
    return site < site_times_.size() ? site_times_[site].live : LiveSince{};
  }
  [[nodiscard]] uint64_t mismatched_releases_of(model::SiteId site) const;
  [[nodiscard]] const ReleaseErrors& errors() const { return errors_; }
  // Calls visit(number, block) for each live block, in ascending order of numbers.
  template <typename Visit>
  void for_each_block(Visit visit) const {
    blocks_.for_each([&](model::BlockNumber number, const Block& block) {
      if (!is_older(number)) visit(number, block);
    });
  }
  [[nodiscard]] uint64_t sample_interval() const { return weights_.interval(); }
  // Number of blocks that it stands for.
  [[nodiscard]] uint64_t blocks_of(model::BlockNumber number, const Block& block) const {
    return weights_.blocks_of(block.size_bytes, number);
  }
  // Whether for_each_block visits it.
  [[nodiscard]] bool is_alive(model::BlockNumber number) const { return !is_older(number) && blocks_.contains(number); }
  [[nodiscard]] uint64_t live_blocks() const { return blocks_.live_blocks(); }  // upper bound, nearly exact
  [[nodiscard]] uint64_t block_memory_bytes() const { return blocks_.memory_bytes(); }
  // Whether the window has a start, so that older blocks are counted separately.
  [[nodiscard]] bool knows_older() const { return knows_older_; }
  [[nodiscard]] const OlderReleases& older_releases() const { return older_releases_; }
  [[nodiscard]] OlderReleases older_releases_of(model::SiteId site) const {
    return site < site_older_releases_.size() ? site_older_releases_[site] : OlderReleases{};
  }
  [[nodiscard]] const MappingTable& mappings() const { return mappings_; }
  // Bytes mapped by a site, by kind of mapping.
  [[nodiscard]] model::MappedBytes mapped_bytes_of(model::SiteId site) const {
    const auto found = site_mapped_.find(site);
    return found == site_mapped_.end() ? model::MappedBytes{} : found->second.bytes();
  }
  // Memory mapped by a site at the peak of the process's mapped memory.
  [[nodiscard]] uint64_t mapped_peak_bytes_of(model::SiteId site) const {
    const auto found = site_mapped_.find(site);
    return found == site_mapped_.end() ? 0 : found->second.memory_at(mapped_peak_id_);
  }
  [[nodiscard]] uint64_t now_ns() const { return now_ns_; }  // time of the last event examined

  // Without statistics the peaks within intervals aren't kept, all else is.
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] std::vector<TimelineBin> timeline_bins() const { return timeline_.bins(state()); }

  // Statistics: empty unless asked for.
  [[nodiscard]] const std::vector<ThreadTally>& thread_tallies() const { return thread_tallies_; }  // by ThreadId
  [[nodiscard]] const SizeTally& sizes() const { return sizes_; }
  [[nodiscard]] const LifetimeHistogram& lifetimes() const { return lifetimes_; }
  [[nodiscard]] const Activity* activity() const { return activity_ ? &*activity_ : nullptr; }
  [[nodiscard]] const MissingData& gaps() const { return gaps_; }
  [[nodiscard]] SiteMissingData gaps_of(model::SiteId site) const {
    return site < site_gaps_.size() ? site_gaps_[site] : SiteMissingData{};
  }

 private:
  // Release that a kUndo may still revert.
  enum class Undo : uint8_t { kNothing, kSkipped, kBlock, kBadRelease };
  struct LastRelease {
    Block block;
    model::BlockNumber number = 0;
    uint64_t released_at_ns = 0;
    size_t error = ReleaseErrors::kDropped;
    model::BadReleaseKind bad_kind = model::BadReleaseKind::kUnknown;
    bool has_error = false;
    bool temporary = false;
    bool older = false;    // from before the window,
    bool counted = false;  // but released in it
  };
  struct ThreadState {
    model::BlockNumber last_block = 0;
    uint64_t last_mapping = 0;
    uint64_t last_pooled = 0;  // address
    wire::MappedMemory last_unmapped;
    Undo undo = Undo::kNothing;
  };
  struct SiteFacts {
    model::EventKind kind = model::EventKind::kAllocate;
    wire::Family family = wire::Family::kNone;
    bool wanted = true;
    bool can_be_undone = false;
    bool is_plain = false;  // allocates, or releases without undo
  };
  class PlainRun;
  // Prefetch distance for blocks about to be released, in events.
  static constexpr uint32_t kPrefetchEvents = 24;

  void add_site(const model::SiteTotals& entry);
  ThreadTally& thread_tally(model::ThreadId thread);
  void learn(const model::Tables& tables);
  void learn_threads(model::ThreadId thread);
  void set_time(uint64_t time_ns);
  void set_event(uint64_t event);
  void update_window();
  [[nodiscard]] uint64_t next_limit(uint64_t event) const;
  [[nodiscard]] bool is_older(model::BlockNumber number) const { return number < first_counted_; }
  bool keep_older(const model::Event& event, model::BlockNumber number);
  void count_older_release(const model::Event& event, const Block& block, LastRelease* undo_record);
  void undo_older_release(const LastRelease& last);
  // Amount of per-block data kept. Event functions are instantiated for each.
  enum class Keep : uint8_t { kCounts, kDetails, kStatistics };
  template <Keep kKeep>
  void apply(const model::EventBatch& batch);
  uint32_t count_plain(const model::EventBatch& batch, uint32_t index, uint32_t end);
  template <Keep kKeep>
  uint32_t process(const model::EventBatch& batch, uint32_t index, uint32_t end);
  template <Keep kKeep>
  void on_allocate(const model::Event& event);
  template <Keep kKeep>
  void count_block(const model::Event& event, model::BlockNumber number);
  [[nodiscard]] bool is_pair(const model::Event& event, const model::Event& next) const;
  template <Keep kKeep>
  void on_pair(const model::Event& event, const model::Event& release);
  template <Keep kKeep>
  void on_release(const model::EventBatch& batch, uint32_t index);
  template <Keep kKeep>
  void on_release_of_block(const model::Event& event, LastRelease* undo_record);
  template <Keep kKeep>
  void count_release(const model::Event& event, const Block& block, LastRelease* undo_record);
  template <Keep kKeep>
  void note_live_bytes(const model::Event& event);
  void prefetch(const model::EventBatch& batch, uint32_t index) const;
  [[nodiscard]] static bool undone_within(const model::EventBatch& batch, uint32_t index,
                                          const base::LargeVector<SiteFacts>& facts);

  void on_bad_release(const model::EventBatch& batch, uint32_t index, LastRelease* undo_record);
  void count_bad_release(const model::Event& event, const model::BadRelease& bad, LastRelease* undo_record);
  void on_undo(const model::Event& event);
  void undo_block(const LastRelease& last, const model::Event& event);
  void undo_bad_release(const LastRelease& last);
  void on_map(const model::Event& event);
  void on_unmap(const model::Event& event);
  void on_protect(const model::Event& event);
  void count_mapped(model::SiteId site, model::MappedKind kind, uint64_t bytes);
  void uncount_mapped(model::SiteId site, model::MappedKind kind, uint64_t bytes);
  void count_unmapped(const UnmappedPart& part, bool temporary);
  wire::MappedMemory release_mapped(const model::Event& event, uint64_t length_bytes);
  void on_pool_allocate(const model::Event& event);
  void on_pool_release(const model::Event& event);
  void on_pool_destroy(const model::Event& event);
  void release_pooled(const PooledBlock& pooled, const model::Event& event);
  // Of a mapping or a pool's block.
  void begin_life(model::SiteId site);
  void end_life(const Block& block);
  [[nodiscard]] bool is_resource(model::SiteId site) const { return facts_[site].family == wire::Family::kResource; }

  [[nodiscard]] uint64_t& bad_counter(model::BadReleaseKind kind);
  [[nodiscard]] bool wants(const model::Event& event) const {
    return within_ && facts_[event.site].wanted && (filter_.thread == 0 || filter_.thread == event.thread);
  }
  void note_thread(Tally& tally, const model::Event& event) {
    const uint64_t bit = event.thread - 1 < 64 ? uint64_t{1} << (event.thread - 1) : 0;
    if ((tally.first_threads & bit) == 0) [[unlikely]] {
      note_new_thread(tally, event, bit);
    }
  }
  // Common part of an allocation and a new mapping.
  void count_allocation(const model::Event& event, uint64_t blocks, uint64_t bytes) {
    Tally& tally = tallies_[event.site];
    tally.settle_peak(peak_id_);
    tally.allocations += blocks;
    tally.allocated_bytes += bytes;
    tally.live_bytes += bytes;
    note_thread(tally, event);
  }
  void note_new_thread(Tally& tally, const model::Event& event, uint64_t bit);
  [[nodiscard]] TimelineState state() const {
    return {.live_bytes = totals_.live_bytes,
            .live_blocks = totals_.live_blocks(),
            .mapped_bytes = totals_.mapped_live_bytes,
            .mapped_memory_bytes = totals_.mapped.memory.live_bytes,
            .allocations = totals_.allocations,
            .releases = totals_.releases};
  }

  Filter filter_;
  Keep keep_;
  model::SampleWeights weights_;
  bool filters_;        // something is excluded from the counts
  bool within_ = true;  // the window
  bool after_ = false;
  bool knows_older_ = false;
  uint64_t events_ = 0;
  uint64_t event_ = 0;                    // the next one
  model::BlockNumber first_counted_ = 0;  // the first block within the window; those before it are older
  OlderReleases older_releases_;
  std::vector<OlderReleases> site_older_releases_;  // by SiteId; empty where there is nothing older
  uint64_t now_ns_ = 0;
  uint64_t peak_id_ = 0;
  uint64_t mapped_peak_id_ = 0;
  uint64_t peak_event_ = 0;
  const model::Event* peak_at_ = nullptr;  // of the batch being added; null: the peak is older
  model::BlockNumber next_block_ = 1;
  size_t next_bad_ = 0;  // of the batch's bad releases

  Totals totals_;
  base::LargeVector<SiteFacts> facts_;                                     // by SiteId
  base::LargeVector<Tally> tallies_;                                       // by SiteId
  base::LargeVector<SiteTimes> site_times_;                                // by SiteId; empty without details
  boost::unordered_flat_map<model::SiteId, uint64_t> mismatched_frees_;    // of sites that have some
  std::vector<std::vector<model::ThreadId>> more_threads_;                 // by SiteId: threads from 65 on, ascending
  std::vector<ThreadState> threads_;                                       // by ThreadId
  std::vector<ThreadTally> thread_tallies_;                                // by ThreadId
  boost::unordered_flat_map<model::ThreadId, LastRelease> last_releases_;  // valid only as ThreadState::undo says
  BlockTable blocks_;
  MappingTable mappings_;
  boost::unordered_flat_map<model::SiteId, SiteMapped> site_mapped_;  // of sites that have mapped something
  PoolTable pools_;
  SizeTally sizes_;
  LifetimeHistogram lifetimes_;
  Timeline timeline_;
  std::optional<Activity> activity_;
  ReleaseErrors errors_;
  MissingData gaps_;
  std::vector<SiteMissingData> site_gaps_;  // by SiteId; empty where the trace has events
};

}  // namespace heaptap::ledger
