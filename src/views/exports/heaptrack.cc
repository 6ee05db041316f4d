// heaptrack format, version 3: one line per event or table entry, numbers in hexadecimal, gzipped.
//
//   s LENGTH TEXT                                a string; numbered from 1, and so are the others except `a`
//   i ADDRESS MODULE [FUNCTION FILE LINE]…       a code address; the functions innermost first
//   t ADDRESS CALLER                             a stack: an `i` and the stack of its caller, 0: none
//   a SIZE STACK                                 an allocation's size and stack: numbered from 0
//   + ALLOCATED, - ALLOCATED, c MILLISECONDS     events
//   I PAGE_BYTES 0, R PAGES                      resident memory of the process; the machine's memory is unknown
#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/gzip.h"
#include "common/base/safe_text.h"
#include "views/exports/block_events.h"
#include "views/exports/frame_text.h"
#include "views/exports/profile_writers.h"

namespace heaptap::exports {
namespace {

class HeaptrackFile : public BlockEvents {
 public:
  HeaptrackFile(const report::Report& report, std::vector<model::ResidentSample> resident, const report::Write& write)
      : report_(report), resident_(std::move(resident)), out_(write) {
    put("v 10400 3\n");
    put(fmt::format("X {}\n", command_of(report.capture)));
    if (!report.capture.from_start) put("A\n");
    if (!resident_.empty()) put(fmt::format("I {:x} 0\n", page_bytes()));
    stacks_.resize(report.stacks.size());
    of_run_.resize(report.frames.trie().size());
  }

  void on_allocation(const LiveBlock& block) override {
    set_time(block.allocated_at_ns);
    put(fmt::format("+ {:x}\n", number_of(block)));
  }
  void on_release(const LiveBlock& block, uint64_t time_ns) override {
    set_time(time_ns);
    put(fmt::format("- {:x}\n", number_of(block)));
  }
  void finish() {
    set_time(report_.capture.duration_ns);
    out_.write(kept_);
    out_.finish();
  }

 private:
  using Frames = std::span<const report::FrameIndex>;

  void put(std::string_view line) {
    kept_ += line;
    if (kept_.size() < kPieceBytes) return;
    out_.write(kept_);
    kept_.clear();
  }
  [[nodiscard]] uint64_t page_bytes() const { return std::max<uint64_t>(report_.capture.page_bytes, 1); }
  void set_time(uint64_t time_ns) {
    for (; resident_done_ < resident_.size() && resident_[resident_done_].time_ns <= time_ns; ++resident_done_)
      put_resident(resident_done_);
    advance(time_ns);
  }
  // The highest value since the sample before, too: the reader takes the highest one of all.
  void put_resident(size_t index) {
    const model::ResidentSample& sample = resident_[index];
    advance(sample.time_ns);
    const bool is_first = index == 0;
    const uint64_t peak_before = is_first ? 0 : resident_[index - 1].peak_bytes.value_or(~uint64_t{0});
    const bool is_peak_new = sample.peak_bytes > peak_before && (!is_first || report_.capture.from_start);
    if (is_peak_new && sample.peak_bytes > sample.resident_bytes())
      put(fmt::format("R {:x}\n", *sample.peak_bytes / page_bytes()));
    put(fmt::format("R {:x}\n", sample.resident_bytes() / page_bytes()));
  }
  void advance(uint64_t time_ns) {
    if (time_ns / 1'000'000 <= time_ms_) return;
    time_ms_ = time_ns / 1'000'000;
    put(fmt::format("c {:x}\n", time_ms_));
  }
  uint64_t string(const std::string& text);
  uint64_t address(Frames run);
  uint64_t address_of_call(const std::string& function);
  uint64_t stack(uint64_t address, uint64_t caller);
  uint64_t stack_of(size_t place);
  uint64_t number_of(const LiveBlock& block);

  static constexpr size_t kPieceBytes = size_t{1} << 16;

