// Cache of stack names by id, with at most kMaxNames entries: the oldest are evicted first.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "views/top/sample.h"

namespace heaptap::top {

class NameBook {
 public:
  static constexpr size_t kMaxNames = 20'000;

  void add(const std::vector<NamedStack>& named) {
    for (const NamedStack& stack : named) {
      if (!names_.insert_or_assign(stack.id, stack).second) continue;
      order_.push_back(stack.id);
      if (order_.size() <= kMaxNames) continue;
      names_.erase(order_.front());
      order_.pop_front();
    }
  }
  // Null: not requested yet.
  [[nodiscard]] const NamedStack* find(uint64_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_full() const { return order_.size() >= kMaxNames; }
  void clear() {
    names_.clear();
    order_.clear();
  }

 private:
  std::unordered_map<uint64_t, NamedStack> names_;
  std::deque<uint64_t> order_;
};

}  // namespace heaptap::top
