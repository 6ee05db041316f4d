#include "capture/supervision/process_scan.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>

#include "capture/elf/module_image.h"
#include "capture/log/area_reader.h"
#include "capture/process/process_memory.h"
#include "capture/process/process_status.h"
#include "capture/scan/chunk_lives.h"
#include "capture/scan/heap_scanner.h"
#include "capture/scan/resident_regions.h"
#include "capture/scan/root_finder.h"
#include "capture/supervision/exit_start.h"
#include "capture/supervision/scan_parts.h"
#include "common/arch/thread_facts.h"
#include "common/base/bounded_calls.h"
#include "common/base/clock.h"
#include "common/base/pages.h"

namespace heaptap::supervision {
namespace {

std::vector<base::AddressRange> mapped_ranges(const stream::MappedRanges& mapped) {
  std::vector<base::AddressRange> ranges;
  mapped.for_each([&](uint64_t begin, uint64_t end) { ranges.push_back({begin, end}); });
  return ranges;
}

// For a thread that the process knows by this one.
uint32_t our_number(const std::map<uint32_t, uint32_t>& numbers, uint32_t theirs) {
  const auto found = numbers.find(theirs);
  return found == numbers.end() ? theirs : found->second;
}

// Liveness of blocks by their allocator's data, if not all releases were seen.
std::vector<model::BlockLife> lives_of(const Recorded& recorded, process::ProgramMemory& memory) {
  if (recorded.saw_all_releases) return {};
  std::vector<base::AddressRange> blocks;
  for (const model::ScannedBlock& block : recorded.blocks)
    blocks.push_back({block.address, block.address + block.size_bytes});
  const auto modules = elf::find_modules(memory);
  std::vector<model::BlockLife> lives;
  for (const scan::ChunkLife life : scan::find_chunk_lives(memory, modules, blocks)) {
    lives.push_back(life == scan::ChunkLife::kInUse  ? model::BlockLife::kAlive
                    : life == scan::ChunkLife::kFree ? model::BlockLife::kFree
                                                     : model::BlockLife::kUnknown);
  }
  return lives;
}

// The signal that ends it with a core dump; 0: another end.
int crash_signal(const wire::ExitNotice& notice) {
  if (notice.kind != wire::ExitKind::kSignal) return 0;
  const auto signal = static_cast<int>(notice.signal);
  return dumps_core(signal) ? signal : 0;
}

scan::Roots roots_of(const ScanTarget& target, const Recorded& recorded, const process::StoppedProcess& stopped,
                     process::ProgramMemory& memory, const EarlierBlocks& earlier, const CopiedProcess* copied) {
  const auto heap = heap_ranges(recorded.blocks);
  const auto mapped = mapped_ranges(recorded.mapped);
  const auto own = log::read_own_areas(target.log);
  auto stacks = log::read_stack_areas(target.log);
  std::map<uint32_t, uint32_t> numbers;
  if (copied != nullptr) {
    numbers = copied->thread_numbers;
  } else if (target.tells_other_numbers) {
    numbers = process::read_thread_numbers(stopped.process());
  }
  for (wire::StackArea& stack : stacks) stack.thread_id = our_number(numbers, stack.thread_id);
  scan::RootQuery query{.heap = heap,
                        .heap_is_complete = target.heap_is_complete,
                        .known_heaps = earlier.heaps,
                        .doubtful = earlier.doubtful,
                        .released = recorded.released,
                        .mapped = mapped,
                        .own = own,
                        .stacks = stacks,
                        .ending = {},
                        .kernel = copied == nullptr ? nullptr : &copied->kernel};
  if (target.ending) {
    query.ending = scan::ExitingThread{.thread_id = our_number(numbers, target.ending->thread_id),
                                       .live_sp = target.ending->live_sp,
                                       .registers_are_programs = target.access.knows_exit_registers,
                                       .crash_signal = crash_signal(*target.ending)};
  }
  return scan::find_roots(stopped, memory, query);
}

std::vector<model::Region> regions_of(const ScanTarget& target, const Recorded& recorded, const scan::Roots& roots,
                                      process::ProgramMemory& memory) {
  const auto mapped = mapped_ranges(recorded.mapped);
  const auto own = log::read_own_areas(target.log);
  return scan::find_regions(memory, {.layout = roots.layout, .blocks = recorded.blocks, .mapped = mapped, .own = own});
}

// Until when resident pages may be counted: what that adds to the pause is little beside the scan, or hardly felt.
uint64_t counting_deadline_ns(uint64_t begun_ns) {
  constexpr uint64_t kAlwaysNs = 20'000'000;
  constexpr uint64_t kShare = 4;  // of the time until now
  const uint64_t now_ns = base::clock_ns(CLOCK_MONOTONIC);
  return now_ns + std::max(kAlwaysNs, (now_ns - begun_ns) / kShare);
}

// Blocks that contain blocks of pools are scanned in pieces. `lives` becomes that of these.
std::optional<PoolCut> cut_around_pools(Recorded& recorded, std::vector<model::BlockLife>& lives) {
  if (recorded.pooled.empty()) return std::nullopt;
  PoolCut cut(recorded.blocks, std::move(recorded.pooled));
  recorded.blocks = cut.pieces(lives);
  return cut;
}

void put_in_order(std::vector<model::ScannedBlock>& blocks) {
  std::ranges::sort(blocks, {}, &model::ScannedBlock::address);
}

void add_facts(model::HeapScan& scan, const ScanFacts& facts) {
  scan.stopped_ns = facts.stopped_ns;
  scan.read_bytes = facts.read_bytes;
  scan.skipped_bytes = facts.skipped_bytes;
  scan.threads = facts.threads;
  scan.resident = facts.resident;
  scan.notes.insert(scan.notes.end(), facts.notes.begin(), facts.notes.end());
}

}  // namespace

base::Result<ProcessScan> ProcessScan::stop(const ScanTarget& target) {
  const uint64_t begun_ns = base::clock_ns(CLOCK_MONOTONIC);
  auto stopped = target.access.stop();
  if (!stopped) return base::fail("no leak scan: {}", stopped.error().message);
  if (arch::thread_facts(stopped->architecture()) == nullptr) {
    return base::fail("no leak scan: not supported on this CPU");
  }
  return ProcessScan(target, begun_ns, *std::move(stopped));
}

std::vector<model::Region> ProcessScan::collect_from(Recorded recorded, process::ProgramMemory& memory,
                                                     const CopiedProcess* copied) {
  put_in_order(recorded.blocks);
  const EarlierBlocks earlier =
      recorded.add_earlier ? recorded.add_earlier(recorded, stopped_, memory) : EarlierBlocks();
  scan::Roots roots = roots_of(target_, recorded, stopped_, memory, earlier, copied);
  if (earlier.note) roots.notes.push_back(*earlier.note);
  std::vector<model::Region> regions;
  if (!is_exit_start(target_.ending)) regions = regions_of(target_, recorded, roots, memory);
  std::vector<model::BlockLife> lives = lives_of(recorded, memory);
  answer_ = {.word_bytes = stopped_.word_bytes(), .roots = {}, .lives = lives, .findings = {}};
  cut_ = cut_around_pools(recorded, lives);
  scan::ScanInput input = scan_input(std::move(recorded), roots);
  input.lives = std::move(lives);
  input.word_bytes = stopped_.word_bytes();
  scanner_.emplace(std::move(input), target_.limits);
  scanner_->collect(memory);
  facts_.read_bytes = scanner_->read_bytes();
  facts_.skipped_bytes = scanner_->skipped_bytes();
  facts_.threads = static_cast<uint32_t>(stopped_.threads().size());
  facts_.notes = std::exchange(roots.notes, {});
  facts_.crash = std::exchange(roots.crash, {});
  answer_.roots = std::move(roots);
  return regions;
}

void ProcessScan::note_layout() {
  if (auto note = scan::note_of_unjoined(answer_.roots.layout, facts_.resident))
    facts_.notes.push_back(*std::move(note));
}

void ProcessScan::collect(Recorded recorded) {
  process::ProcessMemory memory(stopped_.live_thread(), stopped_.word_bytes());
  std::vector<model::Region> regions = collect_from(std::move(recorded), memory, nullptr);
  if (!is_exit_start(target_.ending)) {
    facts_.resident = scan::measure_resident(std::move(regions), memory.pages(), counting_deadline_ns(begun_ns_));
  }
  has_given_up_ = memory.has_given_up();
  note_layout();
}

base::Result<CopiedProcess> ProcessScan::copy(scan::MemoryCopy& copy) {
  CopiedProcess copied;
  auto memory = copy.finish(stopped_, has_given_up_);
  if (!memory) return std::unexpected(std::move(memory).error());
  copied.memory = *std::move(memory);
  copied.kernel = scan::read_kernel_facts(stopped_.live_thread());
  if (target_.tells_other_numbers) copied.thread_numbers = process::read_thread_numbers(stopped_.process());
  return copied;
}

void ProcessScan::collect_copied(Recorded recorded, CopiedProcess& copied) {
  std::vector<model::Region> regions = collect_from(std::move(recorded), *copied.memory, &copied);
  facts_.resident = scan::measure_resident(std::move(regions), copied.memory->states());
  note_layout();
}

base::Result<> ProcessScan::release() {
  stopped_.release();
  facts_.stopped_ns = stopped_.stopped_ns();
  if (target_.ending && !target_.access.finish_exit()) {
    return base::fail("no leak scan: the program didn't wait at its end until its memory had been read");
  }
  if (has_given_up_) {
    return base::fail(
        "no leak scan: a page of its memory, which another program or a file system has to provide, didn't arrive "
        "within {} s",
        std::chrono::duration_cast<std::chrono::seconds>(base::BoundedCalls::kLongest).count());
  }
  return {};
}

model::HeapScan ProcessScan::resolve() {
  model::HeapScan scan = scanner_->resolve();
  if (cut_) cut_->join(scan, stopped_.word_bytes());
  add_facts(scan, facts_);
  scan.total_ns = base::clock_ns(CLOCK_MONOTONIC) - begun_ns_;
  return scan;
}

stream::ScanAnswer ProcessScan::hand_over() {
  answer_.findings = scanner_->hand_over();
  return std::move(answer_);
}

base::Result<model::HeapScan> resolve_elsewhere(stream::ScanAnswer answer, const ScanFacts& facts, Recorded recorded) {
  const uint64_t begun_ns = base::clock_ns(CLOCK_MONOTONIC);
  put_in_order(recorded.blocks);
  std::vector<model::BlockLife> lives = std::move(answer.lives);
  const std::optional<PoolCut> cut = cut_around_pools(recorded, lives);
  scan::ScanInput input = scan_input(std::move(recorded), answer.roots);
  input.lives = std::move(lives);
  input.word_bytes = answer.word_bytes;
  scan::HeapScanner scanner(std::move(input));
  if (!scanner.take(std::move(answer.findings))) {
    return base::fail("no leak scan: its result doesn't match the known blocks");
  }
  model::HeapScan scan = scanner.resolve();
  if (cut) cut->join(scan, answer.word_bytes);
  add_facts(scan, facts);
  scan.total_ns = facts.stopped_ns + base::clock_ns(CLOCK_MONOTONIC) - begun_ns;
  return scan;
}

}  // namespace heaptap::supervision
