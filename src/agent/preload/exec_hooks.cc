// Exec hooks: exports through which the agent continues in a program that this process or its children execute. The
// program's own environment has nothing of the agent (platform.cc); the variables are added during the call, in copies
// that only the call sees. Where the agent may not be handed on, the call is unchanged.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/call_permission.h"
#include "agent/core/kernel.h"
#include "agent/core/report_signal.h"
#include "agent/core/session.h"
#include "agent/core/string.h"
#include "agent/preload/exec_check.h"
#include "agent/preload/handover.h"
#include "agent/preload/line.h"
#include "agent/preload/preload.h"
#include "agent/preload/real_functions.h"
#include "agent/preload/spawn_actions.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))

extern "C" __attribute__((weak)) char** environ;

namespace heaptap::agent {
namespace {

using Exec = int(const char*, Texts, Texts);
using Spawn = int(int*, const char*, const void*, const void*, Texts, Texts);

// One call of exec or posix_spawn, of any form.
struct ExecCall {
  enum class Way : uint8_t { kPath, kSearched, kDescriptor, kAt, kSpawn, kSpawnSearched };
  Way way;
  const char* file;
  Texts arguments;
  Texts environment;
  int directory = -100;  // AT_FDCWD
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
    return exec != nullptr ? exec(call.directory, call.arguments, environment) : -1;
  }
  if (call.way == Way::kAt) {
    auto* const exec = real<int(int, const char*, Texts, Texts, int)>(Other::kExecAt);
    return exec != nullptr ? exec(call.directory, call.file, call.arguments, environment, call.flags) : -1;
  }
  auto* const exec = real<Exec>(call.is_searched() ? Other::kExecSearched : Other::kExec);
  return exec != nullptr ? exec(call.file, call.arguments, environment) : -1;
}

int make(const ExecCall& call, Texts environment) {
  const report_signal::IgnoredForExec ignored;
  if (!call.is_spawn()) return make_exec(call, environment);
  constexpr int kNoSuchFunction = 38;  // ENOSYS
  auto* const spawn = real<Spawn>(call.is_searched() ? Other::kSpawnSearched : Other::kSpawn);
  if (spawn == nullptr) return kNoSuchFunction;
  return spawn(call.child, call.file, call.actions, call.attributes, call.arguments, environment);
}

// The caller's relation to the recorded process.
enum class Caller : uint8_t {
  kNobody,      // not to be followed
  kUnfollowed,  // creates a child that isn't recorded, or one without any event so far
  kItself,      // the recorded process
  kChild,       // a forked child of it that is recorded
  kBorrower,    // a child that still shares its parent's memory (vfork)
};

// Makes no system call in a child that isn't recorded, nor under a filter of system calls.
Caller caller_of_exec(bool is_spawn) {
  const uint32_t flags = g_session.flags;
  if (g_session.log == nullptr) return Caller::kNobody;
  const SessionState state = g_session_page.state.load(std::memory_order_acquire);
  const bool follows_fork = (flags & wire::kFollowFork) != 0;
  const bool is_forked = state == SessionState::kUnknown;
  if (!is_forked && state != SessionState::kRecording) return Caller::kNobody;
  if (!follows_fork && (is_forked || is_spawn)) return Caller::kUnfollowed;
  if (!may_call()) return Caller::kNobody;
  const bool is_borrower = !is_forked && kernel::process_id() != g_session.process;
  if (!follows_fork && is_borrower) return Caller::kUnfollowed;
  if ((flags & wire::kFollowExec) == 0) return Caller::kNobody;
  return is_forked ? Caller::kChild : is_borrower ? Caller::kBorrower : Caller::kItself;
}

// The note for the collector.
void note_outcome(bool by_itself, wire::ExecOutcome outcome) {
  wire::LogHeader& log = *g_session.log;
  const auto number = static_cast<uint32_t>(outcome);
  if (by_itself) {
    log.last_exec.store(number, std::memory_order_release);
  } else if (outcome != wire::ExecOutcome::kHandedOn) {
    log.execs_refused[number].fetch_add(1, std::memory_order_relaxed);
  }
}

// The execution failed.
void take_outcome_back(bool by_itself, wire::ExecOutcome outcome) {
  wire::LogHeader& log = *g_session.log;
  if (by_itself) {
    log.last_exec.store(static_cast<uint32_t>(wire::ExecOutcome::kNone), std::memory_order_release);
  } else if (outcome != wire::ExecOutcome::kHandedOn) {
    log.execs_refused[static_cast<uint32_t>(outcome)].fetch_sub(1, std::memory_order_relaxed);
  }
}

// Whether a spawned child changes its rights before it executes the file: real ids instead of different effective ones.
bool changes_rights(const ExecCall& call) {
  constexpr short kResetIds = 1;  // POSIX_SPAWN_RESETIDS, in the first field of the attributes
  if (!call.is_spawn() || call.attributes == nullptr) return false;
  if ((*static_cast<const short*>(call.attributes) & kResetIds) == 0) return false;
  return kernel::system_call(__NR_getuid) != kernel::system_call(__NR_geteuid) ||
         kernel::system_call(__NR_getgid) != kernel::system_call(__NR_getegid);
}

// Whether the file may be executed with the agent.
__attribute__((noinline)) wire::ExecOutcome judge(const ExecCall& call) {
  constexpr int kNoFollow = 0x100;  // AT_SYMLINK_NOFOLLOW, which our check doesn't support
  if (agent_path()[0] == '\0' || (call.flags & kNoFollow) != 0 || changes_rights(call)) {
    return wire::ExecOutcome::kEnvironment;
  }
  ReadablePages pages;
  size_t bytes = 0;
  if (!pages.has_text(call.file, bytes)) return wire::ExecOutcome::kUnreadable;
  constexpr long kReads = 4;
  if (kernel::failed(kernel::system_call(__NR_faccessat, -100, reinterpret_cast<long>(agent_path()), kReads))) {
    return wire::ExecOutcome::kOutOfReach;
  }
  if (!is_collector_in_reach()) return wire::ExecOutcome::kOutOfReach;
  // The descriptor would also be inherited by programs that other threads execute at this moment.
  if (call.is_spawn() && is_line_needed() && !has_one_thread()) return wire::ExecOutcome::kOutOfReach;
  return check_exec({call.directory, call.file, call.is_searched(), !keep_directory(call.actions, pages)}, environ);
}

// The environment lent to system and popen while they create their child inside libc, which uses the program's current
// environment. Only if no other thread could see or change it, or lose it by a fork; a signal handler could.
class Loan {
 public:
  // Null: nothing is lent.
  static const Handover* now() {
    return state.load(std::memory_order_acquire) == State::kLent ? &environment() : nullptr;
  }
  static bool begin() {
    State expected = State::kNone;
    return state.compare_exchange_strong(expected, State::kBegins, std::memory_order_acquire);
  }
  // To the function with this frame. False: the program's environment is too large, or unknown.
  static bool lend(const void* frame) {
    programs_own = environ;
    lent_to = frame;
    if (!environment().fill(programs_own, Handover::Memory::kKept, nullptr) || environment().text_bytes() > kMaxBytes) {
      return false;
    }
    state.store(State::kLent, std::memory_order_release);  // first: a handler in between may execute a program
    environ = environment().entries();
    return true;
  }
  static void end() {
    if (now() != nullptr && environ == environment().entries()) {
      environ = programs_own;
    } else if (now() != nullptr) {
      environment().take_out_of(environ);  // a handler changed it in the meantime, which made a copy
    }
    state.store(State::kNone, std::memory_order_release);
  }
  // A handler's longjmp has left the borrowing function: its frame is gone. If another frame, on a handler's own stack,
  // is taken for it, the loan only ends early.
  static void end_if_left(const void* frame) {
    if (now() != nullptr && reinterpret_cast<uintptr_t>(frame) > reinterpret_cast<uintptr_t>(lent_to)) end();
  }

