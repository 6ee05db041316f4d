// What the host tells the target's side of functions of programs that don't tell themselves: asked for before a recording begins.
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
  // Asks the host, once in a session.
  void want(ReliableLine& line, const FunctionRequest& request);
  // What it says (kFunctions). Nothing that wasn't asked for is kept.
  void take(const control::Fields& fields);
  // Its answer is awaited.
  [[nodiscard]] bool is_awaited(const std::string& build_id) const { return awaited_.contains(build_id); }
  [[nodiscard]] const model::ToldFunctions& told() const { return told_; }
  // Another host may know more.
  void begin_session();

 private:
  std::set<std::string> awaited_;
  model::ToldFunctions told_;
};

}  // namespace heaptap::remote
