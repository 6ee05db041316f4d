// Ordered parallel map with two items in flight.
#pragma once
#include <cstddef>
#include <deque>
#include <future>
#include <span>
#include <type_traits>

namespace heaptap::app {

// `work` runs on an item in a thread of its own; `take` gets the item and its result, in the caller's thread. At most two results are
// pending.
template <typename Item, typename Work, typename Take>
void two_at_once(std::span<const Item> items, const Work& work, const Take& take) {
  constexpr size_t kAtOnce = 2;
  std::deque<std::future<std::invoke_result_t<Work, const Item&>>> ahead;
  size_t begun = 0;
  for (const Item& item : items) {
    for (; ahead.size() < kAtOnce && begun < items.size(); ++begun)
      ahead.push_back(std::async(std::launch::async, [&work, &next = items[begun]] { return work(next); }));
    take(item, ahead.front().get());
    ahead.pop_front();
  }
}

}  // namespace heaptap::app
