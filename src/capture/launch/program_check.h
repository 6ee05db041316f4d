// Check of the program to run, and whether the agent can be loaded into it, before anything is started.
#pragma once
#include <string>
#include <vector>

#include "common/base/result.h"

namespace heaptap::launch {

struct Program {
  std::string path;  // as executed
  // Arguments in place of argv[0], before the user's: a script whose first line runs its interpreter by env is run by
  // that interpreter directly, since env would only execute it. Empty for all others.
  std::vector<std::string> first_arguments;
  // Whether the agent can be loaded. The error continues the program's name: "is statically linked".
  base::Result<> takes_agent;
  std::string file;  // executed by the kernel: the program, or a script's interpreter
};

// Finds the program like a shell, and rejects what can't be executed or recorded: each error names cause and remedy.
base::Result<Program> find_program(const std::string& name);

}  // namespace heaptap::launch
