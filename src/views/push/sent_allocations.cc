#include "views/push/sent_allocations.h"

#include <algorithm>

namespace heaptap::push {
namespace {

void subtract(base::Known<uint64_t>& number, uint64_t sent) {
  number = {number.counted() - std::min(number.counted(), sent), number.is_known()};
}

}  // namespace

void SentAllocations::subtract_from(report::Report& report) {
  offered_.clear();
  for (report::StackEntry& stack : report.stacks) {
    const Counts all{stack.allocations.counted(), stack.allocated_bytes.counted()};
    offered_[stack.id] = all;
    const auto sent = sent_.find(stack.id);
    if (sent == sent_.end()) continue;
    subtract(stack.allocations, sent->second.allocations);
    subtract(stack.allocated_bytes, sent->second.bytes);
  }
}

}  // namespace heaptap::push
