// DHAT format, version 2 (dh_view.html): stacks with total, maximum, peak and final allocations, and the lifetimes of their blocks.
// A trace of totals has only the total allocations.
#include <algorithm>
#include <string>
#include <vector>

#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "views/exports/block_events.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"
#include "views/json/json_pieces.h"
#include "views/json/json_writer.h"

namespace heaptap::exports {
namespace {

constexpr uint64_t kNsPerUnit = 1000;
constexpr uint64_t kShortLivedUnits = 500;

struct Held {
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};

// Per-stack data that the report doesn't have.
class HeldBlocks : public BlockEvents {
 public:
  struct Counts {
    Held live, peak, most;  // now; at the peak of all; at the stack's own peak (most bytes, and their blocks)
    uint64_t lifetime_ns = 0;
    uint64_t peak_id = 0;  // the peak to which `peak` belongs
  };

  HeldBlocks(size_t stacks, uint64_t end_ns) : counts_(stacks), end_ns_(end_ns) {}

  void on_allocation(const LiveBlock& block) override {
    Counts& counts = settled(block.stack);
    counts.live.bytes += block.size_bytes;
    ++counts.live.blocks;
    if (counts.live.bytes > counts.most.bytes) counts.most = counts.live;
    live_bytes_ += block.size_bytes;
    if (live_bytes_ <= peak_bytes_) return;
    peak_bytes_ = live_bytes_;
    ++peak_id_;
    counts.peak = counts.live;
    counts.peak_id = peak_id_;
  }
  void on_release(const LiveBlock& block, uint64_t time_ns) override {
    Counts& counts = settled(block.stack);
    counts.live.bytes -= block.size_bytes;
    --counts.live.blocks;
    counts.lifetime_ns += time_ns - block.allocated_at_ns;
    live_bytes_ -= block.size_bytes;
  }
  void on_end_of_life(const LiveBlock& block) override {
    counts_[block.stack].lifetime_ns += end_ns_ > block.allocated_at_ns ? end_ns_ - block.allocated_at_ns : 0;
  }
  const Counts& of(size_t stack) { return settled(stack); }

 private:
  // At a new peak each stack's current value becomes its value at the peak; it is stored when it next changes.
  Counts& settled(size_t stack) {
    Counts& counts = counts_[stack];
    if (counts.peak_id != peak_id_) counts.peak = counts.live;
    counts.peak_id = peak_id_;
    return counts;
  }

  std::vector<Counts> counts_;
  uint64_t end_ns_;
  uint64_t live_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t peak_id_ = 0;
};

// Frame table: the report's frames, then the allocation functions.
class FrameTable {
 public:
  size_t place_of_call(const report::StackEntry& stack, size_t frames) {
    const auto found = std::ranges::find(called_, stack.function);
    if (found != called_.end()) return frames + static_cast<size_t>(found - called_.begin());
    called_.push_back(stack.function);
    return frames + called_.size() - 1;
  }
  [[nodiscard]] const std::vector<std::string>& called() const { return called_; }

 private:
  std::vector<std::string> called_;
};

// A file of another tool doesn't say how long blocks lived.
bool tells_lives(const report::Report& report) { return report.has_events && report.lifetimes; }

void write_head(json::JsonWriter& json, const report::Report& report) {
  const bool has_events = tells_lives(report);
  json.member("dhatFileVersion", 2);
  json.member("mode", "heap");
  json.member("verb", "Allocated");
  json.member("bklt", has_events);
  json.member("bkacc", false);
  json.entry_on_line();
  json.member("tu", "µs");
  json.member("Mtu", "s");
  json.member("tuth", kShortLivedUnits);
  json.entry_on_line();
  json.member("cmd", command_of(report.capture));
  json.member("pid", report.capture.pid);
  json.entry_on_line();
  json.member("te", std::max<uint64_t>(report.capture.duration_ns / kNsPerUnit, 1));
  if (has_events) json.member("tg", report.totals.peak_time_ns.counted() / kNsPerUnit);
}

void write_lives(json::JsonWriter& json, const HeldBlocks::Counts& counts, const report::StackEntry& stack) {
  json.member("tl", counts.lifetime_ns / kNsPerUnit);
  json.member("mb", counts.most.bytes);
  json.member("mbk", counts.most.blocks);
  json.member("gb", counts.peak.bytes);
  json.member("gbk", counts.peak.blocks);
  json.member("eb", stack.live_bytes.counted());
  json.member("ebk", stack.live_blocks.counted());
}

void write_frames(json::JsonWriter& json, const report::Report& report, const FrameTable& table) {
  json.begin_array();
  json.value("[root]");
  for (const model::Frame& frame : report.frames) {
    json.entry_on_line();
    json.value(valgrind_text(frame));
  }
  for (const std::string& called : table.called()) {
    json.entry_on_line();
    json.value(base::safe_text(called));
  }
  json.line_break();
  json.end_array();
}

}  // namespace

base::Result<> write_dhat(const Input& input, const report::Write& write) {
  const report::Report& report = input.report;
  HEAPTAP_TRY(require(metric_of(MetricKind::kAllocations), report));
  HeldBlocks held(report.stacks.size(), report.capture.duration_ns);
  if (tells_lives(report)) HEAPTAP_TRY(replay_blocks(input, held));
  json::JsonPieces pieces(write);
  json::JsonWriter& json = pieces.json();
  json.begin_object();
  write_head(json, report);
  json.entry_on_line();
  json.key("pps").begin_array();
  FrameTable table;
  for (size_t place = 0; place < report.stacks.size(); ++place) {
    const report::StackEntry& stack = report.stacks[place];
    if (stack.is_apart()) continue;
    json.entry_on_line();
    json.begin_object();
    json.member("tb", stack.allocated_bytes.counted());
    json.member("tbk", stack.allocations.counted());
    if (tells_lives(report)) write_lives(json, held.of(place), stack);
    json.key("fs").begin_array();
    json.value(1 + table.place_of_call(stack, report.frames.size()));
    for (const report::FrameIndex frame : report.frames.indices(stack.frames)) json.value(1 + frame);
    json.end_array();
    json.end_object();
    pieces.flush();
  }
  json.line_break();
  json.end_array();
  json.entry_on_line();
  write_frames(json.key("ftbl"), report, table);
  json.end_object();
  return {};
}

}  // namespace heaptap::exports
