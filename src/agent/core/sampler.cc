#include "agent/core/sampler.h"

#include "agent/core/clock.h"
#include "agent/core/memory_probes.h"
#include "agent/core/session.h"
#include "agent/core/streams.h"
#include "agent/core/wide_product.h"

namespace heaptap::agent {
namespace {

constinit wire::CallCounts g_uncounted{};  // of threads without a stream, whose events count as lost

uint64_t mix(uint64_t value) {  // the finalizer of SplitMix64, by Steele, Lea and Flood
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

uint64_t next_random(uint64_t& seed) { return mix(seed += 0x9e3779b97f4a7c15u); }

// -log2(value / 2^64), for value > 0, with 32 binary places.
uint64_t negative_log2(uint64_t value) {
  const auto zeros = static_cast<unsigned>(__builtin_clzll(value));
  uint64_t mantissa = value << zeros >> 32;  // from 1 to 2, with 31 binary places
  uint64_t fraction = 0;                     // of its logarithm: squares give one binary place after the other
  for (int place = 0; place < 32; ++place) {
    mantissa = mantissa * mantissa >> 31;
    fraction <<= 1;
    if (mantissa >> 32 != 0) {
      mantissa >>= 1;
      fraction |= 1;
    }
  }
  return (uint64_t{zeros + 1} << 32) - fraction;
}

}  // namespace

uint64_t Sampler::draw(uint64_t& seed, uint64_t interval) {
  constexpr uint64_t kLn2 = 2'977'044'472;                     // with 32 binary places
  const uint64_t bits = negative_log2(next_random(seed) | 1);  // up to 64, with 32 binary places
  const WideProduct distance = wide_product(wide_product(bits, kLn2).from(32), interval);  // with 32 binary places
  const bool is_whole = (distance.low & UINT32_MAX) == 0;
  const uint64_t bytes = distance.from(32) + (is_whole ? 0 : 1);
  return bytes | (bytes == 0 ? 1 : 0);
}

// For the thread's first call of the session. The stream has its counts, for the collector.
__attribute__((noinline)) void Sampler::begin_thread(ThreadAnchor& anchor) {
  StreamHold hold(anchor);
  anchor.calls = hold.state() != nullptr ? &hold.state()->slot->calls : &g_uncounted;
  anchor.sample_seed =
      mix(read_time() ^ reinterpret_cast<uintptr_t>(&anchor) << 20 ^ static_cast<uint64_t>(g_session.process) << 44);
  draw_next(anchor);
}

__attribute__((noinline)) bool Sampler::chooses_rarely(ThreadAnchor& anchor, uint64_t size_bytes) {
  if (anchor.calls == nullptr || anchor.calls == &g_uncounted) {
    begin_thread(anchor);
    if (passes_by(anchor, size_bytes)) return false;
  }
  count_allocation(anchor, size_bytes);
  draw_next(anchor);
  return !wire::is_switched_off(*g_session.log);
}

__attribute__((noinline)) bool Sampler::add(uintptr_t block, uint64_t size_bytes) {
  if (!blocks_.add(block)) {
    g_session.log->lost_events.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  fire_allocation(block, size_bytes, weighted_bytes(size_bytes, interval_));
  return true;
}

__attribute__((noinline)) bool Sampler::ends_rarely(ThreadAnchor& anchor, uintptr_t block) {
  if (anchor.calls == nullptr) begin_thread(anchor);
  arch::native::add_own(anchor.calls->releases, 1);
  if (!blocks_.take(block)) return false;
  fire_release(block);
  return true;
}

}  // namespace heaptap::agent
