// Which files' symbols a report will need: asked before it is known which stacks it shows.
#pragma once
#include <vector>

#include "model/tables.h"

namespace heaptap::analysis {

// The modules of the outermost frames that most stacks have in common (the program's start, in the executable and in the C
// library): whatever is shown, these are in it.
std::vector<model::Module> modules_of_most_stacks(const model::Tables& tables);

}  // namespace heaptap::analysis
