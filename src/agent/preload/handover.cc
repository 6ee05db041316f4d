#include "agent/preload/handover.h"

#include "agent/core/string.h"
#include "agent/preload/log_request.h"
#include "agent/preload/preload.h"

namespace heaptap::agent {
namespace {

long bytes_of_entries(size_t entries) { return static_cast<long>(entries * sizeof(char*)); }

void* map_briefly(size_t entries) {
  const long mapped = kernel::system_call(arch::native::kMapCall, 0, bytes_of_entries(entries), kernel::kReadWrite,
                                          0x02 | 0x20 /* PRIVATE | ANONYMOUS */, -1, 0);
  return kernel::failed(mapped) ? nullptr : reinterpret_cast<void*>(mapped);
}

// The entry at this place, which need not be a multiple of its size. Null: the end.
char* load_entry(Texts entry) {
  char* text;
  copy_bytes(static_cast<void*>(&text), static_cast<const void*>(entry), sizeof(text));
  return text;
}

}  // namespace

bool Handover::make_room(Texts environment, Memory memory) {
  ReadablePages arrays;
  size_t needed = kOwnEntries;
  for (Texts entry = environment; entry != nullptr; ++entry, ++needed) {
    if (!arrays.has_entry(entry)) return false;
    if (load_entry(entry) == nullptr) break;
  }
  if (needed <= room_) return true;
  if (needed <= kFewEntries) {
    entries_ = few_;
    room_ = kFewEntries;
    return true;
  }
  if (memory == Memory::kStack) return false;
  void* const mapped = memory == Memory::kKept ? kernel::map_memory(needed * sizeof(char*)) : map_briefly(needed);
  if (mapped == nullptr) return false;
  entries_ = static_cast<char**>(mapped);
  room_ = needed;
  is_brief_ = memory == Memory::kBrief;
  return true;
}

bool Handover::fill(Texts environment, Memory memory, const Handover* lent) {
  count_ = 0;
  text_bytes_ = 0;
  preload_of_program_ = nullptr;
  if (!make_room(environment, memory)) return false;
  ReadablePages arrays;
  ReadablePages texts;
  for (Texts entry = environment; entry != nullptr; ++entry) {
    if (!arrays.has_entry(entry)) return false;
    char* text = load_entry(entry);
    if (text == nullptr) break;
    if (lent != nullptr) text = lent->programs_own(text);
    if (text == nullptr) continue;
    if (!texts.has_text(text, text_bytes_) || value_of(text, wire::kSessionVariable) != nullptr) return false;
    if (value_of(text, wire::kPreloadVariable) != nullptr) {
      preload_of_program_ = text;
    } else if (count_ + kOwnEntries < room_) {
      entries_[count_++] = text;
    } else {
      return false;
    }
  }
  if (!add_preload()) return false;
  add_own();
  return true;
}

bool Handover::fill_without(const Handover& lent, Texts environment, Memory memory) {
  count_ = 0;
  if (!make_room(environment, memory)) return false;
  ReadablePages arrays;
  for (Texts entry = environment; entry != nullptr; ++entry) {
    if (!arrays.has_entry(entry)) return false;
    char* const text = load_entry(entry);
    if (text == nullptr) break;
    if (count_ + 1 >= room_) return false;
    char* const own = lent.programs_own(text);
    if (own != nullptr) entries_[count_++] = own;
  }
  entries_[count_] = nullptr;
  return true;
}

char* Handover::programs_own(char* entry) const {
  if (entry == preload_) return preload_of_program_;
  return entry == session_ || entry == filters_ ? nullptr : entry;
}

void Handover::take_out_of(char** array) const {
  if (array == nullptr) return;
  char** to = array;
  for (char** from = array; *from != nullptr; ++from) {
    char* const own = programs_own(*from);
    if (own == nullptr) continue;
    if (*to != own) *to = own;  // it may be constant where nothing is to be changed
    ++to;
  }
  if (*to != nullptr) *to = nullptr;
}

void Handover::give_back() {
  if (is_brief_) kernel::system_call(__NR_munmap, reinterpret_cast<long>(entries_), bytes_of_entries(room_));
  is_brief_ = false;
}

bool Handover::add_preload() {
  const char* const others =
      preload_of_program_ != nullptr ? value_of(preload_of_program_, wire::kPreloadVariable) : nullptr;
  const size_t bytes = others != nullptr ? length_of(others) : 0;
  if (bytes + length_of(agent_path()) + sizeof(wire::kPreloadVariable) + 2 > sizeof(preload_)) return false;
  char* end = append(append(append(preload_, wire::kPreloadVariable), "="), agent_path());
  if (bytes != 0) {
    end = append(end, ":");
    copy_bytes(end, others, bytes);
    end[bytes] = '\0';
  }
  entries_[count_++] = preload_;
  return true;
}

void Handover::add_own() {
  append(append(append(session_, wire::kSessionVariable), "="), g_log_request.socket_name);
  entries_[count_++] = session_;
  if (g_log_request.filters != 0) {
    append_number(append(append(filters_, wire::kFiltersVariable), "="), g_log_request.filters);
    entries_[count_++] = filters_;
  }
  entries_[count_] = nullptr;
}

}  // namespace heaptap::agent
