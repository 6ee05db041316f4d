// Coder from a log's raw events to the trace's: translates stacks and sites to the trace's numbers, addresses of
// releases to allocations, ticks to nanoseconds. The agent's tables are not trusted.
#pragma once
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "capture/stream/event_stream.h"
#include "capture/stream/mapped_ranges.h"
#include "capture/stream/node_numbers.h"
#include "capture/stream/pool_blocks.h"
#include "common/model/event.h"
#include "common/model/tables.h"
#include "common/wire/log.h"
#include "common/wire/raw_event.h"
#include "record/ingest/block_map.h"

namespace heaptap::ingest {

// Text of the program at its place among the events.
struct ProgramNote {
  wire::NoteKind kind;
  uint32_t text;  // its number in the stream
  model::ThreadId thread;
  uint64_t time_ns;
  model::BlockNumber block;  // for kBlockName: the live block there; kUnknownBlock: none
};

class EventCoder {
 public:
  // `from_start`: every allocation was seen, so a release of an unknown block is a bad one.
  EventCoder(const stream::AgentTables& agent, model::Tables& tables, uint64_t resolution_ns, bool from_start);

  // Takes events from the front and appends them to the batch, until it holds `most`. Stops after a text of the
  // program, available from program_note(); and before an allocation at an address that is still alive, as long as its release
  // may still come; with `last` none can. Returns the number of events taken.
  size_t take(std::span<wire::RawEvent> events, const stream::ClockScale& clock, size_t most, bool last,
              model::EventBatch& batch);

  // Text found by the last take().
  [[nodiscard]] const std::optional<ProgramNote>& program_note() const { return program_note_; }

  // Live and mapped memory after the events taken.
  [[nodiscard]] const BlockMap& blocks() const { return blocks_; }
  [[nodiscard]] const stream::MappedRanges& mapped() const { return mapped_; }
  [[nodiscard]] const stream::PoolBlocks& pooled() const { return pooled_; }

  // Last released blocks, one a thread, which its next event may revive. Calls visit(thread, address, size_bytes).
  template <typename Visit>
  void for_each_last_released(Visit visit) const {
    for (uint32_t thread = 0; thread < last_released_.size(); ++thread) {
      const uint64_t address = last_released_[thread].address;
      if (address >= kPassedOver) continue;
      const BlockMap::Place place = blocks_.find(address);
      if (place && !place.alive()) visit(thread, address, place.block().size_bytes);
    }
  }

  // Not all events are seen (some were lost, or bypass the hooks): a release that matches no block may be valid, and
  // one that doesn't match its block's family may belong to another block allocated there unseen.
  void set_incomplete(bool incomplete) { incomplete_ = incomplete; }

  // From now on there may be blocks that were allocated while recording was off: a release that matches no block may
  // belong to one of these. All other events are seen.
  void expect_unseen_blocks() { has_unseen_blocks_ = true; }

  // Merges stacks with two numbers, which the agent may assign if two threads (or a thread and its signal handler) find
  // a stack at the same time. Call before the first event of a second stream is taken.
  void expect_doubles();

  // Maximum number of frames per stack from now on, from the innermost; 0: all frames kept by the agent. Known sites
  // are made again.
  void set_depth(uint32_t frames);

  // The site of blocks of about that size from before the recording: of an unknown function, without a stack, under a tag that
  // says the size.
  model::SiteId earlier_site(uint64_t size_bytes);
  // The trace's site of an event, possibly a new one.
  model::SiteId site_of(const wire::RawEvent& raw) {
    const NodeSite known = known_site_of(raw);
    return known.key == wire::record_call(raw.tagged_address) ? known.site : find_site(raw);
  }

  // The trace's code for an index of the agent; none: no event with it was taken so far, or it was cut off from its stacks.
  [[nodiscard]] std::optional<model::CodeId> known_code(uint32_t index) const;

  // Stack of an event outside of the log, innermost code first (an address, and wire::kCodeExact), in the modules that
  // were loaded last.
  model::StackId add_stack(std::span<const uint64_t> codes, wire::StackEnd end);

  // Blocks that were handed out again without a seen release. Each is released by an event of its own, with function
  // kNone.
  [[nodiscard]] uint64_t missed_releases() const { return missed_releases_; }

