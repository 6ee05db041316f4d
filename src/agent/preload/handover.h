// The environment that a program is executed with: what the program gave, and what the agent needs there.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/kernel.h"
#include "agent/core/session.h"
#include "agent/preload/log_request.h"
#include "wire/handshake.h"

namespace heaptap::agent {

using Texts = char* const*;

// What the program gave may be no memory at all: the kernel says so to the program, when it gets it. Each page is asked for
// once in a row.
class ReadablePages {
 public:
  bool has(const void* address) {
    constexpr uintptr_t kPageBytes = 4096;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at / kPageBytes == page_) return true;
    if (!kernel::is_readable(at & ~uintptr_t{7})) return false;
    page_ = at / kPageBytes;
    return true;
  }
  // It may lie on two pages.
  bool has_entry(Texts entry) {
    const auto* const first = reinterpret_cast<const char*>(entry);
    return has(first) && has(first + sizeof(*entry) - 1);
  }
  // Adds up its bytes, too.
  bool has_text(const char* text, size_t& bytes) {
    for (;; ++text, ++bytes) {
      if (!has(text)) return false;
      if (*text == '\0') return true;
    }
  }

 private:
  uintptr_t page_ = UINTPTR_MAX;  // none
};

// A copy of an environment, with what the agent needs behind all else, or without it. Of its texts only the agent's are its own.
class Handover {
 public:
  // Where one that is large is put together.
  enum class Memory : uint8_t {
    kStack,  // nowhere: what a borrower maps would stay with its parent
    kBrief,  // in memory that is gone with the call, and that nobody is told of: the log may be the parent's
    kKept,   // in memory that stays
  };

  // What `lent` added, if it isn't null, is taken for what the program had in its place. False: the environment is too large,
  // can't be read, or is another collector's already. It may change meanwhile.
  bool fill(Texts environment, Memory memory, const Handover* lent);
  // The program's own, without anything of the agent's. False: it is too large, or can't be read.
  bool fill_without(const Handover& lent, Texts environment, Memory memory);
  [[nodiscard]] char** entries() { return entries_; }
  [[nodiscard]] size_t text_bytes() const { return text_bytes_; }
  // The program's own in place of the agent's, in an array that was copied from this one.
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
  // What the program had in place of this entry; null: nothing.
  [[nodiscard]] char* programs_own(char* entry) const;

  size_t count_ = 0;
  size_t room_ = 0;  // so many entries fit
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
