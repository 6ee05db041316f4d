// Value that few of many objects have: one that was never set is the default one, and takes a pointer. Copies copy the value.
#pragma once
#include "common/base/boxed.h"

namespace heaptap::base {

template <typename Value>
class Rare {
 public:
  const Value& operator*() const { return own_ ? *own_ : kDefault; }
  const Value* operator->() const { return &**this; }
  // To change it: it takes memory of its own from now on.
  Value& edit() {
    if (!own_) own_ = Value{};
    return *own_;
  }
  void reset() { own_ = {}; }
  [[nodiscard]] bool is_set() const { return bool(own_); }

 private:
  inline static const Value kDefault{};

  Boxed<Value> own_;
};

}  // namespace heaptap::base
