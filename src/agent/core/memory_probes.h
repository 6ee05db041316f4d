// Probes of OpenTelemetry's memory profiles, fired for sampled blocks: a profiler of the whole machine (opentelemetry-ebpf-profiler)
// takes them as samples of the heap. Their contract is its design document 3: `otel_memory:alloc` has the block's address, its size, and the
// bytes that it stands for; `otel_memory:free` the address.
#pragma once
#include <stdint.h>

#include "common/arch/probe.h"

namespace heaptap::agent {

// Bytes that a sampled block stands for: its own, divided by the probability that it is recorded (common/wire/sampling.h).
uint64_t weighted_bytes(uint64_t size_bytes, uint64_t interval);

__attribute__((noinline)) inline void fire_allocation(uintptr_t block, uint64_t size_bytes, uint64_t weighted) {
  HEAPTAP_PROBE(
      "otel_memory", "alloc",
      "8@%[block] 8@%[size] 8@%[weighted]", [block] "r"(block), [size] "r"(size_bytes), [weighted] "r"(weighted));
}

__attribute__((noinline)) inline void fire_release(uintptr_t block) {
  HEAPTAP_PROBE("otel_memory", "free", "8@%[block]", [block] "r"(block));
}

}  // namespace heaptap::agent
