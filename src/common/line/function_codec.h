// Messages on function addresses of programs without symbols: the request (kFunctionsWanted) and the answer
// (kFunctions).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/message/message.h"
#include "common/model/told_functions.h"

namespace heaptap::line {

struct FunctionRequest {
  std::string build_id;            // as bytes
  std::string path;                // in the target
  std::vector<std::string> names;  // of symbols
};

struct FoundFunctions {
  std::string build_id;
  std::vector<model::ToldFunction> functions;  // empty: none found
};

message::Message message_of(const FunctionRequest& request);
// None: invalid, or too large.
std::optional<FunctionRequest> decode_function_request(const message::Fields& fields);

// At most the maximum size of an answer.
message::Message message_of(const FoundFunctions& found);
// None: invalid, or too large.
std::optional<FoundFunctions> decode_functions(const message::Fields& fields);
// The build-id of an answer, which may be invalid otherwise.
std::string answered_build_id(const message::Fields& fields);

}  // namespace heaptap::line
