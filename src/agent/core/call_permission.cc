#include "agent/core/call_permission.h"

#include <stdint.h>

#include <atomic>

#include "agent/core/exit_signals.h"
#include "agent/core/kernel.h"
#include "agent/core/pages.h"
#include "agent/core/platform.h"
#include "agent/core/report_signal.h"
#include "agent/core/session.h"
#include "agent/core/string.h"

namespace heaptap::agent {
namespace {

// Filters that the program has, or is about to have. A thread's filter counts for all threads: the set of threads that
// a filter applies to isn't always known. Strict mode is the calling thread's alone (ThreadAnchor::is_strict).
constinit std::atomic<uint32_t> g_filters{0};
constinit std::atomic<uint32_t> g_strict{0};  // threads, including those that have ended

// Memory for threads and tables created after a filter. Untouched, it is only address space, of which it takes little
// from a program with a limit.
constexpr size_t kReserveBytes = 16u << 20;
constexpr size_t kReserveInLimit = 256u << 10;
constinit std::atomic<uintptr_t> g_reserve{0};  // start of the unused part; 0: none
constinit std::atomic<uintptr_t> g_reserve_end{0};
constinit std::atomic<size_t> g_reserved{0};
constinit std::atomic<bool> g_keeps_to_reserve{false};

// A number at the end of lines of /proc/self/status, parsed byte by byte.
class StatusLine {
 public:
  explicit constexpr StatusLine(const char* name) : name_(name) {}

  void see(char byte) {
    if (byte == '\n') {
      at_ = 0;
      state_ = State::kName;
    } else if (state_ == State::kName) {
      if (byte != name_[at_++]) state_ = State::kOther;
      if (state_ == State::kName && name_[at_] == '\0') state_ = State::kNumber;
    } else if (state_ == State::kNumber && byte >= '0' && byte <= '9') {
      value_ = (found_ ? value_ * 10 : 0) + static_cast<uint32_t>(byte - '0');
      found_ = true;
    }
  }

  [[nodiscard]] uint32_t value_or(uint32_t other) const { return found_ ? value_ : other; }

