#include "capture/stream/exec_notes.h"

#include <algorithm>

namespace heaptap::stream {
namespace {

using wire::ExecOutcome;

// For a note in the log, which may contain anything.
bool is_refusal(ExecOutcome outcome) {
  return outcome != ExecOutcome::kNone && outcome != ExecOutcome::kHandedOn && outcome != ExecOutcome::kNotFollowed &&
         static_cast<uint32_t>(outcome) < wire::kExecOutcomeCount;
}

}  // namespace

bool has_executed(const wire::LogHeader& log) {
  return log.last_exec.load(std::memory_order_acquire) != static_cast<uint32_t>(ExecOutcome::kNone);
}

std::vector<model::Note> exec_notes(const wire::LogHeader& log) {
  std::vector<model::Note> notes;
  const uint32_t last = log.last_exec.load(std::memory_order_acquire);
  if (is_refusal(static_cast<ExecOutcome>(last))) {
    notes.push_back({.kind = model::NoteKind::kExecNotRecorded, .numbers = {last}});
  }
  for (uint32_t i = 0; i < wire::kExecOutcomeCount; ++i) {
    const uint32_t count = log.execs_refused[i].load(std::memory_order_relaxed);
    if (count == 0 || !is_refusal(static_cast<ExecOutcome>(i))) continue;
    notes.push_back({.kind = model::NoteKind::kChildExecNotRecorded, .numbers = {count, i}});
  }
  return notes;
}

std::optional<model::Note> unfollowed_note(const wire::LogHeader& log, bool outlive_it) {
  const uint32_t counted =
      log.execs_refused[static_cast<uint32_t>(ExecOutcome::kNotFollowed)].load(std::memory_order_relaxed);
  const uint32_t count = std::max(counted, outlive_it ? uint32_t{1} : uint32_t{0});
  if (count == 0) return std::nullopt;
  return model::Note{.kind = model::NoteKind::kChildrenNotFollowed, .numbers = {count}};
}

}  // namespace heaptap::stream
