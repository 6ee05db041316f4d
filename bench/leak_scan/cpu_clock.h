// CPU time of this process and its waited-for children: little affected by other load on the machine.
#pragma once
#include <sys/resource.h>

#include <initializer_list>

namespace heaptap::bench {

inline double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

inline double cpu_seconds() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    sum += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  return sum;
}

// CPU time since `start`, which is set to now.
inline double cpu_since(double& start) {
  const double now = cpu_seconds();
  const double elapsed = now - start;
  start = now;
  return elapsed;
}

}  // namespace heaptap::bench