 private:
  enum class State : uint8_t { kName, kNumber, kOther };
  const char* name_;
  uint32_t at_ = 0;
  uint32_t value_ = 0;
  State state_ = State::kName;
  bool found_ = false;
};

// Number of filters on the process. If the kernel doesn't count them (before 5.9): 1 if there are any. Without /proc:
// none, as for an unknown program.
uint32_t count_filters() {
  constexpr uint32_t kFilterMode = 2;
  const int descriptor = kernel::open_to_read("/proc/self/status");
  if (descriptor < 0) return 0;
  StatusLine mode("Seccomp:");
  StatusLine filters("Seccomp_filters:");
  char bytes[256];
  for (long count = 0; (count = kernel::read(descriptor, bytes, sizeof(bytes))) > 0;) {
    for (long i = 0; i < count; ++i) {
      mode.see(bytes[i]);
      filters.see(bytes[i]);
    }
  }
  kernel::close(descriptor);
  return mode.value_or(0) == kFilterMode ? filters.value_or(1) : 0;
}

constinit std::atomic<bool> g_dispatches{false};  // some thread has strict mode, or had it

bool is_dispatched(const CallDispatch& dispatch) {
  return dispatch.is_on != 0 && (dispatch.selector == nullptr || *dispatch.selector != 0);
}

// Whether the program's handler of SIGSYS gets this thread's calls.
bool is_dispatched_here() {
  return g_dispatches.load(std::memory_order_relaxed) && is_dispatched(platform::thread_anchor().dispatch);
}

// A filter installed by a raw instruction of the program: the collector has seen it in /proc.
bool is_filtered_unseen() {
  const wire::LogHeader* const log = g_session.log;
  return log != nullptr && log->is_filtered.load(std::memory_order_relaxed) != 0;
}

}  // namespace

// A thread not created by libc may have no thread-local memory: that is only accessed if there ever was strict mode.
bool may_call() {
  return platform::makes_calls() && g_filters.load(std::memory_order_acquire) == 0 && !is_filtered_unseen() &&
         (g_strict.load(std::memory_order_acquire) == 0 || !platform::thread_anchor().is_strict) &&
         !is_dispatched_here();
}

bool is_restricted() {
  return (g_filters.load(std::memory_order_acquire) | g_strict.load(std::memory_order_acquire)) != 0 ||
         is_filtered_unseen();
}

bool may_call_for_program() { return !is_restricted() && !is_dispatched_here(); }

void make_reserve() {
  if (g_reserve.load(std::memory_order_acquire) != 0) return;
  const size_t bytes = kernel::is_address_space_limited() ? kReserveInLimit : kReserveBytes;
  const auto start = reinterpret_cast<uintptr_t>(kernel::map_memory(bytes));
  if (start == 0) return;
  // The whole is one area, forgotten by its first address: who takes a piece and unmaps it never has that one.
  g_reserved.store(bytes, std::memory_order_relaxed);
  g_reserve_end.store(start + bytes, std::memory_order_relaxed);
  g_reserve.store(start + page_bytes(), std::memory_order_release);
}

void keep_to_reserve() { g_keeps_to_reserve.store(true, std::memory_order_relaxed); }

void leave_reserve() { g_keeps_to_reserve.store(false, std::memory_order_relaxed); }

bool keeps_to_reserve() { return g_keeps_to_reserve.load(std::memory_order_relaxed); }

size_t reserve_bytes() { return g_reserved.load(std::memory_order_relaxed); }

void* take_reserve(size_t bytes) {
  const uintptr_t whole = whole_pages(bytes);
  uintptr_t start = g_reserve.load(std::memory_order_acquire);
  do {
    if (start == 0 || whole > g_reserve_end.load(std::memory_order_relaxed) - start) return nullptr;
  } while (!g_reserve.compare_exchange_weak(start, start + whole, std::memory_order_acq_rel));
  return reinterpret_cast<void*>(start);
}

// Filters are never removed, and those of heaptap apply to its children: an equal number means the same filters.
// heaptap runs under them, and makes all of the agent's calls itself.
bool starts_under_unknown_filters() { return count_filters() > platform::filters_at_start(); }

// Thread-local memory is accessed for strict mode only: a child not created by libc may have none.
Restriction::Restriction(Kind kind)
    : kind_(kind),
      was_strict_(kind == Kind::kStrict ? platform::thread_anchor().is_strict : 0),
      armed_(arms_signals()) {
  if (may_call() && g_session_page.state.load(std::memory_order_acquire) == SessionState::kRecording) make_reserve();
  const bool is_first = may_call_for_program();
  if (is_first) disarm_signals();
  if (may_call()) report_signal::withdraw();
  // From here on no thread arms a signal (ActionLock). One armed since then is restored while no filter can be active yet.
  std::atomic<uint32_t>& requests = kind_ == Kind::kFilter ? g_filters : g_strict;
  requests.fetch_add(1, std::memory_order_acq_rel);
  if (is_first) disarm_signals();
  if (kind_ == Kind::kStrict) platform::thread_anchor().is_strict = 1;
}

Restriction::~Restriction() {
  if (came_about_) return;
  if (kind_ == Kind::kFilter) {
    g_filters.fetch_sub(1, std::memory_order_acq_rel);
  } else {
    g_strict.fetch_sub(1, std::memory_order_acq_rel);
    platform::thread_anchor().is_strict = was_strict_;
  }
  if (g_session_page.state.load(std::memory_order_acquire) == SessionState::kRecording) report_signal::arm();
  if (armed_ && !arm_signals() && !is_restricted()) resume_arming();
}

CallDispatch begin_dispatch(uintptr_t start, uintptr_t bytes, bool only_within, const volatile uint8_t* selector) {
  const CodeExtent own = platform::own_code();
  const bool is_within = own.start - start < bytes && own.bytes <= bytes - (own.start - start);
  CallDispatch& dispatch = platform::thread_anchor().dispatch;
  const CallDispatch before = dispatch;
  dispatch = {only_within == is_within ? uintptr_t{1} : 0, selector};
  g_dispatches.store(true, std::memory_order_relaxed);
  return before;
}

CallDispatch end_dispatch() {
  CallDispatch& dispatch = platform::thread_anchor().dispatch;
  const CallDispatch before = dispatch;
  dispatch = {};
  return before;
}

void put_back(const CallDispatch& before) { platform::thread_anchor().dispatch = before; }

}  // namespace heaptap::agent
