// Promise of a fuzz target about the code it runs: ends the process where it doesn't hold, also in release builds.
#pragma once
#include <cstdio>
#include <cstdlib>

#define FUZZ_EXPECT(condition)                                                            \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
