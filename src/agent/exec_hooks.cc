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

// An environment with what the agent needs behind all else.
class Handover {
 public:
  // False: it is too large, or another collector's already. `may_map`: more memory than this has on the stack may be taken.
  bool fill(Texts environment, bool may_map) {
    const char* preloaded = "";
    count_ = 0;
    if (!make_room(environment, may_map)) return false;
    for (Texts entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
      if (value_of(*entry, wire::kSessionVariable) != nullptr) return false;
      if (const char* value = value_of(*entry, wire::kPreloadVariable)) {
        preloaded = value;
      } else {
        entries_[count_++] = *entry;
      }
    }
    return add_preload(preloaded) && add_own();
  }
  [[nodiscard]] char** entries() { return entries_; }
  [[nodiscard]] bool holds(const char* entry) const {
    return entry == preload_ || entry == session_ || entry == filters_;
  }
  void give_back() {
    if (mapped_ != 0) kernel::unmap(entries_, mapped_ * sizeof(char*));
    mapped_ = 0;
  }

 private:
  static constexpr size_t kFewEntries = 256;
  static constexpr size_t kMostDigits = 10;
  static constexpr size_t kMostPreloadBytes = 1024;

  bool make_room(Texts environment, bool may_map) {
    size_t needed = 4;  // the agent's three, and the end
    for (Texts entry = environment; entry != nullptr && *entry != nullptr; ++entry) ++needed;
    if (needed <= mapped_) return true;
    if (mapped_ == 0 && needed <= kFewEntries) {
      entries_ = few_;
      return true;
    }
    if (!may_map) return false;
    entries_ = static_cast<char**>(kernel::map_memory(needed * sizeof(char*)));
    mapped_ = entries_ != nullptr ? needed : 0;
    return entries_ != nullptr;
  }

  bool add_preload(const char* others) {
    if (length_of(others) + length_of(agent_path()) + sizeof(wire::kPreloadVariable) + 2 > sizeof(preload_))
      return false;
    char* end = append(append(append(preload_, wire::kPreloadVariable), "="), agent_path());
    if (*others != '\0') append(append(end, ":"), others);
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
  size_t mapped_ = 0;  // so many entries are in memory of their own
  char** entries_ = nullptr;
  char preload_[kMostPreloadBytes];
  char filters_[sizeof(wire::kFiltersVariable) + 1 + kMostDigits];
  char session_[sizeof(wire::kSessionVariable) + 1 + sizeof(g_session.socket_name)];
  char* few_[kFewEntries];
};

// Whether the file may get the agent.
__attribute__((noinline)) wire::ExecOutcome judge(const ExecCall& call) {
  constexpr int kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW, which no check of ours knows
  if (agent_path()[0] == '\0' || (call.flags & kNoFollow) != 0) return wire::ExecOutcome::kSurroundings;
  constexpr long kReads = 4;
  if (kernel::failed(kernel::system_call(__NR_faccessat, -100, reinterpret_cast<long>(agent_path()), kReads))) {
    return wire::ExecOutcome::kOutOfReach;
  }
  return check_exec({call.folder, call.file, call.is_searched()}, environ);
}

// With what the next program needs, in an environment of its own. What a borrower maps would stay with its parent.
__attribute__((noinline)) int hand_on(const ExecCall& call, Caller caller, bool by_itself) {
  Handover handover;
  const bool is_filled = handover.fill(call.environment, caller != Caller::kBorrower);
  note_outcome(by_itself, is_filled ? wire::ExecOutcome::kHandedOn : wire::ExecOutcome::kSurroundings);
  const int result = make(call, is_filled ? handover.entries() : call.environment);
  handover.give_back();
  return result;
}

int execute(const ExecCall& call) {
  const Caller caller = caller_of_exec();
  const bool is_followed = !call.is_spawn() || (g_session.flags & wire::kFollowFork) != 0;
  if (caller == Caller::kNobody || !is_followed || call.file == nullptr) return make(call, call.environment);
  const bool by_itself = caller == Caller::kItself && !call.is_spawn();
  const wire::ExecOutcome outcome = judge(call);
  int result = 0;
  if (outcome == wire::ExecOutcome::kHandedOn) {
    result = hand_on(call, caller, by_itself);
  } else {
    note_outcome(by_itself, outcome);
    result = make(call, call.environment);
  }
  if (by_itself) note_outcome(true, wire::ExecOutcome::kNone);  // it is still here
  return result;
}

// The arguments of execl and its kin as a list.
class ListedArguments {
 public:
  ListedArguments(const char* first, va_list rest) {
    va_list counted;
    va_copy(counted, rest);
    size_t count = 1;
    for (const char* next = first; next != nullptr; ++count) next = va_arg(counted, const char*);
    va_end(counted);
    if (count > kFewArguments) {
      bytes_ = count * sizeof(char*);
      texts_ = static_cast<char**>(kernel::map_memory(bytes_));
    }
    if (texts_ == nullptr) return;
    texts_[0] = const_cast<char*>(first);
    for (size_t i = 1; i < count; ++i) texts_[i] = const_cast<char*>(va_arg(rest, const char*));
  }
  ~ListedArguments() {
    if (bytes_ != 0 && texts_ != nullptr) kernel::unmap(texts_, bytes_);
  }
  ListedArguments(const ListedArguments&) = delete;
  ListedArguments& operator=(const ListedArguments&) = delete;

  [[nodiscard]] Texts texts() const { return texts_; }

 private:
  static constexpr size_t kFewArguments = 32;
  char* few_[kFewArguments];
  char** texts_ = few_;
  size_t bytes_ = 0;
};

// system and popen make their child inside libc, with the environment that the program has then: it is lent another one for
// that long. Nothing of it is ever given back, since other threads may be reading it.
class LentEnvironment {
 public:
  LentEnvironment() {
    const bool follows =
        &environ != nullptr && (g_session.flags & wire::kFollowFork) != 0 && caller_of_exec() == Caller::kItself;
    if (!follows || is_lent_.exchange(true, std::memory_order_acquire)) return;
    own_ = environ;
    Handover& lent = lent_environment();
    const wire::ExecOutcome outcome = judge({ExecCall::Way::kPath, "/bin/sh", nullptr, nullptr});
    const bool is_filled = outcome == wire::ExecOutcome::kHandedOn && lent.fill(own_, true);
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
      take_out();  // another thread changed it meanwhile, which made a copy
    }
    is_lent_.store(false, std::memory_order_release);
  }
  LentEnvironment(const LentEnvironment&) = delete;
  LentEnvironment& operator=(const LentEnvironment&) = delete;

 private:
  static void take_out() {
    char** to = environ;
    for (char** from = environ; from != nullptr && *from != nullptr; ++from) {
      if (!lent_environment().holds(*from)) *to++ = *from;
    }
    if (to != nullptr) *to = nullptr;
  }

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
  const ListedArguments arguments(first, rest);
  va_end(rest);
  return arguments.texts() != nullptr ? execute({Way::kPath, file, arguments.texts(), environ}) : -1;
}
HEAPTAP_EXPORT int execlp(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const ListedArguments arguments(first, rest);
  va_end(rest);
  return arguments.texts() != nullptr ? execute({Way::kSearched, file, arguments.texts(), environ}) : -1;
}
HEAPTAP_EXPORT int execle(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const ListedArguments arguments(first, rest);
  Texts const environment = arguments.texts() != nullptr ? va_arg(rest, Texts) : nullptr;
  va_end(rest);
  return arguments.texts() != nullptr ? execute({Way::kPath, file, arguments.texts(), environment}) : -1;
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
