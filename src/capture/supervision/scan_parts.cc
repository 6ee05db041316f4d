#include "capture/supervision/scan_parts.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <csignal>
#include <span>
#include <utility>

#include "common/base/pages.h"

namespace heaptap::supervision {
namespace {

// Index of the module with this address or load bias, the one loaded last; kNoModule: none.
template <typename Is>
uint32_t module_index(const model::Tables& tables, Is is) {
  for (size_t i = tables.modules.size(); i > 0; --i) {
    if (is(tables.modules[i - 1])) return static_cast<uint32_t>(i - 1);
  }
  return wire::kNoModule;
}

// A code address as in the tables, with the generation of the currently loaded module.
uint64_t code_entry(const model::Tables& tables, uint64_t address, bool is_exact) {
  const uint32_t index = module_index(
      tables, [&](const model::Module& module) { return address >= module.start && address < module.end; });
  const uint32_t generation = index == wire::kNoModule ? 0 : tables.modules[index].generation;
  return model::entry_of({.address = address, .generation = generation, .exact = is_exact});
}

// By site of the blocks: numbers of its innermost frames, in the order of their first use.
scan::CallLevels calls_of(const model::Tables& tables, std::span<const model::ScannedBlock> blocks) {
  scan::CallLevels calls;
  for (scan::SiteCalls& level : calls) level.assign(tables.sites.size(), scan::kNoCall);
  std::vector<bool> is_done(tables.sites.size());
  std::array<boost::unordered_flat_map<uint64_t, uint32_t>, scan::kCallFrames.back()> known;
  for (const model::ScannedBlock& block : blocks) {
    if (block.site >= is_done.size() || is_done[block.site]) continue;
    is_done[block.site] = true;
    uint32_t call = 0;
    unsigned frames = 0;
    model::StackId stack = tables.sites[block.site].stack;
    for (size_t level = 0; level < scan::kCallLevels && stack >= wire::kRootCount; ++level) {
      for (; frames < scan::kCallFrames[level] && stack >= wire::kRootCount; ++frames) {
        const uint64_t key = uint64_t{call} << 32 | tables.stacks[stack].code;
        call = known[frames].emplace(key, static_cast<uint32_t>(known[frames].size())).first->second;
        stack = tables.stacks[stack].parent;
      }
      if (frames == scan::kCallFrames[level]) calls[level][block.site] = call;
    }
  }
  return calls;
}

}  // namespace

// Linux, kernel/signal.c: SIG_KERNEL_COREDUMP_MASK.
bool dumps_core(int signal) {
  constexpr std::array kSignals{SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};
  return std::ranges::find(kSignals, signal) != kSignals.end();
}

std::vector<base::AddressRange> heap_ranges(const std::vector<model::ScannedBlock>& blocks) {
  std::vector<base::AddressRange> ranges;
  for (const model::ScannedBlock& block : blocks) {
    const uint64_t end = block.address + std::max<uint64_t>(block.size_bytes, 1);
    if (!ranges.empty() && block.address <= ranges.back().end + base::page_bytes()) {
      ranges.back().end = std::max(ranges.back().end, end);
    } else {
      ranges.push_back({block.address, end});
    }
  }
  return ranges;
}

scan::ScanInput scan_input(Recorded recorded, const scan::Roots& roots) {
  scan::ScanInput input;
  input.blocks = std::move(recorded.blocks);
  input.root_ranges = roots.ranges;
  input.root_words = roots.words;
  input.frames = roots.frames;
  uint32_t last_thread = 0;
  for (wire::StackFrame& frame : input.frames) {  // the first one of a thread is its PC, others are return addresses
    frame.code = code_entry(recorded.tables, frame.code, frame.thread_id != last_thread);
    last_thread = frame.thread_id;
  }
  for (const scan::ThreadSegment& segment : roots.thread_locals) {
    const uint32_t module =
        module_index(recorded.tables, [&](const model::Module& known) { return known.bias == segment.module_base; });
    if (segment.segment_offset == 0) {
      input.thread_local_segments.push_back({{segment.begin, segment.end}, module});
    }
  }
  input.read_only_data = roots.read_only_data;
  for (const model::Thread& thread : recorded.tables.threads)
    input.threads.push_back({thread.kernel_id, thread.number});
  input.calls = calls_of(recorded.tables, input.blocks);
  return input;
}

}  // namespace heaptap::supervision