 private:
  // A batch and its write position: there is room.
  struct Coded {
    model::EventBatch& batch;
    model::Event* next;
    [[nodiscard]] size_t count() const { return static_cast<size_t>(next - batch.events.data()); }
    void add(const model::Event& event) { *next++ = event; }
  };
  struct NodeSite {  // the last site of this node's events, with the rest of its key
    uint32_t key = 0;
    model::SiteId site = 0;
  };
  [[nodiscard]] NodeSite known_site_of(const wire::RawEvent& raw) const {
    return raw.stack < node_count_ ? node_sites_[raw.stack] : NodeSite{};
  }
  void mark_time(const wire::RawEvent& raw, const stream::ClockScale& clock, Coded& coded);
  [[nodiscard]] uint64_t next_mark(const stream::ClockScale& clock) const;
  bool append(std::span<wire::RawEvent> rest, bool last, Coded& coded);
  bool allocate(std::span<wire::RawEvent> rest, model::SiteId site, bool last, Coded& coded);
  bool append_other(std::span<wire::RawEvent> rest, bool last, Coded& coded);
  void release(const wire::RawEvent& raw, model::SiteId site, Coded& coded);
  void release_of_none(const wire::RawEvent& raw, model::SiteId site, BlockMap::Place dead, Coded& coded);
  void unmap(const wire::RawEvent& raw, Coded& coded);
  void listen(const wire::RawEvent& raw);
  void add_pooled(const wire::RawEvent& raw, Coded& coded);
  model::LabelId label_of(uint32_t number);
  void note_bad_release(const wire::RawEvent& raw, BlockMap::Place dead, Coded& coded);
  void conclude_release(BlockMap::Place place, uint32_t thread, Coded& coded);
  // Whether all events of known blocks are seen, as far as is known.
  [[nodiscard]] bool sees_all_releases() const { return !incomplete_ && missed_releases_ == 0; }
  // And there can be no others.
  [[nodiscard]] bool sees_all() const { return sees_all_releases() && !has_unseen_blocks_; }
  [[nodiscard]] bool is_mismatched(model::SiteId release, model::SiteId allocated_at) const;
  void undo(const wire::RawEvent& raw, Coded& coded);
  void prefetch(const wire::RawEvent& raw) const;
  bool settle_conflict(std::span<wire::RawEvent> rest, bool last, Coded& coded);
  model::SiteId find_site(const wire::RawEvent& raw);
  model::SiteId find_or_add_site(uint32_t key, model::StackId stack, model::LabelId label = 0);
  model::LabelId find_or_add_label(model::Label label);
  model::StackId find_or_add_stack(const model::Stack& stack);
  model::StackId stack_of(uint32_t node);
  model::StackId cut_stack_of(uint32_t node);
  model::CodeId code_of(uint32_t index);
  model::CodeId code_of_entry(uint64_t entry);

  static constexpr uint32_t kMaxThreads = 1u << 16;  // beyond it threads share places: an undo may then find no match
  // In place of the address last released by a thread.
  static constexpr uint64_t kNothing = UINT64_MAX;
  static constexpr uint64_t kPassedOver = UINT64_MAX - 1;  // not in the trace

  struct LastRelease {  // of a thread
    uint64_t address = kNothing;
    model::BlockNumber block = model::kUnknownBlock;
  };
  LastRelease& last_released_of(uint32_t thread) {
    if (thread != thread_) change_thread(thread);
    return *last_released_of_thread_;
  }
  void change_thread(uint32_t thread);

  const stream::AgentTables& agent_;
  model::Tables& tables_;
  uint64_t resolution_ns_;
  bool from_start_;
  bool incomplete_ = false;
  bool has_unseen_blocks_ = false;
  BlockMap blocks_;
  stream::MappedRanges mapped_;
  stream::PoolBlocks pooled_;
  std::optional<ProgramNote> program_note_;
  stream::ClockScale clock_;                                    // of this take()
  boost::unordered_flat_map<uint32_t, model::LabelId> labels_;  // by the agent's number
  std::map<std::tuple<model::LabelId, wire::LabelKind, std::string>, model::LabelId> label_ids_;  // each name once
  model::BlockNumber next_block_ = 1;
  uint64_t time_ns_ = 0;
  uint64_t next_mark_ticks_ = 0;  // no time mark is needed before
  uint64_t missed_releases_ = 0;
  uint64_t searches_for_interior_ = 0;

  std::vector<NodeSite> node_sites_;        // by agent node
  uint32_t node_count_ = 0;                 // its size
  stream::NodeNumbers stack_ids_;           // by agent node
  std::vector<model::CodeId> code_ids_;     // by agent code index
  std::vector<model::SiteId> first_sites_;  // by stack: its newest site; kUnset: none
  std::vector<model::SiteId> next_sites_;   // by site: the next one of its stack
  bool doubles_ = false;
  uint32_t depth_ = 0;                                          // 0: not limited here
  std::vector<uint32_t> inner_codes_;                           // of a stack being cut
  boost::unordered_flat_map<uint64_t, model::StackId> stacks_;  // where doubles are expected
  boost::unordered_flat_map<uint64_t, model::CodeId> codes_;
  std::vector<LastRelease> last_released_;  // by thread
  uint32_t thread_ = UINT32_MAX;            // the last requested one, and its place
  LastRelease* last_released_of_thread_ = nullptr;
};

}  // namespace heaptap::ingest
