// heaptrack data files, format versions 1 to 3, as a source of events.
//
//   v TOOL FORMAT                 versions                        X COMMAND, I PAGE_BYTES PAGES, A (attached), S …, # …, R …
//   s LENGTH TEXT                 a string (version 3; before: s TEXT)
//   i ADDRESS MODULE [FUNCTION [FILE LINE]]…   a code address, its functions innermost first; module and names are strings
//   t CODE CALLER                 a stack: an `i`, and the stack of its caller (0: none)
//   a SIZE STACK                  an allocation's size and stack
//   + ALLOCATED, - ALLOCATED      events, by number of an `a`
//   c MILLISECONDS                the time of what follows
// Numbers are hexadecimal. Strings, codes and stacks are numbered from 1, allocations (`a`) from 0.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/model/event_source.h"

namespace heaptap::imports {

// Whether a file with this first line is a heaptrack file.
bool is_heaptrack(std::string_view first_line);

base::Result<std::unique_ptr<model::EventSource>> open_heaptrack(const std::string& path);

}  // namespace heaptap::imports
