// The preloaded library's exports through which it goes on in a program that this one executes, or that its children execute.
// The program's environment has nothing of the agent (door_preload.cc); what the next program needs is added on the way there,
// in copies that only the call sees. Where the agent may not be handed on, the call is what it is without the agent.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/call_permission.h"
#include "agent/door_preload.h"
#include "agent/exec_check.h"
#include "agent/kernel.h"
#include "agent/real_functions.h"
#include "agent/session.h"
#include "agent/words.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))

extern "C" __attribute__((weak)) char** environ;

namespace heaptap::agent {
namespace {

using Texts = char* const*;

using Exec = int(const char*, Texts, Texts);
using Spawn = int(int*, const char*, const void*, const void*, Texts, Texts);

// One call of exec or posix_spawn, whichever form it has.
struct ExecCall {
  enum class Way : uint8_t { kPath, kSearched, kDescriptor, kAt, kSpawn, kSpawnSearched };
  Way way;
  const char* file;
  Texts arguments;
  Texts environment;
  int folder = -100;  // AT_FDCWD
  int flags = 0;
  int* child = nullptr;
  const void* actions = nullptr;
  const void* attributes = nullptr;

  [[nodiscard]] bool is_spawn() const { return way == Way::kSpawn || way == Way::kSpawnSearched; }
  [[nodiscard]] bool is_searched() const { return way == Way::kSearched || way == Way::kSpawnSearched; }
};

int make_exec(const ExecCall& call, Texts environment) {
  using Way = ExecCall::Way;
  if (call.way == Way::kDescriptor) {
    auto* const exec = real<int(int, Texts, Texts)>(Other::kExecDescriptor);
    return exec != nullptr ? exec(call.folder, call.arguments, environment) : -1;
  }
  if (call.way == Way::kAt) {
    auto* const exec = real<int(int, const char*, Texts, Texts, int)>(Other::kExecAt);
    return exec != nullptr ? exec(call.folder, call.file, call.arguments, environment, call.flags) : -1;
  }
  auto* const exec = real<Exec>(call.is_searched() ? Other::kExecSearched : Other::kExec);
  return exec != nullptr ? exec(call.file, call.arguments, environment) : -1;
}

int make(const ExecCall& call, Texts environment) {
  if (!call.is_spawn()) return make_exec(call, environment);
  constexpr int kNoSuchFunction = 38;  // ENOSYS
  auto* const spawn = real<Spawn>(call.is_searched() ? Other::kSpawnSearched : Other::kSpawn);
  if (spawn == nullptr) return kNoSuchFunction;
  return spawn(call.child, call.file, call.actions, call.attributes, call.arguments, environment);
}

// Whose call it is.
enum class Caller : uint8_t {
  kNobody,    // not to be followed
  kItself,    // the recorded process
  kChild,     // a forked child of it that is followed
  kBorrower,  // one that has its parent's memory still (vfork)
};

// Asks the kernel for nothing in a child that isn't followed, nor behind a filter of system calls.
Caller caller_of_exec() {
  const uint32_t flags = g_session.flags;
  if ((flags & wire::kFollowExec) == 0 || g_session.log == nullptr || !may_call()) return Caller::kNobody;
  const bool follows_fork = (flags & wire::kFollowFork) != 0;
  const SessionState state = g_session_page.state.load(std::memory_order_acquire);
  if (state == SessionState::kUnknown) return follows_fork ? Caller::kChild : Caller::kNobody;
  if (state != SessionState::kRecording) return Caller::kNobody;
  if (kernel::process_id() == g_session.process) return Caller::kItself;
  return follows_fork ? Caller::kBorrower : Caller::kNobody;
}

// What the collector is told of it.
void note_outcome(bool by_itself, wire::ExecOutcome outcome) {
  wire::LogHeader& log = *g_session.log;
  const auto number = static_cast<uint32_t>(outcome);
  if (by_itself) {
    log.last_exec.store(number, std::memory_order_release);
  } else if (outcome != wire::ExecOutcome::kHandedOn) {
    log.execs_refused[number].fetch_add(1, std::memory_order_relaxed);
  }
}

// Nothing was executed.
void take_outcome_back(bool by_itself, wire::ExecOutcome outcome) {
  wire::LogHeader& log = *g_session.log;
  if (by_itself) {
    log.last_exec.store(static_cast<uint32_t>(wire::ExecOutcome::kNone), std::memory_order_release);
  } else if (outcome != wire::ExecOutcome::kHandedOn) {
    log.execs_refused[static_cast<uint32_t>(outcome)].fetch_sub(1, std::memory_order_relaxed);
  }
}

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

// An environment with what the agent needs behind all else.
class Handover {
 public:
  // Where one that is large is put together.
  enum class Memory : uint8_t {
    kStack,  // nowhere: what a borrower maps would stay with its parent
    kBrief,  // in memory that is gone with the call, and that nobody is told of: the log may be the parent's
    kKept,   // in memory that stays
  };