  const report::Report& report_;
  const std::vector<model::ResidentSample> resident_;
  size_t resident_done_ = 0;
  base::GzipWriter out_;
  std::string kept_;
  uint64_t time_ms_ = 0;
  std::map<std::string, uint64_t> strings_;
  std::map<std::vector<report::FrameIndex>, uint64_t> addresses_;
  uint64_t address_count_ = 0;
  boost::unordered_flat_map<std::pair<uint64_t, uint64_t>, uint64_t> traces_;
  struct Run {
    report::NodeIndex node;
    size_t begin;  // its innermost frame
  };
  std::vector<uint64_t> stacks_;  // by index in the report; 0: not written yet
  std::vector<uint64_t> of_run_;  // by the node of the innermost frame of a run: the stack that begins there
  boost::unordered_flat_map<std::pair<uint64_t, uint64_t>, uint64_t> allocated_;  // by size and stack
};

uint64_t HeaptrackFile::string(const std::string& text) {
  if (text.empty()) return 0;
  const auto [found, added] = strings_.try_emplace(text, strings_.size() + 1);
  if (added) put(fmt::format("s {:x} {}\n", text.size(), text));
  return found->second;
}

// A frame without code, after those that were inlined into it.
uint64_t HeaptrackFile::address(Frames run) {
  const auto [found, added] = addresses_.try_emplace({run.begin(), run.end()}, address_count_ + 1);
  if (!added) return found->second;
  ++address_count_;
  const model::Frame& outermost = report_.frames[run.back()];
  std::string line = fmt::format("i {:x} {:x}", outermost.address, string(module_of(outermost)));
  for (const report::FrameIndex index : run) {
    const model::Frame& frame = report_.frames[index];
    const bool is_nameless = frame.function.empty() && run.size() == 1;  // heaptrack shows its address
    if (!is_nameless)
      line += fmt::format(" {:x} {:x} {:x}", string(name_of(frame)), string(file_of(frame)), frame.line);
  }
  put(line + "\n");
  return found->second;
}

uint64_t HeaptrackFile::address_of_call(const std::string& function) {
  const uint64_t name = string(base::safe_text(function));
  put(fmt::format("i 0 0 {:x} 0 0\n", name));
  return ++address_count_;
}

uint64_t HeaptrackFile::stack(uint64_t address, uint64_t caller) {
  const auto [found, added] = traces_.try_emplace({address, caller}, traces_.size() + 1);
  if (added) put(fmt::format("t {:x} {:x}\n", address, caller));
  return found->second;
}

uint64_t HeaptrackFile::stack_of(size_t place) {
  uint64_t& number = stacks_[place];
  if (number != 0) return number;
  const report::StackEntry& entry = report_.stacks[place];
  if (entry.frames.empty()) return number = stack(address_of_call(entry.function), 0);
  const report::FrameTrie& trie = report_.frames.trie();
  std::vector<report::FrameIndex> frames;
  std::vector<Run> runs;
  report::NodeIndex node = entry.frames.node;
  while (frames.size() < entry.frames.size) {
    number = entry.frames.is_cut ? 0 : of_run_[node];
    if (number != 0) break;
    runs.push_back({node, frames.size()});
    bool is_inlined = true;
    for (; is_inlined && frames.size() < entry.frames.size; node = trie[node].caller) {
      frames.push_back(trie[node].frame);
      is_inlined = report_.frames[frames.back()].inlined;
    }
  }
  for (size_t end = frames.size(); !runs.empty(); end = runs.back().begin, runs.pop_back()) {
    const Run& run = runs.back();
    number = stack(address(Frames(frames).subspan(run.begin, end - run.begin)), number);
    if (!entry.frames.is_cut) of_run_[run.node] = number;
  }
  return number;
}

uint64_t HeaptrackFile::number_of(const LiveBlock& block) {
  const uint64_t stack = stack_of(block.stack);
  const auto [found, added] = allocated_.try_emplace({block.size_bytes, stack}, allocated_.size());
  if (added) put(fmt::format("a {:x} {:x}\n", block.size_bytes, stack));
  return found->second;
}

}  // namespace

base::Result<> write_heaptrack(const Input& input, const report::Write& write) {
  HeaptrackFile file(input.report, input.trace->resident(), write);
  HEAPTAP_TRY(replay_blocks(input, file));
  file.finish();
  return {};
}

}  // namespace heaptap::exports
