// Messages on function addresses of programs without symbols: the request (kFunctionsWanted) and the answer
// (kFunctions).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "control/message.h"
#include "model/told_functions.h"

namespace heaptap::remote {

struct FunctionRequest {
  std::string build_id;            // as bytes
  std::string path;                // in the target
  std::vector<std::string> names;  // of symbols
};

struct FoundFunctions {
  std::string build_id;
  std::vector<model::ToldFunction> functions;  // empty: none found
};

control::Message question_of(const FunctionRequest& request);
// None: invalid, or too large.
std::optional<FunctionRequest> decode_request(const control::Fields& fields);

// At most the maximum size of an answer.
control::Message answer_of(const FoundFunctions& found);
// None: invalid, or too large.
std::optional<FoundFunctions> decode_functions(const control::Fields& fields);

}  // namespace heaptap::remote