  // False: it is too large, can't be read, or is another collector's already. It may change meanwhile.
  bool fill(Texts environment, Memory memory) {
    count_ = 0;
    text_bytes_ = 0;
    preload_of_program_ = nullptr;
    if (!make_room(environment, memory)) return false;
    ReadablePages arrays;
    ReadablePages texts;
    for (Texts entry = environment; entry != nullptr; ++entry) {
      if (!arrays.has(entry)) return false;
      char* const text = *entry;
      if (text == nullptr) break;
      if (!texts.has_text(text, text_bytes_) || value_of(text, wire::kSessionVariable) != nullptr) return false;
      if (value_of(text, wire::kPreloadVariable) != nullptr) {
        preload_of_program_ = text;
      } else if (count_ + kOwnEntries < room_) {
        entries_[count_++] = text;
      } else {
        return false;
      }
    }
    return add_preload() && add_own();
  }
  [[nodiscard]] char** entries() { return entries_; }
  [[nodiscard]] size_t text_bytes() const { return text_bytes_; }
  // The program's own in place of the agent's, in an array that was copied from this one.
  void take_out_of(char** array) const {
    char** to = array;
    for (char** from = array; from != nullptr && *from != nullptr; ++from) {
      if (*from == preload_ && preload_of_program_ != nullptr) {
        *to++ = preload_of_program_;
      } else if (*from != preload_ && *from != session_ && *from != filters_) {
        *to++ = *from;
      }
    }
    if (to != nullptr) *to = nullptr;
  }
  void give_back() {
    if (is_brief_) kernel::system_call(__NR_munmap, reinterpret_cast<long>(entries_), bytes_of(room_));
    is_brief_ = false;
  }

 private:
  static constexpr size_t kFewEntries = 256;
  static constexpr size_t kOwnEntries = 4;  // the agent's three, and the end
  static constexpr size_t kMostDigits = 10;
  static constexpr size_t kMostPreloadBytes = 1024;

  static long bytes_of(size_t entries) { return static_cast<long>(entries * sizeof(char*)); }

