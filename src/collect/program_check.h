// What is to be run, and whether the agent can be in it: found out before anything is started.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptap::collect {

struct Program {
  std::string path;  // as it is executed
  // What stands before the user's arguments in place of the program's own name: a script whose first line asks env for
  // its interpreter is run by that interpreter at once, since env would only execute it. Empty for all others.
  std::vector<std::string> first_arguments;
  // Whether the agent can be in it. The error goes on behind the program's name: "is statically linked".
  base::Result<> takes_agent;
  std::string file;  // that the kernel executes: the program, or a script's interpreter
};

// Finds the program as a shell would, and refuses what can't be run or can't be recorded in any way: each error names the
// cause and what can be done.
base::Result<Program> find_program(const std::string& name);

}  // namespace heaptap::collect
