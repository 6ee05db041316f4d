#include "capture/stream/mapped_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "capture/process/process_status.h"
#include "capture/stream/executed_path.h"
#include "capture/stream/module_file.h"
#include "common/base/clock.h"
#include "common/base/small_file.h"
#include "common/model/capture.h"

namespace heaptap::stream {
namespace {

std::string thread_name(pid_t process, uint32_t thread) {
  const std::string name = base::read_small_file(fmt::format("/proc/{}/task/{}/comm", process, thread), 64);
  return name.substr(0, name.find('\n'));
}

bool is_connected(const wire::LogHeader& log) {
  return static_cast<wire::AgentState>(log.agent_state.load(std::memory_order_acquire)) !=
         wire::AgentState::kNotConnected;
}

}  // namespace

std::optional<model::Label> MappedTables::label(uint32_t number) const {
  if (number == wire::kNoLabel || number >= labels_.size()) return std::nullopt;
  const wire::LabelEntry& entry = labels_[number];
  if (entry.is_whole.load(std::memory_order_acquire) != 1) return std::nullopt;
  const uint32_t parent = entry.parent;
  const wire::LabelKind kind = entry.kind;
  if (parent >= number || kind < wire::LabelKind::kTag || kind > wire::LabelKind::kFunction) return std::nullopt;
  const size_t bytes = std::min<size_t>(entry.name_bytes, wire::kMaxLabelBytes);
  return model::Label{.parent = parent, .kind = kind, .name = std::string(entry.name, bytes)};
}

MappedStream::MappedStream(const log::LogParts& log, TotalsCollector& totals, LogOwner owner)
    : log_(log),
      totals_(totals),
      owner_(std::move(owner)),
      executed_path_(executed_path(owner_.process, owner_.word_bytes)),
      is_in_own_namespace_(owner_.has_agent && !process::read_thread_numbers(owner_.process).empty()),
      tables_(log.codes, log.nodes, log.labels),
      reader_(log),
      clock_(log.header),
      start_ns_(base::clock_ns(CLOCK_MONOTONIC)),
      start_ticks_(clock_.now()) {}

uint64_t MappedStream::drain(log::RawEvents& events, bool last) {
  update_clock();
  // Without calls from any module there was no reason to list them.
  const bool is_told = log_.header.modules_bytes.load(std::memory_order_acquire) > 0;
  if (last && !is_told && owner_.has_agent && is_connected(log_.header)) look_at_program(owner_.executable);
  return reader_.drain(events, last);
}

void MappedStream::update_clock() {
  ticks_ = clock_.now() - start_ticks_;
  elapsed_ns_ = base::clock_ns(CLOCK_MONOTONIC) - start_ns_;
}

StreamState MappedStream::state() const {
  StreamState state{.start_ticks = start_ticks_,
                    .ticks = ticks_,
                    .elapsed_ns = elapsed_ns_,
                    .complete_until = reader_.complete_until(),
                    .lost_events = reader_.lost_events()};
  const wire::LogHeader& log = log_.header;
  if (reader_.damaged_streams() > 0) state.gaps |= model::kGapDamagedLog;
  if (log_.omits) state.gaps |= model::kGapOmittedObjects;
  if (past_hooks_.any() || log.own_scopes.load(std::memory_order_relaxed) != 0) state.gaps |= model::kGapPastHooks;
  if (own_allocator_ != OwnAllocator::kNone) state.gaps |= model::kGapOwnAllocator;
  if (totals_.missed_releases() > 0) state.gaps |= model::kGapMissedReleases;
  state.may_repeat_stacks = totals_.is_on() || log.slots_used.load(std::memory_order_acquire) > 1;
  state.has_unread = reader_.has_unread();
  state.is_empty = reader_.is_empty();
  return state;
}

// More than a log and its reader can hold: another process keeps writing.
uint64_t MappedStream::max_bytes_left() const { return 2 * (log_.chunks.size() + log::LogReader::kMaxKeptBytes); }

void MappedStream::take_modules(std::vector<model::Module>& modules) {
  const uint32_t end = log_.header.modules_bytes.load(std::memory_order_acquire);
  while (end <= log_.modules.size() && modules_read_ + sizeof(wire::ModuleNote) <= end && take_module(end, modules)) {
    std::string& path = modules.back().path;
    path = lasting_path(owner_.process, modules.back());
    if ((modules.back().flags & wire::kModuleIsMain) != 0) path = program_path(owner_.process, path, executed_path_);
    modules.back().file = file_behind(owner_.process, path);
    if (!owner_.has_agent) continue;
    past_hooks_.add(owner_.process, path);
    // The first one is the program itself: no preloaded library precedes it.
    look_at_program(path);
  }
}

void MappedStream::look_at_program(const std::string& path) {
  if (!std::exchange(knows_program_, true)) own_allocator_ = own_allocator_of(owner_.process, path);
}

// False: not written by an agent; no more of it is read.
bool MappedStream::take_module(uint32_t end, std::vector<model::Module>& modules) {
  wire::ModuleNote note;
  std::memcpy(&note, log_.modules.data() + modules_read_, sizeof(note));
  const size_t bytes = (sizeof(note) + note.path_bytes + 7) & ~size_t{7};
  if (modules_read_ + bytes > end || note.build_id_bytes > sizeof(note.build_id) || note.end < note.start) {
    modules_read_ = UINT32_MAX;
    return false;
  }
  const auto* path = reinterpret_cast<const char*>(log_.modules.data() + modules_read_ + sizeof(note));
  modules.push_back({.path = std::string(path, note.path_bytes),
                     .build_id = std::string(reinterpret_cast<const char*>(note.build_id), note.build_id_bytes),
                     .bias = note.bias,
                     .start = note.start,
                     .end = note.end,
                     .generation = note.generation,
                     .flags = note.flags});
  modules_read_ += static_cast<uint32_t>(bytes);
  return true;
}

void MappedStream::take_threads(std::vector<model::Thread>& threads) {
  constexpr unsigned kMaxNamesAsked = 200;
  unsigned names_asked = 0;
  // If many threads start at once, most have ended by now, and reading their names costs more than they do.
  for (const log::StreamEnd& seen : reader_.take_new_threads()) {
    add_thread(seen.thread_number, seen.thread_id, names_asked++ < kMaxNamesAsked, threads);
  }
  if (!totals_.is_on()) return;
  for (const TotalsCollector::Thread& seen : totals_.take_new_threads()) {
    add_thread(seen.number, seen.kernel_id, names_asked++ < kMaxNamesAsked, threads);
  }
}

void MappedStream::add_thread(uint32_t number, uint32_t kernel_id, bool ask_name, std::vector<model::Thread>& threads) {
  constexpr uint32_t kMaxThreads = 1u << 28;  // more than any process has had: not written by an agent
  if (number >= kMaxThreads) return;
  if (number >= threads_known_.size()) threads_known_.resize(number + size_t{1024});
  if (threads_known_[number]) return;
  threads_known_[number] = true;
  if (ask_name && is_in_own_namespace_) {
    const auto numbers = process::read_thread_numbers(owner_.process);
    if (const auto ours = numbers.find(kernel_id); ours != numbers.end()) kernel_id = ours->second;
  }
  threads.push_back({number, kernel_id, ask_name ? thread_name(owner_.process, kernel_id) : ""});
}

}  // namespace heaptap::stream
