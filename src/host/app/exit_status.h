// What heaptap's exit status says.
#pragma once
#include "host/base/result.h"

namespace heaptap::app {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitFailed = 125;         // heaptap itself failed
inline constexpr int kExitNotExecutable = 126;  // the program can't be run
inline constexpr int kExitNotFound = 127;       // there is no such program

constexpr int exit_status_of(base::ErrorKind kind) {
  switch (kind) {
    case base::ErrorKind::kUsage:
      return kExitUsage;
    case base::ErrorKind::kNotFound:
      return kExitNotFound;
    case base::ErrorKind::kNotExecutable:
      return kExitNotExecutable;
    case base::ErrorKind::kFailed:
      break;
  }
  return kExitFailed;
}

}  // namespace heaptap::app
