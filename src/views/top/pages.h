// Text pages shown in place of the rows: a stack's page, and the help.
#pragma once
#include <vector>

#include "views/top/picture.h"

namespace heaptap::top {

std::vector<StyledText> help_lines();

// `page`: of the opened stack; null: not there yet.
std::vector<StyledText> stack_lines(const History& history, const NameBook& names, const State& state,
                                    const StackPage* page);

}  // namespace heaptap::top
