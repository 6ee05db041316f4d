#include "capture/scan/root_finder.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "capture/elf/module_image.h"
#include "capture/process/process_status.h"
#include "capture/scan/allocator_memory.h"
#include "capture/scan/chunk_lives.h"
#include "capture/scan/kernel_words.h"
#include "capture/scan/own_mappings.h"
#include "capture/scan/range_labels.h"
#include "capture/scan/searched_mappings.h"
#include "capture/scan/stack_walk.h"
#include "capture/scan/thread_area.h"
#include "common/arch/cpu.h"
#include "common/arch/thread_facts.h"
#include "common/base/address_ranges.h"
#include "common/base/check.h"
#include "common/base/sizes.h"

// How the memory of a stopped process is divided into roots and the rest. Everything that is mapped gets a label, and what is known better
// paints over what is known less: first mappings (writable ones are roots, as "unknown memory"), then modules' data, then what
// allocators keep for themselves, stacks of threads that ended and what the agent has (no roots), then each thread: its stack from
// the stack pointer up is a root, what lies below is dead. Alternate stacks, contexts that the program switches between and
// thread-local storage come last, since they lie inside other memory. The live blocks themselves are cut out: they are reached from roots,
// they are none. Where a thread is the one that ends the process, its stack lives from what the agent said, not from its stack
// pointer, which is in the agent. Whenever something can't be found out (a musl thread area, a stack without an end), the
// memory stays a root and a note says so: a leak may be missed then, but nothing is accused.
namespace heaptap::scan {
namespace {

using wire::RootKind;

// As far as there is such a stack: the program's data about it isn't trusted.
std::vector<wire::StackArea> credible(std::span<const wire::StackArea> told, const std::vector<process::Mapping>& map) {
  constexpr uint64_t kMaxAreaBytes = uint64_t{1} << 30;
  std::vector<wire::StackArea> stacks;
  for (wire::StackArea area : told) {
    if (area.end <= area.begin || area.end - area.begin > kMaxAreaBytes) continue;
    auto mapping =
        std::ranges::upper_bound(map, area.begin, {}, [](const process::Mapping& entry) { return entry.range.end; });
    uint64_t mapped = area.begin;
    for (; mapping != map.end() && mapping->range.begin <= mapped && mapped < area.end; ++mapping) {
      mapped = mapping->range.end;
    }
    area.end = std::min(area.end, mapped);
    if (area.begin < area.end) stacks.push_back(area);
  }
  return stacks;
}

class RootFinder {
 public:
  RootFinder(const process::StoppedProcess& process, process::ProgramMemory& memory, const RootQuery& query)
      : process_(process),
        memory_(memory),
        query_(query),
        facts_(facts_of(process)),
        modules_(elf::find_modules(memory)),
        stacks_(credible(query.stacks, memory.map())),
        musl_(runs_on_musl()),
        walk_(memory_, modules_, process.architecture()) {}

  Roots find() {
    sort_ranges();
    label_mappings();
    label_modules();
    leave_out_allocators();
    for (const base::AddressRange& range : mapped_) label_mapped(range);
    leave_out_ended_threads();
    for (const process::StoppedThread& thread : process_.threads()) label_thread(thread);
    if (query_.has_kernel) leave_out_main_stack_of_ended_leader();
    label_contexts();
    if (query_.has_kernel) add_kernel_words();
    for (const base::AddressRange& range : query_.own) labels_.erase(range);
    collect_ranges();
    walk_stacks();
    roots_.layout.main_heap_end = main_heap_end_;
    roots_.layout.musl = musl_;
    for (const process::StoppedThread& thread : process_.threads()) {
      if (!thread.registers_known) {
        roots_.notes.push_back({.kind = model::NoteKind::kThreadInKernel, .numbers = {thread.thread_id}});
      }
    }
    return std::move(roots_);
  }

 private:
  static const arch::ThreadFacts& facts_of(const process::StoppedProcess& process) {
    const arch::ThreadFacts* facts = arch::thread_facts(process.architecture());
    HEAPTAP_CHECK(facts != nullptr);
    return *facts;
  }

