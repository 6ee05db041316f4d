#include "agent/core/modules.h"

#include "agent/core/string.h"
#include "common/wire/late_rows.h"
#include "common/wire/omitted_objects.h"

namespace heaptap::agent {
namespace {

uint64_t identity_of(const ModuleFacts& facts) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto mix = [&](uint8_t byte) { hash = (hash ^ byte) * 1099511628211u; };
  for (const char* at = facts.path; *at != '\0'; ++at) mix(static_cast<uint8_t>(*at));
  for (uint32_t i = 0; i < facts.build_id_bytes; ++i) mix(facts.build_id[i]);
  return hash;
}

}  // namespace

bool Modules::is_interpreter(const ModuleFacts& facts, uint32_t generation) const {
  return interpreter_ != nullptr && facts.symbols != nullptr && interpreter_->look_at(facts, generation);
}

void Modules::start(wire::LogHeader* log, const wire::LogLayout& layout) {
  notes_ = {*log, layout};
  log_ = log;
  count_.store(0, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
  seen_changes_.store(UINT64_MAX, std::memory_order_relaxed);
}

void Modules::inherit(const wire::LogHeader& before, const wire::LogLayout& layout_before, wire::LogHeader* log,
                      const wire::LogLayout& layout) {
  notes_ = {*log, layout};
  log_ = log;
  busy_.store(0, std::memory_order_relaxed);
  (void)changed();  // the child's first look at the loader
  notes_.take_over(before, layout_before);
  for (uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    entries_[i].lacks_rows.store(false, std::memory_order_relaxed);  // the child's log isn't told yet
  }
}

const Module* Modules::find(uint64_t address) const {
  for (uint32_t i = count_.load(std::memory_order_acquire); i > 0; --i) {
    const Module& module = entries_[i - 1];
    if (address >= module.start && address < module.end && module.loaded.load(std::memory_order_acquire))
      return &module;
  }
  return nullptr;
}

bool Modules::note_at(uint64_t address) {
  if (busy_.exchange(1, std::memory_order_acquire) != 0) return false;
  const bool is_there = platform::visit_module_at(static_cast<uintptr_t>(address), &Modules::visit, this);
  busy_.store(0, std::memory_order_release);
  return is_there;
}

void Modules::begin_listing() {
  incomplete_ = false;
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) seen_[i] = Seen::kNo;
}

void Modules::visit(void* context, const ModuleFacts& facts) {
  auto* self = static_cast<Modules*>(context);
  if (facts.start == facts.end) {
    self->incomplete_ = true;
  } else {
    self->note(facts);
  }
}

bool Modules::ended_or_began(uint32_t index) {
  if (seen_[index] == Seen::kNew) return true;
  if (seen_[index] == Seen::kAgain) return false;
  return entries_[index].loaded.exchange(false, std::memory_order_acq_rel);
}

void Modules::note(const ModuleFacts& facts) {
  const uint64_t identity = identity_of(facts);
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    Module& known = entries_[i];
    if (known.start != facts.start || known.end != facts.end || known.identity != identity) continue;
    // Still loaded, or loaded again: then its addresses mean the same.
    seen_[i] = known.loaded.exchange(true, std::memory_order_acq_rel) ? Seen::kAgain : Seen::kNew;
    (void)is_interpreter(facts, known.generation);
    return;
  }
  if (count == kCapacity) {
    notes_.note_overflow();
    return;
  }
  Module& added = entries_[count];
  added.start = facts.start;
  added.end = facts.end;
  added.bias = facts.bias;
  added.entry = facts.entry;
  added.tables_start = facts.tables_start;
  added.tables_end = facts.tables_end;
  added.unwind_header = facts.unwind_header;
  added.unwind_header_bytes = facts.unwind_header_bytes;
  added.identity = identity;
  added.is_go = facts.is_go;
  // (Go's .debug_frame doesn't describe switches of stacks.)
  added.rows_key = facts.is_go ? 0 : wire::late_rows_key(facts.build_id, facts.build_id_bytes);
  added.lacks_rows.store(false, std::memory_order_relaxed);
  added.generation = wire::next_generation(entries_, count, facts.start, facts.end);
  added.omitted = wire::is_omitted(*log_, facts.path);
  added.loaded.store(true, std::memory_order_relaxed);
  seen_[count] = Seen::kNew;
  write_note(added, facts);
  count_.store(count + 1, std::memory_order_release);  // pairs with the acquire in find()
}

void Modules::write_note(const Module& module, const ModuleFacts& facts) {
  wire::ModuleNote note{};
  note.bias = module.bias;
  note.start = module.start;
  note.end = module.end;
  note.generation = module.generation;
  note.flags =
      static_cast<uint8_t>((facts.is_main ? wire::kModuleIsMain : 0) | (facts.is_vdso ? wire::kModuleIsVdso : 0) |
                           (facts.unwind_header == 0 ? wire::kModuleHasNoCfi : 0) |
                           (is_interpreter(facts, module.generation) ? wire::kModuleIsInterpreter : 0));
  wire::set_build_id(note, facts.build_id, facts.build_id_bytes);
  notes_.add(note, facts.path, length_of(facts.path));
}

}  // namespace heaptap::agent
