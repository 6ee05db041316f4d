// Exit statuses of heaptap.
#pragma once
#include "common/base/result.h"

namespace heaptap::base {

inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnknown = 3;          // a gate couldn't be evaluated
inline constexpr int kExitFailed = 125;         // heaptap itself failed
inline constexpr int kExitNotExecutable = 126;  // the program can't be run
inline constexpr int kExitNotFound = 127;       // program not found

constexpr int exit_status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUsage:
      return kExitUsage;
    case ErrorKind::kNotFound:
      return kExitNotFound;
    case ErrorKind::kNotExecutable:
      return kExitNotExecutable;
    case ErrorKind::kFailed:
      break;
  }
  return kExitFailed;
}

}  // namespace heaptap::base