  void sort_ranges();
  void label_mappings();
  void label_modules();
  void leave_out_allocators();
  void leave_out_released();
  void leave_out_arenas();
  bool leave_out_shared_heap(base::AddressRange heap);
  void label_mapped(base::AddressRange range);
  void leave_out_ended_threads();
  void label_thread(const process::StoppedThread& thread);
  void label_stack(const process::StoppedThread& thread, base::AddressRange stack);
  uint64_t live_from(const process::StoppedThread& thread);
  bool may_use_red_zone(uint64_t pc);
  void label_alternate_stack(const process::StoppedThread& thread);
  void label_thread_locals(const process::StoppedThread& thread, std::optional<base::AddressRange> area);
  void leave_out_main_stack_of_ended_leader();
  void label_contexts();
  [[nodiscard]] uint64_t first_of_context(base::AddressRange stack) const;
  [[nodiscard]] bool has_returned(uint64_t first_stack_pointer) const;
  void add_kernel_words();
  void collect_ranges();
  void walk_stacks();
  void find_crash(const process::StoppedThread& thread);
  [[nodiscard]] bool runs_on_musl() const;
  [[nodiscard]] std::optional<uint64_t> interrupted_stack_pointer(base::AddressRange alternate, uint64_t from) const;
  [[nodiscard]] bool is_exiting(const process::StoppedThread& thread) const {
    return query_.ending && query_.ending->thread_id == thread.thread_id;
  }
  [[nodiscard]] bool runs_on(base::AddressRange range) const {
    return std::ranges::any_of(
        process_.threads(), [&](const process::StoppedThread& thread) { return range.contains(thread.stack_pointer); });
  }

