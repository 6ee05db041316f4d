// Prediction of the modules whose symbols a report will need, before its stacks are chosen.
#pragma once
#include <vector>

#include "common/model/tables.h"

namespace heaptap::query {

// Modules of the outermost frames shared by most stacks (the program's start, in the executable and the C library): any report
// shows frames in them.
std::vector<model::Module> modules_of_most_stacks(const model::Tables& tables);

}  // namespace heaptap::query
