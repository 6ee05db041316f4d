#pragma once

#include <cstdlib>

namespace heaptap::test {

// Number of rounds of a randomized test: `few`, or `many` with HEAPTAP_LONG=1.
inline int rounds(int few, int many) {
  return std::getenv("HEAPTAP_LONG") != nullptr ? many : few;  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace heaptap::test
