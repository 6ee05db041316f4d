// What stands in place of the rows: the page of one stack, and the help.
#pragma once
#include <vector>

#include "top/picture.h"

namespace heaptap::top {

std::vector<StyledText> help_lines();

// `page`: null where it isn't there yet; of the stack that is opened.
std::vector<StyledText> stack_lines(const History& history, const NameBook& names, const State& state,
                                    const StackPage* page);

}  // namespace heaptap::top
