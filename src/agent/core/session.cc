#include "agent/core/session.h"

#include "agent/core/kernel.h"
#include "agent/core/labels.h"
#include "agent/core/log_areas.h"
#include "agent/core/pieces.h"
#include "agent/core/streams.h"
#include "agent/core/string.h"
#include "agent/core/thread_stack.h"

namespace heaptap::agent {

constinit SessionPage g_session_page{};
constinit Session g_session{};

FirstMappings first_mappings(wire::LogHeader* memory, const wire::LogLayout& log) {
  auto* const base = reinterpret_cast<uint8_t*>(memory);
  if (log.start_chunks >= log.chunk_count && log.start_nodes >= log.node_capacity)
    return {{base, own_address(log.total_bytes)}, {}};
  return {{base, whole_pages(own_address(log.chunks_offset) + size_t{log.start_chunks} * wire::kChunkBytes)},
          {base + log.nodes_offset, whole_pages(size_t{log.start_nodes} * sizeof(wire::StackNode))}};
}

namespace {

uint16_t short_kinds_for(const wire::LogLayout& log) {
  constexpr unsigned kAllocate = 1u << static_cast<unsigned>(wire::RecordKind::kAllocate);
  constexpr unsigned kRelease = 1u << static_cast<unsigned>(wire::RecordKind::kRelease);
  const bool are_releases = (log.flags & (wire::kReleaseCallers | wire::kNoReleaseStacks)) != 0;
  return static_cast<uint16_t>(log.depth_limit == 1 ? kAllocate | kRelease : are_releases ? kRelease : 0);
}

// A child that should be recorded but isn't: notes it in its parent's log, which it still has.
void note_unreached() {
  if (g_session.log != nullptr) g_session.log->children_unreached.fetch_add(1, std::memory_order_relaxed);
}

// A child that isn't to be recorded: counted, so that the trace shows that there were others. This only needs shared
// memory.
void note_unfollowed() {
  if (g_session.log == nullptr) return;
  g_session.log->execs_refused[static_cast<uint32_t>(wire::ExecOutcome::kNotFollowed)].fetch_add(
      1, std::memory_order_relaxed);
}

// A log without a session: among the areas noted in the log of the previous session, it counts as none.
void unmap_log(void* start, size_t bytes) {
  kernel::system_call(__NR_munmap, reinterpret_cast<long>(start), static_cast<long>(bytes));
}

void unmap_between(uint8_t* begin, uint8_t* end) {
  if (begin < end) unmap_log(begin, static_cast<size_t>(end - begin));
}

void unmap_growth(wire::LogHeader& memory, const wire::LogLayout& layout) {
  const FirstMappings kept = first_mappings(&memory, layout);
  uint8_t* const end = static_cast<uint8_t*>(kept.beginning.start) + layout.total_bytes;
  uint8_t* const beginning_end = static_cast<uint8_t*>(kept.beginning.start) + kept.beginning.bytes;
  if (kept.nodes.bytes == 0) return;
  auto* const nodes = static_cast<uint8_t*>(kept.nodes.start);
  unmap_between(beginning_end, nodes);
  unmap_between(nodes + kept.nodes.bytes, end);
}

// Gets a log. Null: none for this process.
wire::LogHeader* get_log(wire::StartReason reason, wire::CheckedLayout& layout) {
  const platform::LogMemory memory = platform::get_log(reason);
  if (memory.answer == platform::LogMemory::Answer::kNobodyThere) note_unreached();
  if (memory.answer != platform::LogMemory::Answer::kGiven) return nullptr;
  auto* log = static_cast<wire::LogHeader*>(memory.start);
  if (memory.bytes < sizeof(wire::LogHeader) || !wire::copy_layout(*log, own_address(memory.bytes), layout)) {
    unmap_log(memory.start, own_address(memory.bytes));
    return nullptr;
  }
  unmap_growth(*log, layout.log);
  return log;
}

// In a forked child, for the inherited session of its parent. The child has its own log by then: unmapped memory is
// forgotten there, and stays noted in the parent's.
void leave_parents_session(wire::LogHeader& before, const wire::LogLayout& layout) {
  Session& session = g_session;
  Leftovers& leftovers = session.leftovers;
  if (platform::thread_anchor().level != 0)
    leftovers.keep();  // this very thread, in the code interrupted by its handler
  leftovers.age([](MappedPart part) { kernel::unmap(part.start, part.bytes); });
  const FirstMappings mapped = first_mappings(&before, layout);
  leftovers.add(mapped.beginning);
  leftovers.add(mapped.nodes);
  leftovers.add(session.chunks.growth());
  leftovers.add(session.unwind.trie.nodes().growth());
  leftovers.add(session.unwind.rules.memory());
  leftovers.add(session.unwind.trie.memory());
  if (session.interpreter != nullptr) session.interpreter->leave(leftovers);
  g_pieces.restart([&leftovers](void* start, size_t bytes) { leftovers.add({start, bytes}); });
}

bool use_log(wire::LogHeader* log, const wire::CheckedLayout& checked) {
  auto* base = reinterpret_cast<uint8_t*>(log);
  Session& session = g_session;
  wire::LogHeader* before = session.log;
  const wire::LogLayout layout_before = session.layout.log;
  const wire::LogLayout& layout = checked.log;
  session.log = log;
  session.layout = checked;
  leave_reserve();  // the session's own first memory isn't taken from it
  if (before != nullptr) {
    inherit_own_areas(*before, layout_before);
    leave_parents_session(*before, layout_before);
  }
  const FirstMappings mapped = first_mappings(log, layout);
  kernel::advise(mapped.beginning.start, mapped.beginning.bytes, MADV_DONTDUMP);
  kernel::advise(mapped.nodes.start, mapped.nodes.bytes, MADV_DONTDUMP);
  session.slots = reinterpret_cast<wire::StreamSlot*>(base + layout.slots_offset);
  session.chunks.start(base + layout.chunks_offset, layout.start_chunks, layout.chunk_count, wire::kChunkBytes);
  session.first_log_bytes = mapped.beginning.bytes + mapped.nodes.bytes;
  session.flags = layout.flags;
  session.omits = log->omitted_objects[0] != '\0';
  session.counts_time = session.counts_time || (layout.flags & wire::kCountTime) != 0;
  session.process = kernel::process_id();
  session.knows_thread_place = platform::thread_number_in_block() == kernel::thread_id();
  ++session.number;
  session.unwind.changes.count_up();
  UnwindTables& unwind = session.unwind;
  unwind.set_depth_limit(unwind::depth_limit_for(layout.depth_limit));
  session.short_kinds = short_kinds_for(layout);
  session.is_sampled = layout.sample_interval != 0;
  Sampler::forget(platform::thread_anchor());  // it may count for a parent
  if (!session.owners.start() ||
      !unwind.rules.start(reinterpret_cast<wire::CodeEntry*>(base + layout.codes_offset), layout.code_capacity, log) ||
      !unwind.trie.start(reinterpret_cast<wire::StackNode*>(base + layout.nodes_offset), layout.start_nodes,
                         layout.node_capacity, log) ||
      !session.totals.start(log, checked) || (session.is_sampled && !session.sampler.start(layout.sample_interval))) {
    return false;
  }
  unwind.start_late_rows(log, layout);
  session.interpreter = interpreter_for(layout.flags);
  if (session.interpreter != nullptr && !session.interpreter->start(*log)) return false;
  session.is_plain = !session.omits && session.interpreter == nullptr && !session.is_sampled;
  unwind.modules.show_to(session.interpreter);
  // A forked child has its parent's modules, and can't enumerate them: the lock on their list may be held for ever by a
  // thread that doesn't exist in the child.
  if (before == nullptr) {
    unwind.modules.start(log, layout);
    unwind.refresh_modules();
  } else {
    unwind.modules.inherit(*before, layout_before, log, layout);
  }
  session.loader_code = platform::loader_code();
  g_labels.start(log, layout);
  note_initial_stack_limit();
  make_reserve();
  keep_to_reserve();
  start_streams();
  log->agent_state.store(static_cast<uint32_t>(wire::AgentState::kRecording), std::memory_order_release);
  return true;
}

// Blocks signal handlers, which would find half a session, and interrupt the waits.
class SignalsBlocked {
 public:
  SignalsBlocked() { change(kSet, &kAll, &before_); }
  ~SignalsBlocked() { change(kSet, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  static constexpr long kSet = 2;
  static constexpr uint64_t kAll = ~uint64_t{0};
  static void change(long how, const uint64_t* mask, uint64_t* before) {
    kernel::system_call(__NR_rt_sigprocmask, how, reinterpret_cast<long>(mask), reinterpret_cast<long>(before),
                        sizeof(uint64_t));
  }
  uint64_t before_ = 0;
};

// A forked child is recorded only if requested. Without recording it makes no system call at all.
bool may_start() {
  if (!platform::has_log_source() || !may_call()) return false;
  if (g_session.process == 0) {
    // Once: a child of a process in which it failed doesn't try again.
    static constinit bool tried = false;
    if (tried) return false;
    tried = true;
    return !starts_under_unknown_filters();
  }
  return (g_session.flags & wire::kFollowFork) != 0;
}

}  // namespace

uint32_t thread_id() {
  if (may_call()) return kernel::thread_id();
  return g_session.knows_thread_place ? platform::thread_number_in_block() : 0;
}

__attribute__((noinline)) bool start_session() {
  std::atomic<SessionState>& state = g_session_page.state;
  SessionState expected = SessionState::kUnknown;
  if (!state.compare_exchange_strong(expected, SessionState::kStarting, std::memory_order_acq_rel)) {
    return expected == SessionState::kRecording;
  }
  if (!may_start()) {
    if ((g_session.flags & wire::kFollowFork) != 0)
      note_unreached();
    else
      note_unfollowed();
    state.store(SessionState::kOff, std::memory_order_release);
    return false;
  }
  const SignalsBlocked no_signals;
  const wire::StartReason reason = g_session.process == 0 ? wire::StartReason::kStart : wire::StartReason::kFork;
  const long wiped = kernel::system_call(__NR_madvise, reinterpret_cast<long>(&g_session_page), sizeof(g_session_page),
                                         MADV_WIPEONFORK);
  if (wiped == kernel::kInvalid) {
    // Before Linux 4.14: a forked child would take the session for its own.
    state.store(SessionState::kOff, std::memory_order_release);
    return false;
  }
  if (reason == wire::StartReason::kStart) platform::note_first_process();
  static constinit wire::CheckedLayout layout{};  // one thread at a time comes here, and its stack may be small
  wire::LogHeader* log = get_log(reason, layout);
  const bool started = log != nullptr && use_log(log, layout);
  state.store(started ? SessionState::kRecording : SessionState::kOff, std::memory_order_release);
  platform::note_session(reason, started ? log : nullptr);
  return started;
}

}  // namespace heaptap::agent
