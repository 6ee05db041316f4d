// Hooks of functions through which a program would notice the agent, or forbid something that the agent uses. None is
// an event; each behaves for the program as without the agent.
#include "agent/preload/limit_hooks.h"

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "agent/core/call_permission.h"
#include "agent/core/program_limits.h"
#include "agent/core/session.h"
#include "agent/preload/real_functions.h"

#define HEAPTAP_EXPORT extern "C" __attribute__((visibility("default"), used))

namespace heaptap::agent {
namespace {

// struct rlimit and struct rlimit64: the same on 64-bit machines.
template <typename Value>
struct LimitOf {
  static constexpr Value kUnlimited = ~Value{0};
  Value soft;
  Value hard;
};
using Limit = LimitOf<unsigned long>;
using LongLimit = LimitOf<uint64_t>;
constexpr int kAddressSpace = 9;

// The program's limit on address space; the agent's memory is added to it.
uint64_t own_bytes() {
  const uint64_t first_bytes = g_session.first_log_bytes;
  if (first_bytes == 0) return 0;
  return first_bytes + g_session.chunks.grown_bytes() + g_session.unwind.trie.nodes().grown_bytes() + reserve_bytes();
}

template <typename Value>
Value with_own(Value limit) {
  return limit > LimitOf<Value>::kUnlimited - own_bytes() ? limit : static_cast<Value>(limit + own_bytes());
}
template <typename Value>
Value without_own(Value limit) {
  const bool has_own = limit != LimitOf<Value>::kUnlimited && limit >= own_bytes();
  return has_own ? static_cast<Value>(limit - own_bytes()) : limit;
}

// The functions for a LongLimit. On 64-bit machines the others serve, which every C library has.
constexpr bool kIsOneLimit = sizeof(Limit) == sizeof(LongLimit);
constexpr Other kSetLongLimit = kIsOneLimit ? Other::kSetLimit : Other::kSetLongLimit;
constexpr Other kGetLongLimit = kIsOneLimit ? Other::kGetLimit : Other::kGetLongLimit;
constexpr Other kExchangeLongLimit = kIsOneLimit ? Other::kExchangeLimit : Other::kExchangeLongLimit;

// Whether the program's kernel limits include the agent's part: once the program has set one itself.
constinit std::atomic<bool> g_raised{false};

template <typename Value>
const LimitOf<Value>* raised(int resource, const LimitOf<Value>* wanted, LimitOf<Value>& copy) {
  if (resource != kAddressSpace || wanted == nullptr || own_bytes() == 0) return wanted;
  copy = {with_own(wanted->soft), with_own(wanted->hard)};
  g_raised.store(true, std::memory_order_relaxed);
  return &copy;
}

template <typename Value>
void lower(int resource, int status, LimitOf<Value>* limit) {
  if (status != 0 || limit == nullptr || resource != kAddressSpace || !g_raised.load(std::memory_order_relaxed)) return;
  *limit = {without_own(limit->soft), without_own(limit->hard)};
}

template <typename Value>
int set_limit(Other function, int resource, const LimitOf<Value>* limit) {
  auto* call = real<int(int, const LimitOf<Value>*)>(function);
  if (call == nullptr) return -1;
  LimitOf<Value> copy;
  const LimitOf<Value>* wanted = raised(resource, limit, copy);
  const int status = call(resource, wanted);
  return status != 0 && wanted != limit ? call(resource, limit) : status;  // a limit from outside leaves no more room
}

template <typename Value>
int get_limit(Other function, int resource, LimitOf<Value>* limit) {
  auto* call = real<int(int, LimitOf<Value>*)>(function);
  const int status = call != nullptr ? call(resource, limit) : -1;
  lower(resource, status, limit);
  return status;
}

template <typename Value>
int exchange_limit(Other function, int process, int resource, const LimitOf<Value>* wanted, LimitOf<Value>* before) {
  auto* call = real<int(int, int, const LimitOf<Value>*, LimitOf<Value>*)>(function);
  if (call == nullptr) return -1;
  if (process != 0 && process != g_session.process) return call(process, resource, wanted, before);
  const bool was_raised = g_raised.load(std::memory_order_relaxed);
  LimitOf<Value> copy;
  const LimitOf<Value>* more = raised(resource, wanted, copy);
  int status = call(process, resource, more, before);
  if (status != 0 && more != wanted) status = call(process, resource, wanted, before);
  if (was_raised) lower(resource, status, before);
  return status;
}

constexpr int kSetPtracer = 0x59616d61;

using Number = long(long, long, long, long, long, long, long);

long call_by_number(long number, long a, long b, long c, long d, long e, long f) {
  auto* const by_number = real<Number>(Other::kSystemCall);
  if (by_number == nullptr) return -1;
  const uintptr_t arguments[] = {static_cast<uintptr_t>(a), static_cast<uintptr_t>(b), static_cast<uintptr_t>(c),
                                 static_cast<uintptr_t>(d), static_cast<uintptr_t>(e)};
  return restrict_by_number(number, arguments, [&] { return by_number(number, a, b, c, d, e, f); });
}

}  // namespace

void* choose_restricting_call(const uintptr_t* arguments) {
  const bool restricts = may_restrict_by_number(static_cast<long>(arguments[0]), arguments + 1);
  return restricts ? reinterpret_cast<void*>(&call_by_number) : nullptr;
}

}  // namespace heaptap::agent

using namespace heaptap::agent;

HEAPTAP_EXPORT int setrlimit(int resource, const Limit* limit) { return set_limit(Other::kSetLimit, resource, limit); }
HEAPTAP_EXPORT int setrlimit64(int resource, const LongLimit* limit) {
  return set_limit(kSetLongLimit, resource, limit);
}
HEAPTAP_EXPORT int getrlimit(int resource, Limit* limit) { return get_limit(Other::kGetLimit, resource, limit); }
HEAPTAP_EXPORT int getrlimit64(int resource, LongLimit* limit) { return get_limit(kGetLongLimit, resource, limit); }
HEAPTAP_EXPORT int prlimit(int process, int resource, const Limit* wanted, Limit* before) {
  return exchange_limit(Other::kExchangeLimit, process, resource, wanted, before);
}
HEAPTAP_EXPORT int prlimit64(int process, int resource, const LongLimit* wanted, LongLimit* before) {
  return exchange_limit(kExchangeLongLimit, process, resource, wanted, before);
}

HEAPTAP_EXPORT int prctl(int operation, ...) {
  __builtin_va_list rest;
  __builtin_va_start(rest, operation);
  uintptr_t arguments[4];
  for (uintptr_t& argument : arguments) argument = __builtin_va_arg(rest, unsigned long);
  __builtin_va_end(rest);
  if (operation == kSetPtracer) g_session.ptracer = arguments[0];
  auto* call = real<int(int, unsigned long, unsigned long, unsigned long, unsigned long)>(Other::kProcessControl);
  if (call == nullptr) return -1;
  return restrict_by_prctl(operation, arguments,
                           [&] { return call(operation, arguments[0], arguments[1], arguments[2], arguments[3]); });
}
