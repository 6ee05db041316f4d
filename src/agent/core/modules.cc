#include "agent/core/modules.h"

#include "agent/core/string.h"

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

void Modules::note_into(wire::LogHeader* log, const wire::LogLayout& layout) {
  log_ = log;
  notes_ = reinterpret_cast<uint8_t*>(log) + layout.modules_offset;
  notes_capacity_ = layout.modules_capacity;
}

void Modules::start(wire::LogHeader* log, const wire::LogLayout& layout) {
  note_into(log, layout);
  count_.store(0, std::memory_order_relaxed);
  busy_.store(0, std::memory_order_relaxed);
  seen_changes_.store(UINT64_MAX, std::memory_order_relaxed);
}

void Modules::inherit(const wire::LogHeader& before, const wire::LogLayout& layout_before, wire::LogHeader* log,
                      const wire::LogLayout& layout) {
  note_into(log, layout);
  busy_.store(0, std::memory_order_relaxed);
  (void)changed();  // the child's first look at the loader
  uint32_t bytes = before.modules_bytes.load(std::memory_order_acquire);
  if (bytes > layout_before.modules_capacity || bytes > notes_capacity_) bytes = 0;
  copy_bytes(notes_, reinterpret_cast<const uint8_t*>(&before) + layout_before.modules_offset, bytes);
  log->modules_bytes.store(bytes, std::memory_order_release);
}

const Module* Modules::find(uint64_t address) const {
  for (uint32_t i = count_.load(std::memory_order_acquire); i > 0; --i) {
    const Module& module = entries_[i - 1];
    if (address >= module.start && address < module.end && module.loaded.load(std::memory_order_acquire))
      return &module;
  }
  return nullptr;
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
    // Still there, or there again: then its addresses mean what they meant.
    seen_[i] = known.loaded.exchange(true, std::memory_order_acq_rel) ? Seen::kAgain : Seen::kNew;
    return;
  }
  if (count == kCapacity) {
    log_->module_overflow.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Module& added = entries_[count];
  added.start = facts.start;
  added.end = facts.end;
  added.bias = facts.bias;
  added.entry = facts.entry;
  added.tables = {facts.tables_start, facts.tables_end, reinterpret_cast<const uint8_t*>(facts.tables_start),
                  facts.unwind_header};
  added.identity = identity;
  added.generation = next_generation(facts);
  added.omitted = is_omitted(facts);
  added.loaded.store(true, std::memory_order_relaxed);
  seen_[count] = Seen::kNew;
  write_note(added, facts);
  count_.store(count + 1, std::memory_order_release);  // pairs with the acquire in find()
}

void Modules::write_note(const Module& module, const ModuleFacts& facts) {
  size_t path_bytes = length_of(facts.path);
  if (path_bytes > 4095) path_bytes = 4095;
  const uint32_t at = log_->modules_bytes.load(std::memory_order_relaxed);
  const size_t bytes = (sizeof(wire::ModuleNote) + path_bytes + 7) & ~size_t{7};
  if (at + bytes > notes_capacity_) {
    log_->module_overflow.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  uint8_t* const to = notes_ + at;
  wire::ModuleNote note{};
  note.bias = module.bias;
  note.start = module.start;
  note.end = module.end;
  note.generation = module.generation;
  note.path_bytes = static_cast<uint16_t>(path_bytes);
  note.flags =
      static_cast<uint8_t>((facts.is_main ? wire::kModuleIsMain : 0) | (facts.is_vdso ? wire::kModuleIsVdso : 0) |
                           (facts.unwind_header == 0 ? wire::kModuleHasNoCfi : 0));
  note.build_id_bytes = static_cast<uint8_t>(facts.build_id_bytes < 32 ? facts.build_id_bytes : 32);
  copy_bytes(note.build_id, facts.build_id, note.build_id_bytes);
  copy_bytes(to, &note, sizeof(note));
  copy_bytes(to + sizeof(note), facts.path, path_bytes);
  log_->modules_bytes.store(at + static_cast<uint32_t>(bytes), std::memory_order_release);  // pairs with the collector
}

uint32_t Modules::next_generation(const ModuleFacts& facts) const {
  uint32_t generation = 0;
  const uint32_t count = count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    const Module& other = entries_[i];
    if (facts.start < other.end && other.start < facts.end && other.generation >= generation) {
      generation = other.generation + 1;
    }
  }
  return generation & 0x7fff;
}

bool Modules::is_omitted(const ModuleFacts& facts) const {
  const char* name = file_name_of(facts.path);
  const char* at = log_->omitted_objects;
  const char* const end = at + sizeof(log_->omitted_objects) - 1;
  while (at < end && *at != '\0') {
    size_t length = 0;
    while (at + length < end && at[length] != '\n' && at[length] != '\0') ++length;
    // A name means the object's file name or the start of it up to a dot ("libfoo" is libfoo.so.1); a path, the path.
    bool same_name = true;
    bool same_path = true;
    for (size_t i = 0; i < length; ++i) {
      if (same_name && name[i] != at[i]) same_name = false;
      if (same_path && facts.path[i] != at[i]) same_path = false;
      if (!same_name && !same_path) break;
    }
    if (length > 0 && same_name && (name[length] == '\0' || name[length] == '.')) return true;
    if (length > 0 && same_path && facts.path[length] == '\0') return true;
    at += length;
    if (*at == '\n') ++at;
  }
  return false;
}

}  // namespace heaptap::agent