  const process::StoppedProcess& process_;
  process::ProgramMemory& memory_;
  const RootQuery& query_;
  const arch::ThreadFacts& facts_;
  std::vector<elf::ModuleImage> modules_;
  const std::vector<wire::StackArea> stacks_;  // those of the query that exist
  bool musl_;
  const ControlBlocks control_blocks_ = find_control_blocks(memory_, facts_, process_.threads(), musl_);
  ThreadLocalModules thread_local_modules_ = find_thread_local_modules(memory_, modules_, musl_);
  std::vector<base::AddressRange> mapped_;  // ascending
  base::AddressRange main_stack_{};         // empty: none
  uint64_t main_heap_end_ = 0;              // 0: not known
  base::AddressRange main_arena_{};         // whose heap that is
  uint64_t arena_bytes_ = 0;                // of each of glibc's arenas; 0: unknown
  base::AddressRange shared_heap_{};        // empty: no others have memory in it
  StackWalk walk_;
  std::unordered_map<uint64_t, bool> uses_red_zone_;  // by the program counter
  RangeLabels labels_;
  Roots roots_;
};

bool RootFinder::runs_on_musl() const {
  return std::ranges::any_of(process_.threads(), [&](const process::StoppedThread& thread) {
    return thread.registers_known && is_musl_thread(memory_, thread.thread_pointer);
  });
}

void RootFinder::sort_ranges() {
  mapped_.assign(query_.mapped.begin(), query_.mapped.end());
  std::ranges::sort(mapped_, {}, &base::AddressRange::begin);
}

void RootFinder::label_mappings() {
  size_t left_out = 0;
  for (const process::Mapping& mapping : memory_.map()) {
    if (mapping.is_kernels("[stack]")) main_stack_ = mapping.range;
    const bool is_special = !mapping.has_file() && mapping.name.starts_with("[") &&
                            !mapping.name.starts_with("[anon") && !mapping.is_kernels("[heap]");
    if (is_special || is_our_log(mapping)) continue;
    const bool is_read_only = !mapping.writable && (mapping.has_file() || mapping.shared);
    if (is_read_only && !has_made_code(mapping)) continue;
    if (mapping.shared && !is_shared_memory(mapping)) continue;
    if (mapping.shared && is_large_file(mapping, memory_)) {
      ++left_out;
      continue;
    }
    labels_.paint(mapping.range, RootKind::kMapping);
  }
  if (left_out != 0) {
    roots_.notes.push_back({.kind = model::NoteKind::kMappingsNotSearched, .numbers = {left_out}});
  }
}

void RootFinder::label_modules() {
  for (const elf::ModuleImage& module : modules_) {
    auto& known = is_agents_file(module.path) ? roots_.layout.heaptap : roots_.layout.globals;
    for (const base::AddressRange& data : module.writable) {
      labels_.paint(data, RootKind::kGlobal);
      known.push_back(data);
    }
    // musl's loader gives them to malloc.
    if (musl_) std::ranges::for_each(module.page_rests, [&](const base::AddressRange& rest) { labels_.erase(rest); });
    for (const base::AddressRange& arena : find_main_arenas(memory_, module)) {
      labels_.erase(arena);
      arena_bytes_ = arena.size();
      const uint64_t heap_end = end_of_main_heap(memory_, arena);
      if (heap_end > main_heap_end_) main_arena_ = arena;
      main_heap_end_ = std::max(main_heap_end_, heap_end);
    }
    for (const base::AddressRange& data : module.read_only) roots_.read_only_data.push_back(data);
  }
  std::ranges::sort(roots_.read_only_data, {}, &base::AddressRange::begin);
}

void RootFinder::leave_out_allocators() {
  if (!query_.heap_is_complete) {
    // Heaps of which all blocks are known were walked: what is released there is no root, with the rest of them.
    if (query_.known_heaps.empty()) {
      roots_.notes.push_back({model::NoteKind::kHeapNotKnown});
      leave_out_released();
    }
    for (const base::AddressRange& heap : query_.known_heaps) labels_.erase(heap);
    for (const base::AddressRange& part : query_.doubtful) labels_.paint(part, RootKind::kMapping);
    leave_out_arenas();
    return;
  }
  for (const process::Mapping& mapping : memory_.map()) {
    if (mapping.shared || base::lies_in(mapping.range.begin, mapped_)) continue;
    if (!mapping.is_anonymous() && !mapping.is_kernels("[heap]")) continue;
    // A module's .bss is such a mapping as well.
    const bool is_data = std::ranges::any_of(modules_, [&](const elf::ModuleImage& module) {
      return std::ranges::any_of(module.writable,
                                 [&](const base::AddressRange& r) { return r.contains(mapping.range.begin); });
    });
    if (is_data) continue;
    if (mapping.is_kernels("[heap]") && leave_out_shared_heap(mapping.range)) continue;
    for (const base::AddressRange& part : find_heap_parts(memory_, mapping, query_.heap, musl_)) {
      const bool goes_on = mapping.is_kernels("[heap]") && part.contains(main_heap_end_);
      labels_.erase({part.begin, goes_on ? main_heap_end_ : part.end});
    }
  }
}

// Whether others besides glibc may have memory in it. False: no sign of it.
bool RootFinder::leave_out_shared_heap(base::AddressRange heap) {
  if (main_heap_end_ == 0 || !may_share_break(memory_, modules_)) return false;
  const base::AddressRange known{heap.begin, std::min(heap.end, main_heap_end_)};
  uint64_t others = known.size();
  const std::vector<base::AddressRange> parts = main_heap_parts(memory_, main_arena_, known, query_.heap);
  for (const base::AddressRange& part : parts) {
    labels_.erase(part);
    others -= std::min(others, part.size());
  }
  // Padding before the first chunk; in a static program also the first thread's TLS, which its start gets by sbrk.
  constexpr uint64_t kLeastBytes = 64;
  constexpr uint64_t kLeastBytesOfStatic = uint64_t{16} << 10;
  if (others >= (has_c_library(modules_) ? kLeastBytes : kLeastBytesOfStatic)) {
    shared_heap_ = heap;
    roots_.layout.heap_parts = parts;
    roots_.notes.push_back({.kind = model::NoteKind::kBreakShared, .numbers = {others}});
  }
  return true;
}

// Stale data there doesn't count as pointers as long as the allocator has it free.
void RootFinder::leave_out_released() {
  const std::vector<ChunkLife> lives = find_chunk_lives(memory_, modules_, query_.released);
  for (size_t i = 0; i < query_.released.size(); ++i) {
    if (lives[i] == ChunkLife::kFree) labels_.erase(query_.released[i]);
  }
}

// What they are kept in: each has its last block beside its top, which looks like a pointer into the block.
void RootFinder::leave_out_arenas() {
  if (arena_bytes_ == 0) return;
  for (const process::Mapping& mapping : memory_.map()) {
    if (!mapping.writable || !mapping.is_anonymous()) continue;
    for (const ArenaHeap& heap : find_arena_heaps(memory_, mapping.range)) {
      const uint64_t arena = heap.range.contains(heap.arena) ? arena_bytes_ : 0;
      labels_.erase({heap.range.begin, heap.range.begin + heap.head_bytes + arena});
    }
  }
}

// Again, since an allocator's memory may be in one mapping with it.
void RootFinder::label_mapped(base::AddressRange range) {
  auto mapping = std::ranges::upper_bound(memory_.map(), range.begin, {},
                                          [](const process::Mapping& entry) { return entry.range.end; });
  for (; mapping != memory_.map().end() && mapping->range.begin < range.end; ++mapping) {
    if (!mapping->is_anonymous()) continue;
    labels_.paint(common_part(range, mapping->range), RootKind::kMapping);
  }
}

// glibc caches stacks of ended threads, with their tables of thread-local blocks. A guard page is below each.
void RootFinder::leave_out_ended_threads() {
  std::unordered_set<uint64_t> alive;
  for (const process::StoppedThread& thread : process_.threads()) alive.insert(thread.thread_pointer);
  const process::Mapping* before = nullptr;
  for (const process::Mapping& mapping : memory_.map()) {
    const process::Mapping* guard = std::exchange(before, &mapping);
    if (guard == nullptr || guard->range.end != mapping.range.begin || guard->readable || guard->writable) continue;
    if (!mapping.writable || mapping.shared || mapping.has_file()) continue;
    const auto pointer = find_thread_pointer(memory_, control_blocks_, mapping);
    if (!pointer || alive.contains(*pointer)) continue;
    // The kernel merges adjacent mappings: memory above the thread's belongs to others.
    const auto area = find_thread_area(memory_, control_blocks_, *pointer);
    if (!area) continue;
    const base::AddressRange memory = common_part(*area, mapping.range);
    if (runs_on(memory)) continue;
    // A stack made by the program is the program's memory again. The C library's call of mmap may have been recorded,
    // too: its stacks include the guard page.
    const bool is_librarys = area->begin == guard->range.begin;
    if (!is_librarys && base::lies_in(memory.begin, mapped_)) continue;
    labels_.erase(memory);
    roots_.layout.ended_stacks.push_back(memory);
    if (const uint64_t table = thread_local_table_memory(memory_, *pointer); table != 0) {
      roots_.words.push_back({table, 0, facts_.thread_pointer_number});
    }
    if (!waits_for_join(memory_, control_blocks_, *pointer)) continue;
    labels_.paint({control_blocks_.at(*pointer).begin, memory.end}, RootKind::kThreadLocal);
    if (is_librarys) roots_.layout.unjoined_stacks.push_back(memory);
  }
}

void RootFinder::label_thread(const process::StoppedThread& thread) {
  const std::optional<base::AddressRange> area =
      thread.registers_known ? find_thread_area(memory_, control_blocks_, thread.thread_pointer) : std::nullopt;
  const bool is_main = thread.thread_id == static_cast<uint32_t>(process_.process());
  const bool on_main_stack = main_stack_.size() != 0 && (is_main || main_stack_.contains(thread.stack_pointer));
  const base::AddressRange stack = on_main_stack ? main_stack_ : area.value_or(base::AddressRange{});
  if (stack.size() != 0) {
    label_stack(thread, stack);
    roots_.layout.stacks.push_back(stack);
  }
  if (thread.registers_known) label_thread_locals(thread, area);
  if (!is_exiting(thread) || query_.ending->registers_are_programs) {
    roots_.words.insert(roots_.words.end(), thread.registers.begin(), thread.registers.end());
  }
  for (const wire::StackArea& other : stacks_) {
    if (other.kind != RootKind::kAlternateStack || other.thread_id != thread.thread_id) continue;
    roots_.words.push_back(
        {other.begin, thread.thread_id, facts_.stack_pointer_number, wire::RootKind::kAlternateStack});
  }
}

void RootFinder::label_stack(const process::StoppedThread& thread, base::AddressRange stack) {
  uint64_t live = live_from(thread);
  for (const wire::StackArea& other : stacks_) {
    const base::AddressRange range{other.begin, other.end};
    if (other.kind != RootKind::kAlternateStack || !range.contains(thread.stack_pointer)) continue;
    const auto interrupted = interrupted_stack_pointer(range, thread.stack_pointer);
    live = interrupted ? *interrupted - facts_.red_zone_bytes : stack.begin;
  }
  if (is_exiting(thread) && query_.ending->live_sp != 0) live = query_.ending->live_sp;
  // On a stack made by the program: then all of this one may be in use.
  if (!stack.contains(live)) live = stack.begin;
  labels_.erase({stack.begin, live});
  labels_.paint({live, stack.end}, RootKind::kStack, thread.thread_id);
  // Last, since it may be a part of the stack.
  label_alternate_stack(thread);
}

// End of a thread's innermost frame.
uint64_t RootFinder::live_from(const process::StoppedThread& thread) {
  if (facts_.red_zone_bytes == 0) return thread.stack_pointer;
  const auto [known, is_new] = uses_red_zone_.try_emplace(thread.program_counter, true);
  if (is_new) known->second = may_use_red_zone(thread.program_counter);
  return thread.stack_pointer - (known->second ? facts_.red_zone_bytes : 0);
}

// Below the stack pointer is stale data, unless the function at `pc` uses a red zone.
bool RootFinder::may_use_red_zone(uint64_t pc) {
  constexpr size_t kMaxFunctionBytes = 65536;
  const arch::Cpu* cpu = arch::cpu_of(process_.architecture());
  const base::AddressRange function = walk_.function_at(pc);
  if (cpu == nullptr || function.size() == 0 || function.size() > kMaxFunctionBytes) return true;
  std::vector<uint8_t> code(base::at_most(kMaxFunctionBytes, function.size()));
  if (memory_.read_some(function.begin, code.data(), code.size()) != code.size()) return true;
  return cpu->may_use_red_zone(code, pc - function.begin);
}

void RootFinder::label_alternate_stack(const process::StoppedThread& thread) {
  for (const wire::StackArea& other : stacks_) {
    const base::AddressRange range{other.begin, other.end};
    if (other.kind != RootKind::kAlternateStack || other.thread_id != thread.thread_id) continue;
    if (base::lies_in(range.begin, query_.heap)) continue;
    labels_.erase(range);
    if (!range.contains(thread.stack_pointer)) continue;
    labels_.paint({std::max(range.begin, live_from(thread)), range.end}, RootKind::kAlternateStack, thread.thread_id);
  }
}

// A signal frame on an alternate stack has the stack and the interrupted registers. The outermost one counts.
std::optional<uint64_t> RootFinder::interrupted_stack_pointer(base::AddressRange alternate, uint64_t from) const {
  const unsigned word = memory_.word_bytes();
  const size_t stack = facts_.context_stack / word;  // begin, flags, size
  const size_t stack_pointer = facts_.context_stack_pointer / word;
  const auto words = memory_.words({from & ~uint64_t{word - 1}, alternate.end});
  std::optional<uint64_t> found;
  for (size_t i = 0; i + stack_pointer < words.size(); ++i) {
    if (words[i + stack] != alternate.begin || words[i + stack + 2] != alternate.size()) continue;
    const uint64_t interrupted = words[i + stack_pointer];
    if (!alternate.contains(interrupted)) found = interrupted;
  }
  return found;
}

void RootFinder::label_thread_locals(const process::StoppedThread& thread, std::optional<base::AddressRange> area) {
  const uint64_t pointer = thread.thread_pointer;
  const ThreadLocalTable table = read_thread_local_table(memory_, control_blocks_, pointer, thread_local_modules_);
  const process::Mapping* mapping = process::find_mapping(memory_.map(), pointer);
  if (mapping == nullptr) return;
  const base::AddressRange own = control_blocks_.at(pointer);
  const uint64_t begin = std::min(table.statics.begin, own.begin);
  const uint64_t end = area ? area->end : std::min(std::max(table.statics.end, own.end), mapping->range.end);
  labels_.paint({std::max(begin, mapping->range.begin), end}, RootKind::kThreadLocal, thread.thread_id);
  const auto hold = [&](base::AddressRange range, uint64_t start) {
    if (!base::lies_in(start, query_.heap)) {
      labels_.paint(range, RootKind::kThreadLocal, thread.thread_id);
    } else if (musl_) {
      // The loader's memory between blocks that is part of no known block.
      roots_.ranges.push_back({range.begin, range.end, RootKind::kThreadLocal, thread.thread_id});
    }
    roots_.words.push_back({start, thread.thread_id, facts_.thread_pointer_number, wire::RootKind::kThreadLocal});
  };
  if (table.range.size() != 0) hold(table.range, table.range.begin);
  for (const ThreadLocalBlock& block : table.blocks) {
    const base::AddressRange range{block.begin, block.begin + block.bytes};
    if (!table.statics.contains(block.begin)) hold(range, block.allocated != 0 ? block.allocated : block.begin);
    if (block.bytes == 0) continue;
    roots_.thread_locals.push_back({range.begin, range.end, thread.thread_id, block.module_bias, 0});
  }
}

void RootFinder::leave_out_main_stack_of_ended_leader() {
  const bool leader_lives = std::ranges::any_of(process_.threads(), [&](const process::StoppedThread& thread) {
    return thread.thread_id == static_cast<uint32_t>(process_.process());
  });
  if (main_stack_.size() == 0 || leader_lives || runs_on(main_stack_)) return;
  // The environment and the arguments stay above it.
  const uint64_t begin = query_.kernel != nullptr ? query_.kernel->first_stack_pointer
                                                  : process::read_first_stack_pointer(process_.live_thread());
  labels_.erase(main_stack_);
  if (main_stack_.contains(begin)) labels_.paint({begin, main_stack_.end}, RootKind::kMapping);
}

void RootFinder::label_contexts() {
  for (const wire::StackArea& area : stacks_) {
    const base::AddressRange range{area.begin, area.end};
    if (area.kind != RootKind::kContextStack || range.end <= range.begin || base::lies_in(range.begin, query_.heap))
      continue;
    const auto running = std::ranges::find_if(
        process_.threads(), [&](const process::StoppedThread& thread) { return range.contains(thread.stack_pointer); });
    uint64_t live = 0;
    uint32_t thread_id = area.thread_id;
    if (running != process_.threads().end()) {
      live = live_from(*running);
      thread_id = running->thread_id;
    } else {
      live = memory_.word(area.context + facts_.context_stack_pointer).value_or(0);
      // As made by makecontext: not started yet, or its state is saved in another context.
      constexpr uint64_t kFresh = 256;
      const bool is_fresh = range.end - live < kFresh;
      const uint64_t first = facts_.context_begins_at_end ? first_of_context(range) : is_fresh ? live : 0;
      if (range.contains(first) && has_returned(first)) {
        labels_.erase(range);
        continue;
      }
      if (is_fresh) live = 0;
    }
    labels_.paint(range, RootKind::kContextStack, thread_id);
    if (range.contains(live)) labels_.erase({range.begin, live});
  }
}

// The stack pointer made by makecontext (glibc, sysdeps/unix/sysv/linux/x86_64/makecontext.c), for six arguments or
// fewer.
uint64_t RootFinder::first_of_context(base::AddressRange stack) const {
  constexpr uint64_t kStackAlignment = 16;
  const uint64_t word = memory_.word_bytes();
  return ((stack.end - word) & ~(kStackAlignment - 1)) - word;
}

// makecontext puts the address of what comes behind the context's function onto its stack. That function calls setcontext,
// and where its return address then stands, was its own. (Functions begin at multiples of 16: that wouldn't be one's.)
bool RootFinder::has_returned(uint64_t first_stack_pointer) const {
  const uint64_t behind = memory_.word(first_stack_pointer).value_or(0);
  if (facts_.near_call_bytes == 0) return false;
  const auto opcode = memory_.value<uint8_t>(behind - facts_.near_call_bytes);
  const bool is_code = std::ranges::any_of(modules_, [&](const elf::ModuleImage& module) {
    return std::ranges::any_of(module.code, [&](const base::AddressRange& code) { return code.contains(behind); });
  });
  constexpr uint64_t kFunctionAlignment = 16;
  return is_code && behind % kFunctionAlignment != 0 && opcode == facts_.near_call_opcode;
}

void RootFinder::add_kernel_words() {
  const pid_t thread = process_.live_thread();
  const size_t rings = query_.kernel != nullptr ? query_.kernel->rings : count_rings(thread);
  if (rings != 0) roots_.notes.push_back({.kind = model::NoteKind::kHeldByRing, .numbers = {rings}});
  for (const uint64_t word : query_.kernel != nullptr ? query_.kernel->words : find_kernel_words(thread)) {
    // Of the kernel's 64 bits a shorter word is the first half (epoll_data, sigval).
    const uint64_t mask = memory_.word_bytes() == sizeof(uint32_t) ? 0xffffffff : ~uint64_t{0};
    roots_.words.push_back({word & mask, 0, 0, RootKind::kKernel});
  }
}

void RootFinder::collect_ranges() {
  auto block = query_.heap.begin();
  labels_.each([&](base::AddressRange range, const RootLabel& label) {
    block = std::ranges::upper_bound(block, query_.heap.end(), range.begin, {}, &base::AddressRange::end);
    const auto add = [&](uint64_t begin, uint64_t end) {
      const uint64_t word = memory_.word_bytes();
      begin = (begin + word - 1) & ~(word - 1);
      const process::Mapping* const mapping = process::find_mapping(memory_.map(), begin);
      const bool has_code = mapping != nullptr && has_made_code(*mapping);
      if (begin < end) roots_.ranges.push_back({begin, end, *label.kind, label.thread_id, has_code});
    };
    uint64_t begin = range.begin;
    // Words inside of blocks aren't read here; the gaps are.
    const bool is_whole = !query_.heap_is_complete || shared_heap_.contains(begin);
    if (is_whole && *label.kind == RootKind::kMapping) return add(begin, range.end);
    for (auto at = block; at != query_.heap.end() && at->begin < range.end; ++at) {
      add(begin, std::min(at->begin, range.end));
      begin = std::max(begin, at->end);
    }
    add(begin, range.end);
  });
  std::ranges::sort(roots_.ranges, {}, &wire::RootRange::begin);
}

void RootFinder::walk_stacks() {
  for (const process::StoppedThread& thread : process_.threads()) {
    const size_t before = roots_.frames.size();
    walk_.walk(thread, roots_.frames);
    if (!is_exiting(thread)) continue;
    if (query_.ending->crash_signal != 0) find_crash(thread);
    const auto first = roots_.frames.begin() + static_cast<std::ptrdiff_t>(before);
    roots_.frames.erase(std::remove_if(first, roots_.frames.end(),
                                       [&](const wire::StackFrame& f) { return f.cfa <= query_.ending->live_sp; }),
                        roots_.frames.end());
  }
}

void RootFinder::find_crash(const process::StoppedThread& thread) {
  model::Crash crash = walk_.crash_of(thread, query_.ending->registers_are_programs ? 0 : query_.ending->live_sp);
  crash.signal = query_.ending->crash_signal;
  if (!crash.codes.empty()) roots_.crash = std::move(crash);
}

}  // namespace

Roots find_roots(const process::StoppedProcess& process, process::ProgramMemory& memory, const RootQuery& query) {
  return RootFinder(process, memory, query).find();
}

}  // namespace heaptap::scan
