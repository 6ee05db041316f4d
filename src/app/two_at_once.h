// Work on many items, two at a time, its results in the order of the items.
#pragma once
#include <cstddef>
#include <deque>
#include <future>
#include <span>
#include <type_traits>

namespace heaptap::app {

// `work` gets an item, in a thread of its own; `take` the item and what `work` made of it, in the caller's. At most two results
// wait to be taken.
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
