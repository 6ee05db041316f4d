#include "agent/core/memory_probes.h"

#include "agent/core/wide_product.h"
#include "common/wire/sampling.h"

namespace heaptap::agent {
namespace {

// Fractions of 1 with 63 binary places.
constexpr unsigned kBinaryPlaces = 63;
constexpr uint64_t kWhole = uint64_t{1} << kBinaryPlaces;

constexpr uint64_t product_of(uint64_t a, uint64_t b) { return wide_product(a, b).from(kBinaryPlaces); }

// a / b, digit by digit: there is no division of 128 bits without libgcc. b is at most kWhole.
uint64_t quotient_of(uint64_t a, uint64_t b) {
  uint64_t quotient = a / b;
  uint64_t rest = a % b;
  for (unsigned place = 0; place < kBinaryPlaces; ++place) {
    rest <<= 1;
    quotient <<= 1;
    if (rest < b) continue;
    rest -= b;
    quotient |= 1;
  }
  return quotient;
}

// 1 - e^-x for x up to 1, by the alternating series x - x^2/2 + x^3/6 - …
constexpr uint64_t share_of_rest(uint64_t x) {
  constexpr uint64_t kTerms = 20;  // the next one is below a place
  uint64_t term = x;
  uint64_t sum = x;
  for (uint64_t n = 2; n <= kTerms; ++n) {
    term = product_of(term, x) / n;
    sum = n % 2 == 0 ? sum - term : sum + term;
  }
  return sum;
}

}  // namespace

uint64_t weighted_bytes(uint64_t size_bytes, uint64_t interval) {
  constexpr uint64_t kEach = kWhole - share_of_rest(kWhole);
  if (wire::is_surely_sampled(size_bytes, interval)) return size_bytes;
  const uint64_t bytes = wire::sampled_bytes(size_bytes);
  // e^-(n + x) is e^-1, n times, and e^-x.
  uint64_t whole = bytes / interval;
  const uint64_t rest = quotient_of(bytes % interval, interval);
  uint64_t left = kWhole - share_of_rest(rest);
  for (; whole > 0; --whole) left = product_of(left, kEach);
  const uint64_t share = kWhole - left;
  return share == 0 ? interval : quotient_of(size_bytes, share);
}

}  // namespace heaptap::agent
