// What heaptap's own processes ask for of each limit. What may be raised to which value depends on rights that root doesn't
// have everywhere: the decisions are made here, of plain values.
#pragma once
#include <sys/resource.h>

#include <array>
#include <optional>
#include <span>
#include <string_view>

namespace heaptap::base {

struct LimitRule {
  __rlimit_resource_t resource;
  rlim_t wanted;  // of the soft limit
};

inline constexpr rlim_t kOwnStackBytes = rlim_t{8} << 20;
inline constexpr rlim_t kOwnFiles = rlim_t{1} << 20;  // one for each process that is traced, and more

inline constexpr std::array<LimitRule, 6> kOwnLimits{{{RLIMIT_NOFILE, kOwnFiles},
                                                      {RLIMIT_STACK, kOwnStackBytes},
                                                      {RLIMIT_AS, RLIM_INFINITY},
                                                      {RLIMIT_DATA, RLIM_INFINITY},
                                                      {RLIMIT_FSIZE, RLIM_INFINITY},
                                                      {RLIMIT_CPU, RLIM_INFINITY}}};
// The guardian has these as well: what it locks in memory is its own affair.
inline constexpr LimitRule kGuardiansLock{RLIMIT_MEMLOCK, RLIM_INFINITY};

// What is asked for in place of a limit, one after the other until the kernel agrees.
struct LimitWishes {
  rlimit with_right;     // CAP_SYS_RESOURCE: beyond the hard limit
  rlimit without_right;  // up to it
};
// None: it is as wanted.
std::optional<LimitWishes> wishes_for(rlim_t wanted, const rlimit& now);

// True: the limit is another one now. `before` is what it was.
bool raise_limit(const LimitRule& rule, rlimit& before);

// Of the text of /proc/PID/status: whether the process may go beyond hard limits (CAP_SYS_RESOURCE).
bool may_go_beyond_limits(std::string_view status);

// Of the guardian's processor time. It needs some of it to take its breakpoints out and detach from all.
inline constexpr rlim_t kSecondsToLetGo = 2;
bool is_time_enough(const rlimit& seconds, bool may_go_beyond);
// So that it is told before it is ended. None: it is never ended for that.
std::optional<rlimit> limit_that_warns(const rlimit& seconds);

// What the guardian asks for as its adjustment when memory runs out, one after the other until the kernel agrees; it has `now`.
// Only who may go beyond limits gets below what a process was given with that right: for others that is mostly 0.
std::span<const int> adjustments_for(int now);

}  // namespace heaptap::base
