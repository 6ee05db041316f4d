#include "agent/core/growing_part.h"

#include "agent/core/kernel.h"

namespace heaptap::agent {

void GrowingPart::start(void* items, uint32_t count, uint32_t max, uint32_t item_bytes) {
  first_ = static_cast<uint8_t*>(items);
  max_ = max;
  item_bytes_ = item_bytes;
  items_.store(first_, std::memory_order_relaxed);
  count_.store(count, std::memory_order_relaxed);
  growing_.store(0, std::memory_order_relaxed);
  cannot_grow_.store(false, std::memory_order_relaxed);
  waited_in_vain_at_.store(0, std::memory_order_relaxed);
  grown_bytes_.store(0, std::memory_order_relaxed);
}

MappedPart GrowingPart::growth() const {
  uint8_t* const items = items_.load(std::memory_order_relaxed);
  if (items == first_) return {};
  return {items, size_t{count_.load(std::memory_order_relaxed)} * item_bytes_};
}

bool GrowingPart::map(uint32_t count) {
  constexpr long kMayMove = 1;
  if (kernel::is_address_space_limited()) return false;  // memory promised to the program isn't taken from it
  const size_t bytes = size_t{count} * item_bytes_;
  const long moved = kernel::system_call(__NR_mremap, reinterpret_cast<long>(items_.load(std::memory_order_relaxed)), 0,
                                         static_cast<long>(bytes), kMayMove);
  if (kernel::failed(moved)) return false;
  auto* const items = reinterpret_cast<uint8_t*>(moved);
  note_own_area(items, bytes);
  kernel::advise(items, bytes, MADV_DONTDUMP);
  grown_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  items_.store(items, std::memory_order_release);
  count_.store(count, std::memory_order_release);  // pairs with the acquire of the item's taker
  return true;
}

bool GrowingPart::grow(uint32_t index, const std::atomic<uint32_t>& usable) {
  uint32_t wanted = usable.load(std::memory_order_acquire);
  if (wanted > max_) wanted = max_;
  if (wanted <= index || cannot_grow_.load(std::memory_order_relaxed)) return false;
  // Who grows it may never come back: a signal handler may have left it by longjmp. Nobody waits a second time.
  if (waited_in_vain_at_.load(std::memory_order_relaxed) == count()) return false;
  if (growing_.exchange(1, std::memory_order_acquire) != 0) {
    // Another thread is doing it, for some microseconds; possibly the one interrupted by this signal handler.
    constexpr int kMaxLooks = 20'000;
    for (int i = 0; i < kMaxLooks && growing_.load(std::memory_order_acquire) != 0; ++i) arch::native::relax();
    const uint32_t mapped = count();
    if (index >= mapped) waited_in_vain_at_.store(mapped, std::memory_order_relaxed);
    return index < mapped;
  }
  const bool is_there = index < count() || map(wanted);
  if (!is_there) cannot_grow_.store(true, std::memory_order_relaxed);
  growing_.store(0, std::memory_order_release);
  return is_there;
}

}  // namespace heaptap::agent
