#pragma once

#include <cstdlib>

namespace heaptap::test {

// How often a test that takes lies, cuts or damage by chance does so: `few` times each time, `many` times with HEAPTAP_LONG=1.
inline int rounds(int few, int many) {
  return std::getenv("HEAPTAP_LONG") != nullptr ? many : few;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace heaptap::test
