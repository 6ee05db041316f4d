// CHECK: a promise of our own code. On in release builds; never for anything that came from outside.
#pragma once
#include <cstdio>
#include <cstdlib>

#define HEAPTAP_CHECK(condition)                                                                      \
  do {                                                                                                \
    if (!(condition)) [[unlikely]] {                                                                  \
      std::fprintf(stderr, "heaptap: broken promise at %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (false)
