#include "agent/core/pools.h"

#include "agent/core/session.h"

namespace heaptap::agent {
namespace {

// A handle is the number of the pool's label, and the handle's own number.
constexpr unsigned kLabelShift = 32;
constinit std::atomic<uint32_t> g_pool_count{0};

}  // namespace

PoolHandle make_pool(wire::LabelKind kind, const char* name) {
  const Label* const label = g_labels.find_or_add(nullptr, kind, name);
  if (label == nullptr) return 0;
  uint32_t number = g_pool_count.load(std::memory_order_relaxed);
  do {
    if (number == wire::kMaxPools) return 0;
  } while (!g_pool_count.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  return uint64_t{label->number} << kLabelShift | (number + 1);
}

void record_pooled(ThreadAnchor& anchor, PoolHandle pool, wire::LabelKind kind, const PoolEvent& event,
                   const CallSite& site) {
  const auto number = static_cast<uint32_t>(pool);
  const Label* const name = g_labels.of_number(static_cast<uint32_t>(pool >> kLabelShift));
  if (name == nullptr || name->kind != kind || number == 0 || number > g_pool_count.load(std::memory_order_relaxed)) {
    return;
  }
  const Label* label = nullptr;
  if (event.kind == wire::RecordKind::kPoolAllocate) {
    label = anchor.tag == nullptr ? name : g_labels.find_or_add(anchor.tag, *name);
    if (label == nullptr) label = name;
  }
  record(anchor,
         {.kind = event.kind,
          .function = event.function,
          .address = event.address,
          .size_bytes = wire::make_pooled_size(number, event.size_bytes),
          .time = 0,
          .label = label},
         site);
}

}  // namespace heaptap::agent
