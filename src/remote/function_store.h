// Store of function addresses supplied by the host, on the target's side, for programs without symbols: requested
// before a recording begins.
#pragma once
#include <set>
#include <string>

#include "control/message.h"
#include "model/told_functions.h"
#include "remote/function_codec.h"
#include "remote/reliable_line.h"

namespace heaptap::remote {

class FunctionStore {
 public:
  // Asks the host, once a session.
  void want(ReliableLine& line, const FunctionRequest& request);
  // Processes an answer (kFunctions). Ignores what wasn't requested.
  void take(const control::Fields& fields);
  // Whether an answer is pending.
  [[nodiscard]] bool is_awaited(const std::string& build_id) const { return awaited_.contains(build_id); }
  [[nodiscard]] const model::ToldFunctions& told() const { return told_; }
  // Allows new requests: another host may know more.
  void begin_session();

 private:
  std::set<std::string> awaited_;
  model::ToldFunctions told_;
};

}  // namespace heaptap::remote
