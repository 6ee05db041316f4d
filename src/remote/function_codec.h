// What is said about functions of a program that doesn't tell itself where they are: the question (kFunctionsWanted), and its answer
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
  std::string path;                // as the target has it
  std::vector<std::string> names;  // of symbols
};

struct FoundFunctions {
  std::string build_id;
  std::vector<model::ToldFunction> functions;  // empty: there are none
};

control::Message question_of(const FunctionRequest& request);
// None: it makes no sense, or wants too much.
std::optional<FunctionRequest> decode_request(const control::Fields& fields);

// No more than an answer may have.
control::Message answer_of(const FoundFunctions& found);
// None: it makes no sense, or is too much.
std::optional<FoundFunctions> decode_functions(const control::Fields& fields);

}  // namespace heaptap::remote
