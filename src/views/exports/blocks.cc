// Text list of all blocks not freed: one by one with their call stacks, then grouped by call stack, by module and by thread; and the
// heap over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "analysis/findings/telling_frame.h"
#include "analysis/report/view.h"
#include "common/base/safe_text.h"
#include "common/base/units.h"
#include "views/exports/finding_writers.h"
#include "views/exports/frame_text.h"

namespace heaptap::exports {
namespace {

constexpr size_t kGraphRows = 40;
constexpr size_t kBarWidth = 60;

class BlockText {
 public:
  BlockText(const report::Report& report, const report::Write& write) : report_(report), write_(write) {
    for (const report::StackEntry& stack : report.stacks) stacks_.emplace(stack.id, &stack);
    for (const report::ThreadEntry& thread : report::or_none(report.threads)) threads_.emplace(thread.number, &thread);
  }

  void blocks() {
    for (const report::BlockEntry& block : report::or_none(report_.blocks)) {
      const std::string address = block.address == 0 ? "an unknown address" : fmt::format("{:#x}", block.address);
      write_(fmt::format("block {}: {} bytes at {} after {} ns by {}\n", block.number, block.size_bytes, address,
                         block.allocated_at_ns, thread_name(block.thread)));
      write_(stack_lines(block));
      by_stack_[block.stack_id].add_block(block.size_bytes);
      by_module_[module_name(block)].add_block(block.size_bytes);
      by_thread_[block.thread].add_block(block.size_bytes);
    }
  }

  void groups() {
    write_("\nBY CALL STACK\n");
    for (const auto& [id, count] : largest_first(by_stack_)) {
      write_(amount(count) + fmt::format("  stack {}\n", id));
      if (const auto stack = stacks_.find(id); stack != stacks_.end()) write_(frames_text(*stack->second));
    }
    write_("\nBY MODULE\n");
    for (const auto& [module, count] : largest_first(by_module_)) write_(amount(count) + "  " + module + "\n");
    write_("\nBY THREAD\n");
    for (const auto& [thread, count] : largest_first(by_thread_))
      write_(amount(count) + "  " + thread_name(thread) + "\n");
  }

  // A line for each interval, or for several intervals of a long timeline: its end, the peak within it, and a bar.
  void graph() {
    write_("\nHEAP OVER TIME\n");
    const std::vector<report::TimelinePoint>& points = report_.timeline;
    uint64_t peak = 0;
    for (const report::TimelinePoint& point : points) peak = std::max(peak, point.peak_live_bytes);
    const size_t rows = std::min(points.size(), kGraphRows);
    for (size_t row = 0; row < rows; ++row) {
      uint64_t most = 0;
      const size_t end = (row + 1) * points.size() / rows;
      for (size_t index = row * points.size() / rows; index < end; ++index)
        most = std::max(most, points[index].peak_live_bytes);
      const double share = peak == 0 ? 0 : static_cast<double>(most) / static_cast<double>(peak);
      write_(fmt::format("{:>12} {:>12}  {}\n", base::format_duration(points[end - 1].time_ns),
                         base::format_bytes(most),
                         std::string(static_cast<size_t>(std::lround(share * kBarWidth)), '#')));
    }
  }

 private:
  template <typename Key>
  static std::vector<std::pair<Key, report::BlockCount>> largest_first(
      const std::map<Key, report::BlockCount>& groups) {
    std::vector<std::pair<Key, report::BlockCount>> sorted(groups.begin(), groups.end());
    std::ranges::stable_sort(sorted,
                             [](const auto& one, const auto& other) { return one.second.bytes > other.second.bytes; });
    return sorted;
  }

  static std::string amount(const report::BlockCount& count) {
    return fmt::format("{} bytes in {} blocks", count.bytes, count.blocks);
  }

  [[nodiscard]] std::string thread_name(uint32_t number) const {
    const auto thread = threads_.find(number);
    if (thread == threads_.end()) return fmt::format("thread {}", number);
    const report::ThreadEntry& entry = *thread->second;
    const std::string name = entry.name.empty() ? "unknown name" : base::safe_text(entry.name);
    const std::string id = entry.kernel_id == 0 ? "unknown id" : fmt::format("id {}", entry.kernel_id);
    return fmt::format("thread {} ({}, {})", number, name, id);
  }

  [[nodiscard]] std::string frames_text(const report::StackEntry& stack) const {
    std::string text = "    " + base::safe_text(stack.function) + "\n";
    for (const model::Frame& frame : report_.list(stack.frames)) {
      text += "    " + name_of(frame);
      if (!frame.file.empty()) text += fmt::format(" {}:{}", file_of(frame), frame.line);
      if (!frame.module.empty()) text += fmt::format(" ({})", module_of(frame));
      text += "\n";
    }
    return text;
  }

  [[nodiscard]] std::string stack_lines(const report::BlockEntry& block) const {
    const auto stack = stacks_.find(block.stack_id);
    return stack == stacks_.end() ? "    " + base::safe_text(block.function) + "\n" : frames_text(*stack->second);
  }

  // By the most informative frame.
  [[nodiscard]] std::string module_name(const report::BlockEntry& block) const {
    const auto stack = stacks_.find(block.stack_id);
    const model::Frame* const frame =
        stack == stacks_.end() ? nullptr : findings::telling_frame(report_.list(stack->second->frames));
    return frame == nullptr || frame->module.empty() ? "unknown module" : module_of(*frame);
  }

  const report::Report& report_;
  const report::Write& write_;
  std::map<uint64_t, const report::StackEntry*> stacks_;
  std::map<uint32_t, const report::ThreadEntry*> threads_;
  std::map<uint64_t, report::BlockCount> by_stack_;
  std::map<std::string, report::BlockCount> by_module_;
  std::map<uint32_t, report::BlockCount> by_thread_;
};

}  // namespace

base::Result<> write_blocks(const report::Report& report, const report::Write& write) {
  if (!report.blocks) return base::fail("{}'s file doesn't have single blocks", report.capture.import.tool);
  if (!report.has_events) return base::fail("--aggregate doesn't record single blocks; record again without it");
  if (report.capture.sample_interval != 0)
    return base::fail("--sample records some of the blocks only; record again without it");
  write(fmt::format("{} (pid {}): {} bytes in {} blocks are not freed\n\n", command_of(report.capture),
                    report.capture.pid, report.totals.live_bytes.counted(), report.totals.live_blocks.counted()));
  BlockText text(report, write);
  text.blocks();
  text.groups();
  text.graph();
  return {};
}

}  // namespace heaptap::exports
