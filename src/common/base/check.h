// CHECK: assertion of an invariant of our own code. On in release builds; never for input from outside.
#pragma once

namespace heaptap::base {

// Reports the condition on standard error and ends the process by SIGABRT.
[[noreturn]] void fail_check(const char* file, int line, const char* condition) noexcept;

}  // namespace heaptap::base

#define HEAPTAP_CHECK(condition)                                        \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::heaptap::base::fail_check(__FILE_NAME__, __LINE__, #condition); \
  } while (false)
