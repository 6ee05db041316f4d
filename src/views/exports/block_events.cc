#include "views/exports/block_events.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>
#include <vector>

namespace heaptap::exports {
namespace {

using model::Event;
using model::EventBatch;
using model::EventKind;

// Numbers of events, from 0 on in the order of the trace.
using EventNumbers = boost::unordered_flat_set<uint64_t>;

// Releases that are undone later, such as those of a failed realloc. There are few.
class UndoneReleases : public model::EventSink {
 public:
  void on_batch(const EventBatch& batch, const model::Tables& tables) override {
    for (const Event& event : batch.events) {
      const EventKind kind = tables.sites[event.site].kind;
      if (kind == EventKind::kRelease) last_release_[event.thread] = number_;
      if (kind == EventKind::kUndo) {
        if (const auto last = last_release_.find(event.thread); last != last_release_.end()) found.insert(last->second);
      }
      ++number_;
    }
  }
  EventNumbers found;

 private:
  uint64_t number_ = 0;
  boost::unordered_flat_map<model::ThreadId, uint64_t> last_release_;
};

class BlockReplay : public model::EventSink {
 public:
  BlockReplay(const Input& input, BlockEvents& events, const EventNumbers& undone)
      : stack_ids_(input.stack_ids), thread_(input.thread), events_(events), undone_(undone) {
    for (size_t place = 0; place < input.report.stacks.size(); ++place) {
      const report::StackEntry& stack = input.report.stacks[place];
      if (!stack.is_apart()) places_.emplace(stack.id, place);
    }
  }

  void on_batch(const EventBatch& batch, const model::Tables& tables) override {
    model::BlockNumber next = batch.first_block;
    auto mark = batch.time_marks.begin();
    for (uint32_t index = 0; index < batch.events.size(); ++index, ++number_) {
      for (; mark != batch.time_marks.end() && mark->first_event <= index; ++mark)
        time_ns_ = std::max(time_ns_, mark->time_ns);
      const Event& event = batch.events[index];
      const EventKind kind = tables.sites[event.site].kind;
      if (kind == EventKind::kAllocate) allocate(event, next++);
      if (kind == EventKind::kRelease && !undone_.contains(number_)) release(event.block());
    }
  }

  void finish() {
    for (const auto& [number, block] : live_) events_.on_end_of_life(block);
  }

 private:
  void allocate(const Event& event, model::BlockNumber number) {
    if (thread_ != 0 && event.thread != thread_) return;
    const uint64_t id = event.site < stack_ids_.size() ? stack_ids_[event.site] : 0;
    const auto place = places_.find(id);
    if (place == places_.end()) return;  // not in the report
    const LiveBlock block{place->second, event.size_bytes(), time_ns_};
    live_.emplace(number, block);
    events_.on_allocation(block);
  }

  void release(model::BlockNumber number) {
    const auto found = live_.find(number);
    if (found == live_.end()) return;
    events_.on_release(found->second, time_ns_);
    live_.erase(found);
  }

  std::span<const uint32_t> stack_ids_;
  model::ThreadId thread_;
  BlockEvents& events_;
  const EventNumbers& undone_;
  boost::unordered_flat_map<uint64_t, size_t> places_;  // by a stack's id
  boost::unordered_flat_map<model::BlockNumber, LiveBlock> live_;
  uint64_t time_ns_ = 0;
  uint64_t number_ = 0;
};

}  // namespace

base::Result<> replay_blocks(const Input& input, BlockEvents& events) {
  if (!input.report.totals.allocations.is_known()) {
    return base::fail("this format needs single events, which {}'s file doesn't have",
                      input.report.capture.import.tool);
  }
  if (!input.report.has_events)
    return base::fail("this format needs single events, which --aggregate doesn't record: record without it");
  if (input.report.capture.sample_interval != 0) {
    return base::fail(
        "this format needs all single events, of which --sample records a part: record without it, or use a format of "
        "sums, such as pprof or folded");
  }
  UndoneReleases undone;
  HEAPTAP_TRY(input.trace->replay(undone, {}));
  BlockReplay replay(input, events, undone.found);
  HEAPTAP_TRY(input.trace->replay(replay, {}));
  replay.finish();
  return {};
}

}  // namespace heaptap::exports