 private:
  enum class State : uint8_t { kNone, kBegins, kLent };
  // Far below the kernel's limit: the call could not be repeated.
  static constexpr size_t kMaxBytes = 64 << 10;

  // One for all, made of zeros: without a constructor.
  static Handover& environment() { return *reinterpret_cast<Handover*>(storage); }

  alignas(Handover) static inline constinit uint8_t storage[sizeof(Handover)]{};
  static inline constinit std::atomic<State> state{State::kNone};
  static inline constinit char** programs_own = nullptr;
  static inline constinit const void* lent_to = nullptr;
};

Handover::Memory memory_of(Caller caller) {
  return caller == Caller::kBorrower ? Handover::Memory::kStack : Handover::Memory::kBrief;
}

__attribute__((noinline, noclone)) int make_without(const Handover& lent, const ExecCall& call, Caller caller) {
  Handover own;
  const bool is_filled = own.fill_without(lent, call.environment, memory_of(caller));
  const int result = make(call, is_filled ? own.entries() : call.environment);
  own.give_back();
  return result;
}

// The call with the program's own environment.
int make_own(const ExecCall& call, Caller caller) {
  const Handover* const lent = Loan::now();
  return lent == nullptr ? make(call, call.environment) : make_without(*lent, call, caller);
}

int make_unfollowed(const ExecCall& call, Caller caller, bool by_itself, wire::ExecOutcome outcome) {
  note_outcome(by_itself, outcome);
  const int result = make_own(call, caller);
  if (result != 0) take_outcome_back(by_itself, outcome);
  return result;
}

// Another result might be caused by the added variables.
bool may_be_too_large(const ExecCall& call, int result) {
  constexpr int kTooLarge = 7;  // E2BIG
  return call.is_spawn() ? result == kTooLarge : result != 0;
}

// With the variables for the next program, in a separate environment. False: execute it as without the agent.
__attribute__((noinline, noclone)) bool hand_on(const ExecCall& call, Caller caller, bool by_itself, int& result) {
  Handover handover;
  bool is_made = handover.fill(call.environment, memory_of(caller), Loan::now());
  if (is_made) {
    const HandedLine line;
    note_outcome(by_itself, wire::ExecOutcome::kHandedOn);
    result = make(call, handover.entries());
    if (result != 0) take_outcome_back(by_itself, wire::ExecOutcome::kHandedOn);
    is_made = !may_be_too_large(call, result);
  }
  handover.give_back();
  return is_made;
}

int execute(const ExecCall& call) {
  const Caller caller = caller_of_exec(call.is_spawn());
  Loan::end_if_left(__builtin_frame_address(0));
  if (caller == Caller::kNobody || call.file == nullptr) return make_own(call, caller);
  if (caller == Caller::kUnfollowed) return make_unfollowed(call, caller, false, wire::ExecOutcome::kNotFollowed);
  const bool by_itself = caller == Caller::kItself && !call.is_spawn();
  wire::ExecOutcome outcome = judge(call);
  int result = 0;
  if (outcome == wire::ExecOutcome::kHandedOn) {
    if (hand_on(call, caller, by_itself, result)) return result;
    outcome = wire::ExecOutcome::kEnvironment;
  }
  return make_unfollowed(call, caller, by_itself, outcome);
}

// execl and similar ones, with their arguments in a list on the stack, as in the C library.
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

// The child of system or popen.
class LentEnvironment {
 public:
  explicit LentEnvironment(const char* command) {
    const Caller caller = caller_of_exec(true);
    if (caller == Caller::kUnfollowed && command != nullptr) note_outcome(false, wire::ExecOutcome::kNotFollowed);
    if (&environ == nullptr || caller != Caller::kItself) return;
    Loan::end_if_left(this);
    if (Loan::now() != nullptr) return;  // in a handler: already lent
    const bool begins = has_one_thread() && Loan::begin();
    wire::ExecOutcome outcome =
        begins ? judge({ExecCall::Way::kPath, "/bin/sh", nullptr, nullptr}) : wire::ExecOutcome::kBesideThreads;
    is_mine_ = begins && outcome == wire::ExecOutcome::kHandedOn && Loan::lend(this);
    if (is_mine_) return;
    // At once, not when the child has ended: others start in the meantime, or this thread never returns.
    if (begins) Loan::end();
    if (outcome == wire::ExecOutcome::kHandedOn) outcome = wire::ExecOutcome::kEnvironment;
    note_outcome(false, outcome);
  }
  ~LentEnvironment() {
    if (is_mine_) Loan::end();
  }
  LentEnvironment(const LentEnvironment&) = delete;
  LentEnvironment& operator=(const LentEnvironment&) = delete;

 private:
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
  return execute({.way = Way::kDescriptor,
                  .file = "",
                  .arguments = arguments,
                  .environment = environment,
                  .directory = descriptor});
}
HEAPTAP_EXPORT int execveat(int directory, const char* file, Texts arguments, Texts environment, int flags) {
  return execute({.way = Way::kAt,
                  .file = file,
                  .arguments = arguments,
                  .environment = environment,
                  .directory = directory,
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
  const report_signal::IgnoredForExec ignored;
  const LentEnvironment lent(command);
  auto* const call = real<int(const char*)>(Other::kSystem);
  return call != nullptr ? call(command) : -1;
}
// Like popen, under another name, since headers may declare that with its FILE.
HEAPTAP_EXPORT void* open_pipe(const char* command, const char* mode) __asm__("popen");
void* open_pipe(const char* command, const char* mode) {
  const report_signal::IgnoredForExec ignored;
  const LentEnvironment lent(command);
  auto* const call = real<void*(const char*, const char*)>(Other::kPopen);
  return call != nullptr ? call(command, mode) : nullptr;
}
