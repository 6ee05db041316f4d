// Resource limits wanted by heaptap's own processes. Which values are permitted depends on rights that root doesn't
// have everywhere: the decisions are made here, on plain values.
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
inline constexpr rlim_t kOwnFiles = rlim_t{1} << 20;  // one for each traced process, and more

inline constexpr std::array<LimitRule, 6> kOwnLimits{{{RLIMIT_NOFILE, kOwnFiles},
                                                      {RLIMIT_STACK, kOwnStackBytes},
                                                      {RLIMIT_AS, RLIM_INFINITY},
                                                      {RLIMIT_DATA, RLIM_INFINITY},
                                                      {RLIMIT_FSIZE, RLIM_INFINITY},
                                                      {RLIMIT_CPU, RLIM_INFINITY}}};
// Also for the guardian: its locked memory is separate.
inline constexpr LimitRule kGuardiansLock{RLIMIT_MEMLOCK, RLIM_INFINITY};

// Limits to request in order, until the kernel accepts one.
struct LimitWishes {
  rlimit with_right;     // CAP_SYS_RESOURCE: beyond the hard limit
  rlimit without_right;  // up to the hard limit
};
// None: the limit is high enough.
std::optional<LimitWishes> wishes_for(rlim_t wanted, const rlimit& now);

// True: the limit was changed. `before` is the previous one.
bool raise_limit(const LimitRule& rule, rlimit& before);

// Whether the process may exceed hard limits (CAP_SYS_RESOURCE), from the text of /proc/PID/status.
bool may_go_beyond_limits(std::string_view status);

// Processor time reserved for the guardian to remove its breakpoints and detach from all processes.
inline constexpr rlim_t kSecondsToDetach = 2;
bool is_time_enough(const rlimit& seconds, bool may_go_beyond);
// Limit that signals the guardian before it is killed. None: there is no limit.
std::optional<rlimit> limit_that_warns(const rlimit& seconds);

// OOM score adjustments to request for the guardian in order, until the kernel accepts one; the current one is `now`.
// Only a process with CAP_SYS_RESOURCE gets below the value set with that right: for others mostly 0.
std::span<const int> adjustments_for(int now);

}  // namespace heaptap::base
