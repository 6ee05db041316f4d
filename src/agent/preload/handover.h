// Environment passed to an executed program: what the program gave, plus the agent's variables.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/kernel.h"
#include "agent/core/pages.h"
#include "agent/core/session.h"
#include "agent/preload/log_request.h"
#include "common/wire/handshake.h"

namespace heaptap::agent {

using Texts = char* const*;

// Readability check for the program's arguments: they may be no valid memory, and then the kernel must report that to
// the program. Checks each page once in a row.
class ReadablePages {
 public:
  bool has(const void* address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at / page_bytes() == page_) return true;
    if (!kernel::is_readable(at & ~uintptr_t{7})) return false;
    page_ = at / page_bytes();
    return true;
  }
  // An entry may lie on two pages.
  bool has_entry(Texts entry) {
    const auto* const first = reinterpret_cast<const char*>(entry);
    return has(first) && has(first + sizeof(*entry) - 1);
  }
  // Also adds the length of the text to `bytes`.
  bool has_text(const char* text, size_t& bytes) {
    for (;; ++text, ++bytes) {
      if (!has(text)) return false;
      if (*text == '\0') return true;
    }
  }

 private:
  uintptr_t page_ = UINTPTR_MAX;  // none
};

// Copy of an environment, with the agent's entries at the end, or without them. Owns only the agent's texts.
class Handover {
 public:
  // Where a large environment is assembled.
  enum class Memory : uint8_t {
    kStack,  // not at all: memory mapped by a vfork child would stay with its parent
    kBrief,  // in memory that is unmapped after the call and isn't reported: the log may be the parent's
    kKept,   // in memory that stays
  };

  // Entries that `lent`, if it isn't null, added are replaced by what the program had in their place. False: the
  // environment is too large, unreadable, or belongs to another collector already. It may change during the call.
  bool fill(Texts environment, Memory memory, const Handover* lent);
  // The program's own environment, without the agent's entries. False: it is too large or unreadable.
  bool fill_without(const Handover& lent, Texts environment, Memory memory);
  [[nodiscard]] char** entries() { return entries_; }
  [[nodiscard]] size_t text_bytes() const { return text_bytes_; }
  // Restores the program's entries in an array that was copied from this one.
  void take_out_of(char** array) const;
  void give_back();

 private:
  static constexpr size_t kFewEntries = 256;
  static constexpr size_t kOwnEntries = 4;  // the agent's three, and the end
  static constexpr size_t kMaxDigits = 10;
  static constexpr size_t kMaxPreloadBytes = 1024;

  bool make_room(Texts environment, Memory memory);
  bool add_preload();
  void add_own();
  // The program's entry that this one replaced; null: none.
  [[nodiscard]] char* programs_own(char* entry) const;

  size_t count_ = 0;
  size_t room_ = 0;  // number of entries that fit
  size_t text_bytes_ = 0;
  char** entries_ = nullptr;
  char* preload_of_program_ = nullptr;
  bool is_brief_ = false;
  char preload_[kMaxPreloadBytes];
  char filters_[sizeof(wire::kFiltersVariable) + 1 + kMaxDigits];
  char session_[sizeof(wire::kSessionVariable) + 1 + sizeof(g_log_request.socket_name)];
  char* few_[kFewEntries];
};

}  // namespace heaptap::agent