  bool make_room(Texts environment, Memory memory) {
    ReadablePages arrays;
    size_t needed = kOwnEntries;
    for (Texts entry = environment; entry != nullptr; ++entry, ++needed) {
      if (!arrays.has(entry)) return false;
      if (*entry == nullptr) break;
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
  static void* map_briefly(size_t entries) {
    const long mapped = kernel::system_call(__NR_mmap, 0, bytes_of(entries), kernel::kReadWrite,
                                            0x02 | 0x20 /* PRIVATE | ANONYMOUS */, -1, 0);
    return kernel::failed(mapped) ? nullptr : reinterpret_cast<void*>(mapped);
  }

  bool add_preload() {
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
  bool add_own() {
    append(append(append(session_, wire::kSessionVariable), "="), g_session.socket_name);
    entries_[count_++] = session_;
    if (g_session.collectors_filters != 0) {
      append_number(append(append(filters_, wire::kFiltersVariable), "="), g_session.collectors_filters);
      entries_[count_++] = filters_;
    }
    entries_[count_] = nullptr;
    return true;
  }
  static void append_number(char* to, uint32_t number) {
    char digits[kMostDigits];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) *to++ = digits[--count];
    *to = '\0';
  }
  static char* append(char* to, const char* text) {
    const size_t length = length_of(text);
    copy_bytes(to, text, length + 1);
    return to + length;
  }

  size_t count_ = 0;
  size_t room_ = 0;  // so many entries fit
  size_t text_bytes_ = 0;
  char** entries_ = nullptr;
  char* preload_of_program_ = nullptr;
  bool is_brief_ = false;
  char preload_[kMostPreloadBytes];
  char filters_[sizeof(wire::kFiltersVariable) + 1 + kMostDigits];
  char session_[sizeof(wire::kSessionVariable) + 1 + sizeof(g_session.socket_name)];
  char* few_[kFewEntries];
};

// A spawned child changes these before it executes the file.
bool changes_rights(const ExecCall& call) {
  constexpr short kResetIds = 1;  // POSIX_SPAWN_RESETIDS, in the first field of the attributes
  return call.is_spawn() && call.attributes != nullptr &&
         (*static_cast<const short*>(call.attributes) & kResetIds) != 0;
}

// Whether the file may get the agent.
__attribute__((noinline)) wire::ExecOutcome judge(const ExecCall& call) {
  constexpr int kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW, which no check of ours knows
  if (agent_path()[0] == '\0' || (call.flags & kNoFollow) != 0 || changes_rights(call)) {
    return wire::ExecOutcome::kSurroundings;
  }
  ReadablePages pages;
  size_t bytes = 0;
  if (!pages.has_text(call.file, bytes)) return wire::ExecOutcome::kUnreadable;
  constexpr long kReads = 4;
  if (kernel::failed(kernel::system_call(__NR_faccessat, -100, reinterpret_cast<long>(agent_path()), kReads))) {
    return wire::ExecOutcome::kOutOfReach;
  }
  return check_exec({call.folder, call.file, call.is_searched(), call.actions != nullptr}, environ);
}

// The call with the program's own environment.
int make_unfollowed(const ExecCall& call, bool by_itself, wire::ExecOutcome outcome) {
  note_outcome(by_itself, outcome);
  const int result = make(call, call.environment);
  if (result != 0) take_outcome_back(by_itself, outcome);
  return result;
}

// Another result might be due to what was added.
bool may_be_too_large(const ExecCall& call, int result) {
  constexpr int kTooLarge = 7;  // E2BIG
  return call.is_spawn() ? result == kTooLarge : result != 0;
}

// With what the next program needs, in an environment of its own.
__attribute__((noinline)) int hand_on(const ExecCall& call, Caller caller, bool by_itself) {
  using Memory = Handover::Memory;
  Handover handover;
  bool is_filled = handover.fill(call.environment, caller == Caller::kBorrower ? Memory::kStack : Memory::kBrief);
  int result = 0;
  if (is_filled) {
    note_outcome(by_itself, wire::ExecOutcome::kHandedOn);
    result = make(call, handover.entries());
    if (result != 0) take_outcome_back(by_itself, wire::ExecOutcome::kHandedOn);
    is_filled = !may_be_too_large(call, result);
  }
  handover.give_back();
  return is_filled ? result : make_unfollowed(call, by_itself, wire::ExecOutcome::kSurroundings);
}

int execute(const ExecCall& call) {
  const Caller caller = caller_of_exec();
  const bool is_followed = !call.is_spawn() || (g_session.flags & wire::kFollowFork) != 0;
  if (caller == Caller::kNobody || !is_followed || call.file == nullptr) return make(call, call.environment);
  const bool by_itself = caller == Caller::kItself && !call.is_spawn();
  const wire::ExecOutcome outcome = judge(call);
  return outcome == wire::ExecOutcome::kHandedOn ? hand_on(call, caller, by_itself)
                                                 : make_unfollowed(call, by_itself, outcome);
}

// execl and its kin, with their arguments in a list on the stack, as the C library has it.
__attribute__((noinline)) int execute_listed(ExecCall call, bool names_environment, const char* first, va_list rest) {
  va_list counted;
  va_copy(counted, rest);
  size_t count = 1;
  for (const char* next = first; next != nullptr; ++count) next = va_arg(counted, const char*);
  va_end(counted);
  auto** const texts = static_cast<char**>(__builtin_alloca(count * sizeof(char*)));
  texts[0] = const_cast<char*>(first);
  for (size_t i = 1; i < count; ++i) texts[i] = const_cast<char*>(va_arg(rest, const char*));
  call.arguments = texts;
  if (names_environment) call.environment = va_arg(rest, Texts);
  return execute(call);
}

// system and popen make their child inside libc, with the environment that the program has then: it is lent another one for
// that long. Only where no other thread could see or change it, or be lost to it by a fork; a signal's handler could.
class LentEnvironment {
 public:
  LentEnvironment() {
    const bool follows =
        &environ != nullptr && (g_session.flags & wire::kFollowFork) != 0 && caller_of_exec() == Caller::kItself;
    if (!follows || is_lent_.exchange(true, std::memory_order_acquire)) return;
    own_ = environ;
    Handover& lent = lent_environment();
    const wire::ExecOutcome outcome = has_one_thread() ? judge({ExecCall::Way::kPath, "/bin/sh", nullptr, nullptr})
                                                       : wire::ExecOutcome::kSurroundings;
    const bool is_filled = outcome == wire::ExecOutcome::kHandedOn && lent.fill(own_, Handover::Memory::kKept) &&
                           lent.text_bytes() <= kMostBytes;
    if (is_filled) {
      environ = lent.entries();
    } else {
      note_outcome(false, outcome == wire::ExecOutcome::kHandedOn ? wire::ExecOutcome::kSurroundings : outcome);
      is_lent_.store(false, std::memory_order_release);
    }
    is_mine_ = is_filled;
  }
  ~LentEnvironment() {
    if (!is_mine_) return;
    if (environ == lent_environment().entries()) {
      environ = own_;
    } else {
      lent_environment().take_out_of(environ);  // a handler changed it meanwhile, which made a copy
    }
    is_lent_.store(false, std::memory_order_release);
  }
  LentEnvironment(const LentEnvironment&) = delete;
  LentEnvironment& operator=(const LentEnvironment&) = delete;

 private:
  // Far from what would be too large for the kernel: nobody could make the call again.
  static constexpr size_t kMostBytes = 64 << 10;

  static inline constinit std::atomic<bool> is_lent_{false};
  // One for all, made of zeros: without a constructor.
  static Handover& lent_environment() { return *reinterpret_cast<Handover*>(storage_); }

  alignas(Handover) static inline constinit uint8_t storage_[sizeof(Handover)]{};
  char** own_ = nullptr;
  bool is_mine_ = false;
};

}  // namespace

}  // namespace heaptap::agent

using namespace heaptap::agent;
using Way = ExecCall::Way;

HEAPTAP_EXPORT int execve(const char* file, Texts arguments, Texts environment) {
  return execute({Way::kPath, file, arguments, environment});
}
HEAPTAP_EXPORT int execv(const char* file, Texts arguments) { return execute({Way::kPath, file, arguments, environ}); }
HEAPTAP_EXPORT int execvp(const char* file, Texts arguments) {
  return execute({Way::kSearched, file, arguments, environ});
}
HEAPTAP_EXPORT int execvpe(const char* file, Texts arguments, Texts environment) {
  return execute({Way::kSearched, file, arguments, environment});
}
HEAPTAP_EXPORT int fexecve(int descriptor, Texts arguments, Texts environment) {
  return execute(
      {.way = Way::kDescriptor, .file = "", .arguments = arguments, .environment = environment, .folder = descriptor});
}
HEAPTAP_EXPORT int execveat(int folder, const char* file, Texts arguments, Texts environment, int flags) {
  return execute({.way = Way::kAt,
                  .file = file,
                  .arguments = arguments,
                  .environment = environment,
                  .folder = folder,
                  .flags = flags});
}
HEAPTAP_EXPORT int execl(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const int result = execute_listed({Way::kPath, file, nullptr, environ}, false, first, rest);
  va_end(rest);
  return result;
}
HEAPTAP_EXPORT int execlp(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const int result = execute_listed({Way::kSearched, file, nullptr, environ}, false, first, rest);
  va_end(rest);
  return result;
}
HEAPTAP_EXPORT int execle(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const int result = execute_listed({Way::kPath, file, nullptr, nullptr}, true, first, rest);
  va_end(rest);
  return result;
}
HEAPTAP_EXPORT int posix_spawn(int* child, const char* file, const void* actions, const void* attributes,
                               Texts arguments, Texts environment) {
  return execute({.way = Way::kSpawn,
                  .file = file,
                  .arguments = arguments,
                  .environment = environment,
                  .child = child,
                  .actions = actions,
                  .attributes = attributes});
}
HEAPTAP_EXPORT int posix_spawnp(int* child, const char* file, const void* actions, const void* attributes,
                                Texts arguments, Texts environment) {
  return execute({.way = Way::kSpawnSearched,
                  .file = file,
                  .arguments = arguments,
                  .environment = environment,
                  .child = child,
                  .actions = actions,
                  .attributes = attributes});
}
HEAPTAP_EXPORT int system(const char* command) {
  const LentEnvironment lent;
  auto* const call = real<int(const char*)>(Other::kSystem);
  return call != nullptr ? call(command) : -1;
}
// As popen: under another name here, since headers may declare that with its FILE.
HEAPTAP_EXPORT void* open_pipe(const char* command, const char* mode) __asm__("popen");
void* open_pipe(const char* command, const char* mode) {
  const LentEnvironment lent;
  auto* const call = real<void*(const char*, const char*)>(Other::kPopen);
  return call != nullptr ? call(command, mode) : nullptr;
}
