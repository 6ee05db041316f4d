// Store of function addresses supplied by the host, on the target's side, for programs without symbols: requested
// before a recording begins.
#pragma once
#include <set>
#include <string>

#include "common/line/function_codec.h"
#include "common/line/reliable_line.h"
#include "common/message/message.h"
#include "common/model/told_functions.h"

namespace heaptap::uplink {

class FunctionStore {
 public:
  // Asks the host, once a session.
  void want(line::ReliableLine& line, const line::FunctionRequest& request);
  // Processes an answer (kFunctions). Ignores what wasn't requested.
  void take(const message::Fields& fields);
  // Whether an answer is pending.
  [[nodiscard]] bool is_awaited(const std::string& build_id) const { return awaited_.contains(build_id); }
  [[nodiscard]] const model::ToldFunctions& told() const { return told_; }
  // Allows new requests: another host may know more.
  void begin_session();

 private:
  std::set<std::string> awaited_;
  model::ToldFunctions told_;
};

}  // namespace heaptap::uplink
