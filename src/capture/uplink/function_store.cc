#include "capture/uplink/function_store.h"

#include <utility>

namespace heaptap::uplink {

void FunctionStore::want(line::ReliableLine& line, const line::FunctionRequest& request) {
  if (told_.contains(request.build_id) || !awaited_.insert(request.build_id).second) return;
  line.send(line::message_of(request));
}

void FunctionStore::take(const message::Fields& fields) {
  // An invalid answer settles the request too.
  if (awaited_.erase(line::answered_build_id(fields)) == 0) return;
  if (auto found = line::decode_functions(fields)) told_[found->build_id] = std::move(found->functions);
}

void FunctionStore::begin_session() {
  awaited_.clear();
  told_.clear();
}

}  // namespace heaptap::uplink
